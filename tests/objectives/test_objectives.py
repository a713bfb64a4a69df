"""Slack scaling, its approximation and position-wise slacks, against enumeration and against the paper's examples."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import STRUCTURES, Exposed, offering, problem, random_chain
from helpers.segmentations import random_segmentation
from widemargin.core.examples import ErrorCounts, KBest, Positions
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import dots
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import OBJECTIVES, ApproximateSlack, GoldenSlack, Margin, PositionWise, Slack
from widemargin.solvers import SOLVERS
from widemargin.structures.custom import CustomExamples, custom_examples

pytestmark = pytest.mark.interpreted

SLACKED, POSITIONAL = offering(ErrorCounts), offering(Positions)


def slacks(objective, examples, w):
    """The slacks of all blocks, by the cuts that the objective finds."""
    everything = np.arange(examples.n_examples, dtype=np.int32)
    cuts = objective.cuts(examples, w, everything)
    found = np.full(len(objective.blocks(examples)), np.nan)
    found[cuts.block] = cuts.b - dots(cuts.a, w)
    return found


def draws(examples, n=30, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(n):
        yield rng.normal(size=examples.n_weights) * (0.0, 0.1, 0.5, 2.0)[k % 4]


# Approximate slack


@pytest.mark.parametrize("name", SLACKED)
def test_the_approximation_is_never_above_exact_slack_and_mostly_equal(name):
    examples = STRUCTURES[name]().examples
    equal = total = 0
    for w in draws(examples):
        exact, approximate = slacks(Slack(), examples, w), slacks(ApproximateSlack(), examples, w)
        assert np.all(approximate <= exact + 1e-9 * (1 + np.abs(exact)))
        assert np.all(approximate >= -1e-12)
        equal += np.count_nonzero(approximate >= exact - 1e-9 * (1 + np.abs(exact)))
        total += len(exact)
    assert equal >= 0.9 * total


@pytest.mark.parametrize("name", offering(ErrorCounts, KBest))
def test_the_approximation_is_the_best_corner_of_the_hull(name):
    """Brute force over all outputs but gold: those that are best for some λ, and the worst of them."""
    small = STRUCTURES[name]()
    examples = small.examples
    for w in draws(examples, 8, seed=1):
        found = slacks(ApproximateSlack(), examples, w)
        for i in range(examples.n_examples):
            one = np.array([i], dtype=np.int32)
            points = []
            for output in small.outputs(i):
                error, psi = examples.difference(one, output)
                points.append((error[0], -dots(psi, w)[0]))
            assert found[i] == pytest.approx(best_corner(points), rel=1e-9, abs=1e-9)


def best_corner(points, errorless=False):
    """The largest Δ(1 + s) on the upper hull of (Δ, s), perhaps without points that have no error; at least 0."""
    points = sorted({point for point in points if errorless or point[0] > 0})
    hull = []
    for error, s in points:
        if hull and hull[-1][0] == error:
            hull.pop()
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (error - hull[-2][0]) <= (s - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((error, s))
    # Only the part that falls to the right: λ is not negative.
    highest = max(range(len(hull)), key=lambda k: hull[k][1]) if hull else 0
    return max([0.0, *(error * (1 + s) for error, s in hull[highest:])])


class Without:
    """Examples that lack some of their abilities."""

    def __init__(self, examples, *lacking):
        self._examples, self._lacking = examples, lacking

    def __getattr__(self, name):
        if name in self._lacking:
            raise AttributeError(name)
        return getattr(self._examples, name)


LACKING = {"all": (), "no search": ("decode_hull",), "no runner-up": ("decode_hull", "decode_best")}


@pytest.mark.parametrize("kind", ["chain", "segments"])
@pytest.mark.parametrize("lacking", LACKING)
@pytest.mark.parametrize("unit", [1.0, 0.05])
def test_confusions_that_cost_nothing_hide_no_violators(kind, lacking, unit):
    """An output with error 0 may differ from gold and score much more; brute force knows what is beyond it."""
    rng, violators = np.random.default_rng(4), 0
    for seed in range(12):
        if kind == "chain":
            model = random_chain(seed, [3, 2, 4, 1], n_labels=4)
            costs = unit * rng.integers(0, 3, (4, 4)) * (rng.random((4, 4)) < 0.4) * (1 - np.eye(4))
            model = replace(model, costs=costs.tolist())
        else:
            model = random_segmentation(seed, [3, 2, 4, 1], max_lengths=[2, 2, 1], penalties=True, binary=False)
            model = replace(model, confusion=[[0.0] * 3] * 3, precision=[0.0, unit, 0.0], recall=[0.0, 0.0, unit])
        examples = model.compiled()
        w = rng.normal(size=examples.n_weights) * rng.choice([0.1, 0.5, 2.0])
        found = slacks(ApproximateSlack(), Without(examples, *LACKING[lacking]), w)
        for i in range(4):
            gold = model.gold[i]
            points = [
                (model.error(i, y), model.score(w, i, y) - model.score(w, i, gold))
                for y in model.outputs(i)
                if lacking == "no runner-up" or y != gold
            ]
            # Searches of the structures themselves leave out all that has no error, others nothing but gold.
            best = best_corner(points, errorless=lacking != "all")
            assert found[i] >= best - 1e-9 * (1 + best)
            violators += best > 0
    assert violators > 10


def counted(examples):
    """The same examples, with a count of how often each is decoded."""
    examples.counts = np.zeros(examples.n_examples, dtype=int)

    def counting(decode):
        def count(w, batch, *more, **options):
            examples.counts[batch] += 1
            return decode(w, batch, *more, **options)

        return count

    for name in ("decode", "decode_best"):
        if hasattr(examples, name):
            setattr(examples, name, counting(getattr(examples, name)))
    return examples


FINE = ("ranking, ndcg", "ranking, pairs")
"""Structures whose errors are so finely graded that nearly every output has its own: the search has many to pass."""


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_search_keeps_to_twelve_decodes(name):
    examples = STRUCTURES[name]().examples
    everything = np.arange(examples.n_examples, dtype=np.int32)
    for w in draws(examples, 12, seed=2):
        again = counted(STRUCTURES[name]().examples)
        ApproximateSlack(12).cuts(again, w, everything)
        counts = again.counts
        assert counts.max() <= 12
        if name not in FINE:
            assert counts.mean() <= 6
        few, many = (slacks(ApproximateSlack(most), examples, w) for most in (2, 12))
        assert np.all(few <= many + 1e-9)


class Three:
    """Claim 3.3: labellings with the scores −1/2, −13/18, −5/6 and the errors 1, 2, 3; gold has score 0 and error 0."""

    scores = MappingProxyType({0: 0.0, 1: -1 / 2, 2: -13 / 18, 3: -5 / 6})

    def features(self, x, y):
        return {0: self.scores[y]}

    def error(self, y, y_hat):
        return float(y_hat)

    def decode(self, x, w, y=None):
        return max(self.scores, key=lambda v: self.scores[v] * w[0] + (0.0 if y is None else self.error(y, v)))

    def outputs(self, x):
        return list(self.scores)


def test_claim_3_3_no_weight_of_errors_finds_the_second_labelling():
    examples, w = custom_examples(Three(), [None], [0]), np.ones(1)
    one = np.zeros(1, dtype=np.int32)
    for scale in np.geomspace(1e-4, 1e4, 400):
        _, outputs = examples.decode_best(w, one, 2, error_scale=scale)
        assert 2 not in [next(output for output in outputs if output != 0)]
    # With the errors 1, 2, 3 the second labelling has the largest Δ(1 + s), 5/9 against 1/2.
    assert examples.decode_slack(w, one) == [2]
    assert slacks(Slack(), examples, w) == pytest.approx([5 / 9])
    assert slacks(ApproximateSlack(), examples, w) == pytest.approx([1 / 2])


def test_without_a_runner_up_the_search_still_finds_violators():
    examples, listed = CustomExamples(Three(), [None], [0]), custom_examples(Three(), [None], [0])
    for scale in (0.1, 0.5, 1.0):
        w = np.full(1, scale)
        found, best = slacks(ApproximateSlack(), examples, w), slacks(ApproximateSlack(), listed, w)
        assert 0 < found <= best + 1e-12
    # Here gold hides the only violator from every λ; the runner-up is what finds it.
    w = np.full(1, 1.2)
    assert slacks(ApproximateSlack(), examples, w) == 0
    assert slacks(ApproximateSlack(), listed, w) == pytest.approx([0.4])


# Golden section, as printed


def printed_search(points, xi, epsilon=0.01, step=1.0, decodes=20):
    """§3 for one example: golden section over λ, the outputs other than gold as pairs (L, s); the L and s returned."""
    largest, best = max([L for L, _ in points]), max(0.0, *(s for _, s in points))
    low = epsilon / largest
    high = max((best + 1 - xi / largest) / step, low)
    met = []

    def upper_bound(scale):
        L, s = max(points, key=lambda point: point[1] + scale * point[0])
        met.append((s - xi / L, L, s))
        return s + scale * L - 2 * np.sqrt(xi * scale)

    upper_bound(low)
    upper_bound(high)
    share = (np.sqrt(5) - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = upper_bound(left), upper_bound(right)
    for _ in range(decodes - 4):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = upper_bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = upper_bound(right)
    return max((found for found in met if found[1] * (1 + found[2]) > 0), default=(0.0, 0.0, 0.0))[1:]


@pytest.mark.parametrize("name", ["chain, real-valued", "chain, conditional", "segments", "custom, listed"])
def test_golden_section_is_the_search_as_printed(name):
    small = STRUCTURES[name]()
    examples, rng = small.examples, np.random.default_rng(0)
    everything = np.arange(examples.n_examples, dtype=np.int32)
    for drawn in draws(examples, 12, seed=4):
        w = drawn + rng.normal(scale=1e-3, size=len(drawn))  # no ties
        xi = rng.exponential(size=examples.n_examples) * rng.integers(2, size=examples.n_examples)
        cuts = GoldenSlack().cuts_beyond(xi, examples, w, everything)
        for i in range(examples.n_examples):
            differences = [examples.difference(everything[i : i + 1], output) for output in small.outputs(i)]
            points = [(error[0], -dots(psi, w)[0]) for error, psi in differences if error[0] > 0]
            L, s = printed_search(points, xi[i]) if points else (0.0, 0.0)
            found = dots(cuts.a, w)[i]
            assert cuts.b[i] == pytest.approx(L)
            assert found == pytest.approx(-L * s, abs=1e-9)


def test_claim_3_3_with_its_slack():
    """The labelling with the errors 1 or 3 is returned, which is no violator of ξ = 19/36; that with 2 would be one."""
    examples = custom_examples(Three(), [None], [0])
    cuts = GoldenSlack().cuts_beyond(np.full(1, 19 / 36), examples, np.ones(1), np.zeros(1, dtype=np.int32))
    assert cuts.b[0] in (1.0, 3.0)
    assert cuts.b[0] - dots(cuts.a, np.ones(1))[0] < 19 / 36


@pytest.mark.parametrize("solver", ["n-slack", "ocp", "sgd"])
def test_the_slack_given_to_golden_section_is_that_of_the_known_cuts(solver):
    class Spy(GoldenSlack):
        def cuts_beyond(self, xi, examples, w, batch):
            store = exposed.kept_cuts(exposed.state) if exposed.state is not None else None
            if store is None:
                given = np.nan_to_num(training.slacks)[batch]
            else:
                _, known = store.everything()
                given = np.zeros(training.n_blocks)
                np.maximum.at(given, known.block, known.b - dots(known.a, w))
                given = given[batch]
            assert np.allclose(xi[batch], np.maximum(given, 0.0), rtol=0, atol=1e-12)
            positive.append(xi[batch].max(initial=0.0) > 0)
            return super().cuts_beyond(xi, examples, w, batch)

    training, _ = problem("chain", objective=Spy(), loss="hinge")
    exposed, positive = Exposed(SOLVERS[solver]), []
    solution = fit(training, exposed, stop=Stop(epochs=10, gap=None))
    assert any(positive)
    assert not solution.certified


@pytest.mark.parametrize("name", ["chain", "chain, real-valued", "segments", "classes"])
def test_golden_section_finds_what_the_hull_search_finds(name):
    """With the slack found in the end, or a little less, the least F is at the same output."""
    examples, equal, total = STRUCTURES[name]().examples, 0, 0
    everything = np.arange(examples.n_examples, dtype=np.int32)
    for w in draws(examples, 12, seed=5):
        xi = slacks(ApproximateSlack(), examples, w)
        cuts = GoldenSlack().cuts_beyond(0.999 * xi, examples, w, everything)  # at ξ itself it may tie at λ_u
        found = cuts.b - dots(cuts.a, w)
        assert np.all(found <= xi + 1e-9 * (1 + xi))
        equal += np.count_nonzero(found >= xi - 1e-9 * (1 + xi))
        total += len(xi)
    assert equal >= 0.95 * total


def test_slack_scaling_does_not_mind_the_scale_of_errors():
    """Errors times 10: slacks times 10, and the same cuts otherwise; margin scaling is not like that."""
    model = random_chain(3, [3, 2, 4], costs=True)
    larger = type(model)(**vars(model) | {"costs": [[10 * cost for cost in row] for row in model.costs]})
    for w in draws(model.compiled(), 9):
        for objective in (Slack(), ApproximateSlack(), PositionWise()):
            one, ten = (slacks(objective, each.compiled(), w) for each in (model, larger))
            np.testing.assert_allclose(ten, 10 * one, atol=1e-9)


def test_an_approximation_proves_nothing_and_says_so():
    training, _ = problem("chain", objective=ApproximateSlack())
    assert not training.exact
    solution = fit(training, SOLVERS["auto"], stop=Stop(epochs=100, gap=1e-3))
    assert solution.stopped == "gap"
    assert not solution.certified
    exact, _ = problem("chain", objective=Slack())
    assert solution.primal <= exact.primal(solution.w) * (1 + 1e-9)
    best = fit(exact, SOLVERS["auto"], stop=Stop(epochs=500, gap=1e-6))
    assert best.certified
    # The approximation is a lower bound of the true objective, and here it is as good as exact.
    assert exact.primal(solution.w) <= 1.05 * best.primal


# Exact slack


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.booleans())
def test_exact_slack_on_chains_is_that_of_enumeration(seed, n_labels, lengths, costs):
    model = random_chain(seed, lengths, n_labels=n_labels, costs=costs, conditional=seed % 2)
    examples = model.compiled()
    w = np.random.default_rng(seed).integers(-2, 3, examples.n_weights) / 4
    found = slacks(Slack(), examples, w)
    for i in range(len(lengths)):
        gold = model.score(w, i, model.gold[i])
        worst = max(model.error(i, y) * (1 - gold + model.score(w, i, y)) for y in model.outputs(i))
        assert found[i] == pytest.approx(max(worst, 0.0), abs=1e-9)


def test_costs_that_cannot_be_counted_are_refused_with_advice():
    model = random_chain(1, [3], costs=True)
    model.costs[0][1] = np.pi
    with pytest.raises(UnsupportedError, match="use the objective approximate-slack"):
        fit(Problem(model.compiled(), Slack()), SOLVERS["auto"])
    assert fit(Problem(model.compiled(), ApproximateSlack()), SOLVERS["auto"], stop=Stop(epochs=3)).w.any()


def test_structures_that_cannot_are_told_apart_before_the_run():
    examples = CustomExamples(Three(), [None], [0])
    with pytest.raises(UnsupportedError, match="Slack needs examples that offer ErrorCounts; CustomExamples does not"):
        Problem(examples, Slack())
    with pytest.raises(UnsupportedError, match="PositionWise needs examples that offer Positions; CustomExamples"):
        Problem(examples, PositionWise())


# PosLearn


@pytest.mark.parametrize("name", [name for name in POSITIONAL if name in SLACKED])
def test_claim_4_1_position_wise_slacks_sum_up_to_more_than_the_slack(name):
    examples = STRUCTURES[name]().examples
    blocks = PositionWise().blocks(examples)
    for w in draws(examples):
        by_position = np.bincount(blocks, weights=slacks(PositionWise(), examples, w), minlength=examples.n_examples)
        slack = slacks(Slack(), examples, w)
        assert np.all(by_position >= slack - 1e-9 * (1 + slack))


class Four:
    """The example of §4.1: three labellings of four binary positions score 1, all others 0."""

    def __init__(self, *equals):
        self.equals = equals

    def features(self, x, y):
        return {0: float(y in self.equals)}

    def error(self, y, y_hat):
        return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))

    def decode(self, x, w, y=None):
        return max(self.outputs(x), key=lambda v: w[0] * self.features(x, v)[0] + (y is not None and self.error(y, v)))

    def outputs(self, x):
        return [tuple((k >> bit) & 1 for bit in range(4)) for k in range(16)]


def test_position_wise_slacks_see_what_the_worst_labelling_hides():
    gold, first, second = (0, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0)
    for others, slack, positions in (((first, second), 2.0, 3.0), ((first,), 2.0, 2.0)):
        examples = custom_examples(Four(gold, *others), [None], [gold])
        assert slacks(Slack(), examples, np.ones(1)).sum() == slack
        assert slacks(PositionWise(), examples, np.ones(1)).sum() == positions


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.booleans())
def test_position_wise_slacks_on_chains_are_those_of_enumeration(seed, n_labels, lengths, costs):
    model = random_chain(seed, lengths, n_labels=n_labels, costs=costs, conditional=seed % 2)
    examples = model.compiled()
    w = np.random.default_rng(seed).integers(-2, 3, examples.n_weights) / 4
    found = iter(slacks(PositionWise(), examples, w))
    for i, length in enumerate(lengths):
        gold = model.score(w, i, model.gold[i])
        for c in range(length):
            worst = max(
                model.cost(model.gold[i][c], y[c]) * (1 - gold + model.score(w, i, y)) for y in model.outputs(i)
            )
            assert next(found) == pytest.approx(max(worst, 0.0), abs=1e-9)


def test_a_problem_whose_positions_are_not_to_be_compared():
    class Growing(Four):
        def outputs(self, x):
            return [(0,), (0, 1)]

        def error(self, y, y_hat):
            return float(y != y_hat)

    with pytest.raises(WidemarginError, match=r"outputs of 1 and of 2 positions .* give the structure a method"):
        slacks(PositionWise(), custom_examples(Growing(), [None], [(0,)]), np.ones(1))


def test_position_errors_may_be_the_users_own():
    class Doubled(Four):
        def position_errors(self, y, y_hat):
            return [2.0 * (a != b) for a, b in zip(y, y_hat, strict=True)]

    gold, first = (0, 0, 0, 0), (1, 1, 0, 0)
    examples = custom_examples(Doubled(gold, first), [None], [gold])
    assert slacks(PositionWise(), examples, np.ones(1)).tolist() == [2.0, 2.0, 0.0, 0.0]


# By name


@pytest.mark.parametrize("name", ["margin", "slack", "approximate-slack", "golden-slack", "positions"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_objective_learns(name, loss):
    training, _ = problem("chain, five labels", objective=OBJECTIVES[name], loss=loss, C=10.0)
    solution = fit(training, SOLVERS["auto"], stop=Stop(epochs=100, gap=1e-3))
    mistakes = Margin(error_scale=0.0).cuts(training.examples, solution.w, training.weighted_examples)
    at_first = Margin(error_scale=0.0).cuts(training.examples, np.zeros(training.n_weights), training.weighted_examples)
    assert mistakes.b.sum() < at_first.b.sum() / 2
