"""Each ability of each structure on part scores against all outputs, one by one."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.part_structures import CASES
from widemargin.core.sparse import Rows
from widemargin.structures.examples import part_examples
from widemargin.structures.flat import Counts, some, violators_through
from widemargin.structures.part_rows import PartCosts, PartFeatures, PartLimits

pytestmark = pytest.mark.interpreted

PADDING = 2
"""How many numbers that belong to nobody stand before each example."""

seeds = st.integers(0, 2**32 - 1)


def able(*names):
    """The cases whose structures have these abilities."""
    return [name for name, case in CASES.items() if all(hasattr(case().structure, ability) for ability in names)]


def every(*abilities):
    """A test of all cases with these abilities, with random scores."""

    def decorate(test):
        return pytest.mark.parametrize("name", able(*abilities))(settings(max_examples=10)(given(seed=seeds)(test)))

    return decorate


class Drawn:
    """A case with random scores: smooth ones, or whole ones with ties, or some that are forbidden."""

    def __init__(self, name, seed, *, forbid=False):
        self.case, self.rng = CASES[name](), np.random.default_rng(seed)
        self.structure, self.sizes = self.case.structure, np.array(self.case.sizes)
        n_own = np.array(self.case.n_own)
        self.starts = np.cumsum(n_own + PADDING) - n_own
        own, shared = self._draw(int((n_own + PADDING).sum())), self._draw(self.case.n_shared)
        if forbid:
            own[self.rng.random(len(own)) < 0.1] = -np.inf
        self.scores = self.structure.room(self.sizes)._replace(starts=self.starts, own=own, shared=shared)
        self.before = own.copy(), shared.copy()

    def _draw(self, n):
        return self.rng.integers(-3, 4, size=n).astype(float) + self.rng.choice([0.0, 1.0]) * self.rng.normal(size=n)

    def theta(self, k, scores=None):
        """θ of example k: own parts, then shared ones."""
        scores = self.scores if scores is None else scores
        begin = scores.starts[k]
        return np.concatenate([scores.own[begin : begin + self.case.n_own[k]], scores.shared])

    def totals(self, k, theta=None):
        """⟨θ, z(y)⟩ of every output of example k."""
        theta = self.theta(k) if theta is None else theta
        return np.array([theta[numbers].sum() for numbers in self.case.numbers[k]])

    def gold(self):
        """The number of an output of each example, and these outputs end to end."""
        chosen = [int(self.rng.integers(len(outputs))) for outputs in self.case.outputs]
        return chosen, self.joined(chosen)

    def joined(self, chosen):
        return np.concatenate([outputs[y] for outputs, y in zip(self.case.outputs, chosen, strict=True)])

    def split(self, outputs):
        """The numbers of outputs laid end to end."""
        ends = np.cumsum(self.structure.lengths(self.sizes))
        return [self.number(k, each) for k, each in enumerate(np.split(outputs, ends[:-1]))]

    def number(self, k, output):
        """Which of the outputs of example k this is."""
        return next(y for y, other in enumerate(self.case.outputs[k]) if self.case.same(other, output))

    def costs(self, chosen):
        """Costs of the own parts in a room of their own, and the error of every output of each example."""
        room = self.structure.room(self.sizes)
        errors = []
        for k, (size, y) in enumerate(zip(self.sizes, chosen, strict=True)):
            own = self.case.costs(int(size), self.case.outputs[k][y], self.rng)
            room.own[room.starts[k] : room.starts[k] + len(own)] = own
            totals = self.totals(k, np.concatenate([own, np.zeros(self.case.n_shared)]))
            errors.append(totals - totals[y])
        return room, errors

    def unchanged(self):
        """Whether the scores are those that were drawn."""
        return all(np.array_equal(*pair) for pair in zip(self.before, self.scores[2:4], strict=True))


@every()
def test_parts_are_within_bounds_and_tell_outputs_apart(name, seed):
    case = CASES[name]()
    for k in range(len(case.sizes)):
        z = case.z(k)
        assert z[:, : case.n_own[k]].max(initial=0.0) <= 1.0  # own parts once, shared ones may be repeated
        assert len(np.unique(z, axis=0)) == len(case.outputs[k])


@every()
def test_best(name, seed):
    drawn = Drawn(name, seed)
    for k, y in enumerate(drawn.split(drawn.structure.best(drawn.scores))):
        totals = drawn.totals(k)
        assert totals[y] == pytest.approx(totals.max())
    assert drawn.unchanged()


@every()
def test_some_of_a_batch(name, seed):
    drawn = Drawn(name, seed)
    places = drawn.rng.permutation(len(drawn.sizes))[:2]
    found = drawn.structure.best(some(drawn.scores, places))
    ends = np.cumsum(drawn.structure.lengths(drawn.sizes[places]))
    whole = drawn.split(drawn.structure.best(drawn.scores))
    assert [drawn.number(k, y) for k, y in zip(places, np.split(found, ends[:-1]), strict=True)] == [
        whole[k] for k in places
    ]


@every()
def test_totals_changes_and_sums_of_scores(name, seed):
    drawn = Drawn(name, seed)
    chosen, gold = drawn.gold()
    others, outputs = drawn.gold()
    totals = drawn.structure.total(drawn.scores, outputs)
    parts = drawn.structure.change(drawn.sizes, gold, outputs)
    costs, _ = drawn.costs(chosen)
    plain = costs._replace(own=costs.own.copy())
    both = drawn.structure.plus(costs, drawn.scores)
    for k, (right, y) in enumerate(zip(chosen, others, strict=True)):
        assert totals[k] == pytest.approx(drawn.totals(k)[y])
        change = np.zeros(drawn.case.n_own[k] + drawn.case.n_shared)
        here = slice(parts.indptr[k], parts.indptr[k + 1])
        np.add.at(change, parts.numbers[here], parts.values[here])
        z = drawn.case.z(k)
        assert np.array_equal(change, z[right] - z[y])
        own = drawn.case.n_own[k]
        assert np.allclose(drawn.theta(k, both)[:own], drawn.theta(k)[:own] + drawn.theta(k, plain)[:own])
    assert drawn.unchanged()


@every("best_k")
def test_the_k_best(name, seed):
    drawn = Drawn(name, seed)
    found = drawn.structure.best_k(drawn.scores, 5)
    lengths, read, write = drawn.structure.lengths(drawn.sizes), 0, 0
    for k, count in enumerate(found.counts):
        assert count == min(5, len(drawn.case.outputs[k]))
        ys = [drawn.number(k, found.outputs[read + j * lengths[k] :][: lengths[k]]) for j in range(count)]
        assert len(set(ys)) == count
        totals = drawn.totals(k)
        assert np.allclose(totals[ys], np.sort(totals)[::-1][:count])
        assert np.allclose(found.totals[write : write + count], totals[ys])
        read, write = read + count * lengths[k], write + count
    assert drawn.unchanged()


@every("sums")
def test_sums_and_residuals(name, seed):
    drawn = Drawn(name, seed)
    log_z, counts = drawn.structure.sums(drawn.scores)
    # Kernels are compiled once for each layout of their arrays.
    assert all(each.flags.c_contiguous and each.flags.writeable for each in counts)
    chosen, gold = drawn.gold()
    expected = []
    for k in range(len(drawn.sizes)):
        totals, top = drawn.totals(k), drawn.totals(k).max()
        p = np.exp(totals - top)
        assert log_z[k] == pytest.approx(top + np.log(p.sum()))
        expected.append(p / p.sum() @ drawn.case.z(k))
        begin, own = counts.starts[k], drawn.case.n_own[k]
        assert np.allclose(counts.own[begin : begin + own], expected[k][:own])
        assert np.allclose(counts.shared[k], expected[k][own:])
    residual = drawn.structure.residual(counts, gold)
    assert isinstance(residual, Counts)
    for k, y in enumerate(chosen):
        begin, own = residual.starts[k], drawn.case.n_own[k]
        found = np.concatenate([residual.own[begin : begin + own], residual.shared[k]])
        assert np.allclose(found, drawn.case.z(k)[y] - expected[k])
    assert drawn.unchanged()


@every("worst")
def test_the_worst_under_slack_scaling(name, seed):
    drawn = Drawn(name, seed)
    chosen, gold = drawn.gold()
    costs, errors = drawn.costs(chosen)
    found = drawn.structure.worst(drawn.scores, costs, 1.0, gold)
    for k, (right, y) in enumerate(zip(chosen, drawn.split(found), strict=True)):
        totals = drawn.totals(k)
        values = errors[k] * (1.0 + totals - totals[right])
        assert values[y] == pytest.approx(max(values.max(), 0.0))
        assert y == right or values[y] > 0.0
    assert drawn.unchanged()


@every("hull")
def test_the_worst_that_decoding_finds(name, seed):
    drawn = Drawn(name, seed)
    chosen, gold = drawn.gold()
    costs, errors = drawn.costs(chosen)
    found = drawn.structure.hull(drawn.scores, costs, gold, 50)
    for k, (right, y) in enumerate(zip(chosen, drawn.split(found), strict=True)):
        delta, s = errors[k], drawn.totals(k) - drawn.totals(k)[right]
        values = np.where(delta > 0.0, delta * (1.0 + s), -np.inf)
        # The best for some λ: at, and between, those where two outputs are equally good.
        with np.errstate(divide="ignore", invalid="ignore"):
            equal = np.unique((s[:, None] - s) / (delta - delta[:, None]))
        equal = equal[np.isfinite(equal) & (equal > 1e-3)]
        scales = [1e-6, *(equal[:-1] + np.diff(equal) / 2.0), *(equal[-1:] + 1.0)]
        corners = [values[np.argmax(np.where(delta > 0.0, s + scale * delta, -np.inf))] for scale in scales]
        assert values[y] >= max(corners) - 1e-9 if y != right else max(corners) <= 1e-9
        assert values[y] <= max(values) if y != right else True
    assert drawn.unchanged()


@every("violators")
def test_the_worst_at_each_position(name, seed):
    drawn = Drawn(name, seed)
    check_violators(drawn, drawn.structure.violators)


@pytest.mark.parametrize("name", ["chain", "chain by position", "classes", "segments"])
@settings(max_examples=10)
@given(seed=seeds)
def test_the_worst_at_each_position_follow_from_max_marginals(name, seed):
    drawn = Drawn(name, seed)
    check_violators(drawn, partial(violators_through, drawn.structure))


def check_violators(drawn, search):
    chosen, gold = drawn.gold()
    costs, _ = drawn.costs(chosen)
    errors, outputs = search(drawn.scores, costs, gold)
    lengths, read, position = drawn.structure.lengths(drawn.sizes), 0, 0
    for k, (size, right) in enumerate(zip(drawn.sizes.tolist(), chosen, strict=True)):
        own, totals = drawn.theta(k, costs), drawn.totals(k)
        at = [drawn.case.at(size, y) for y in drawn.case.outputs[k]]
        for c in range(int(drawn.structure.positions(np.array([size]))[0])):
            here = np.array([own[each[c]].sum() for each in at])
            here -= here[right]
            values = here * (1.0 + totals - totals[right])
            if errors[position] > 0.0:
                y = drawn.number(k, outputs[read : read + lengths[k]])
                assert errors[position] == pytest.approx(here[y])
                assert values[y] == pytest.approx(values.max())
                read += lengths[k]
            else:
                assert values.max() <= 1e-9
            position += 1
    assert read == len(outputs)
    assert drawn.unchanged()


@pytest.mark.parametrize("name", able("sample"))
def test_samples_have_the_probabilities_of_outputs(name):
    drawn, n = Drawn(name, 1), 4000
    rows = drawn.structure.sample(drawn.scores, n, np.random.default_rng(0))
    found = np.array([drawn.split(row) for row in rows])
    for k in range(len(drawn.sizes)):
        p = np.exp(drawn.totals(k) - drawn.totals(k).max())
        p /= p.sum()
        shares = np.bincount(found[:, k], minlength=len(p)) / n
        assert np.all(np.abs(shares - p) < 5.0 * np.sqrt(p * (1.0 - p) / n) + 1e-3)


@every()
def test_forbidden_parts_are_avoided_where_that_is_possible(name, seed):
    drawn = Drawn(name, seed, forbid=True)
    for k, y in enumerate(drawn.split(drawn.structure.best(drawn.scores))):
        totals = drawn.totals(k)
        assert totals.max() == -np.inf or totals[y] == pytest.approx(totals.max())


@every("sums")
def test_what_is_known_in_part_is_completed_by_the_best_output_that_agrees(name, seed):
    drawn = Drawn(name, seed)
    chosen, gold = drawn.gold()
    n_own, n_shared = np.array(drawn.case.n_own), drawn.structure.n_shared
    allowed = drawn.rng.random(n_own.sum()) < 0.5
    starts = np.cumsum(n_own) - n_own
    for k, y in enumerate(chosen):
        numbers = drawn.case.numbers[k][y]
        allowed[starts[k] + numbers[numbers < n_own[k]]] = True
    identity = Rows(np.arange(n_own.sum() + 1), np.arange(n_own.sum(), dtype=np.int32), np.ones(n_own.sum()))
    examples = part_examples(
        drawn.structure,
        PartFeatures(drawn.structure, drawn.sizes, identity, int(n_own.sum())),
        PartCosts(drawn.structure, drawn.sizes, np.zeros(n_own.sum())),
        gold,
        PartLimits(drawn.structure, drawn.sizes, allowed),
    )
    w, batch = drawn.rng.normal(size=n_own.sum() + n_shared), np.arange(len(chosen), dtype=np.int32)
    losses = examples.expectation_over_completions(w, batch).errors
    for k, y in enumerate(drawn.split(examples.complete(w, batch))):
        totals = drawn.totals(k, np.concatenate([w[starts[k] : starts[k] + n_own[k]], w[len(w) - n_shared :]]))
        fits = [np.all(allowed[starts[k] + own[own < n_own[k]]]) for own in drawn.case.numbers[k]]
        assert totals[y] == pytest.approx(totals[fits].max())
        assert losses[k] == pytest.approx(np.logaddexp.reduce(totals) - np.logaddexp.reduce(totals[fits]), abs=1e-9)
