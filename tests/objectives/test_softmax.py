"""Likelihood and softmax-margin: values and gradients against all outputs, L-BFGS against SciPy's."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from helpers import PROBLEMS, Exposed, Sign, all_cuts, as_dicts, offering, problem, random_chain
from helpers.chains import chains, weights
from widemargin import StructuredPredictor
from widemargin.core.examples import Marginals
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import dots
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import OBJECTIVES, Margin, Softmax
from widemargin.solvers import LBFGS, DualCoordinateDescent

SUMMED = [name for name in offering(Marginals) if name in PROBLEMS]
SCALES = [0.0, 1.0]


def slacks(small, w, scale):
    """ξ_i(w) and −∇ξ_i(w) of every example, by enumeration."""
    found = []
    for errors, psi in all_cuts(small):
        scores = scale * errors - psi @ w
        found.append((logsumexp(scores), np.exp(scores - logsumexp(scores)) @ psi))
    return np.array([value for value, _ in found]), np.array([a for _, a in found])


def softmax_problem(name, scale, **changes):
    return problem(name, objective=Softmax(scale), loss="hinge", **changes)


def optimum(training, small):
    """The least P by SciPy's L-BFGS-B on the enumerated problem."""
    table, c = all_cuts(small), training.C * training.example_weight
    scale = training.objective.error_scale

    def value_and_gradient(w):
        value, gradient = 0.5 * w @ w, w.copy()
        for weight, (errors, psi) in zip(c, table, strict=True):
            scores = scale * errors - psi @ w
            value += weight * logsumexp(scores)
            gradient -= weight * np.exp(scores - logsumexp(scores)) @ psi
        return value, gradient

    options = {"maxiter": 10_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(value_and_gradient, np.zeros(training.n_weights), jac=True, method="L-BFGS-B", options=options)
    return float(found.fun), found.x


@given(chains(), st.data())
def test_expectation_equals_that_of_the_explicit_features(model, data):
    examples, w = model.compiled(), weights(data, model)
    batch = np.array(data.draw(st.permutations(range(len(model.gold)))), dtype=np.int32)
    for scale in (0.0, 1.0, 0.5):
        errors, psi = examples.expectation(w, batch, error_scale=scale)
        rows = as_dicts(psi)
        assert np.diff(psi.indptr).tolist() == [len(row) for row in rows], "an index occurs twice"
        assert psi.values.all()
        for i, error, row in zip(batch, errors, rows, strict=True):
            outputs = model.outputs(i)
            scores = np.array([model.score(w, i, y) + scale * model.error(i, y) for y in outputs])
            total = logsumexp(scores)
            assert error == pytest.approx(total - model.score(w, i, model.gold[i]), abs=1e-9)
            expected = {}
            for y, p in zip(outputs, np.exp(scores - total), strict=True):
                for index, value in model.psi(i, y).items():
                    expected[index] = expected.get(index, 0.0) + p * value
            for index in expected | row:
                assert row.get(index, 0.0) == pytest.approx(expected.get(index, 0.0), abs=1e-9)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", SUMMED)
def test_the_gradient_is_that_of_the_value(name, scale):
    """By central differences along random directions."""
    training, _ = softmax_problem(name, scale)
    rng, h = np.random.default_rng(0), 1e-5
    batch = np.arange(training.n_blocks, dtype=np.int32)
    for _ in range(4):
        w, direction = rng.normal(size=(2, training.n_weights))
        ahead, behind = (
            training.examples.expectation(w + step * direction, batch, error_scale=scale).errors for step in (h, -h)
        )
        slope = -dots(training.cuts(w, batch).a, direction)
        assert np.allclose((ahead - behind) / (2 * h), slope, rtol=1e-5, atol=1e-7)


def test_certain_sequences_leave_no_zeros_in_the_rows():
    """Where sums are exact and far apart, probabilities are 0 or 1, and the expected output is the best one."""
    model = random_chain(1, [3, 2, 4])
    examples = model.compiled()
    batch, rng = np.arange(3, dtype=np.int32), np.random.default_rng(0)
    w = 1000.0 * rng.integers(-(10**6), 10**6, examples.n_weights)
    errors, psi = examples.expectation(w, batch)
    _, expected = examples.difference(batch, examples.decode(w, batch))
    assert as_dicts(psi) == as_dicts(expected)
    assert np.array_equal(errors, -dots(expected, w))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", SUMMED)
def test_cuts_are_tangents(name, scale):
    """The slack at their own w, and a lower bound on it everywhere else."""
    training, small = softmax_problem(name, scale)
    rng = np.random.default_rng(0)
    batch = np.arange(training.n_blocks, dtype=np.int32)
    for size in (0.0, 0.3, 3.0):
        w = size * rng.normal(size=training.n_weights)
        cuts = training.cuts(w, batch)
        xi, a = slacks(small, w, scale)
        assert np.allclose(cuts.b - dots(cuts.a, w), xi, rtol=0, atol=1e-9)
        assert np.allclose(dots(cuts.a, w), a @ w)
        for _ in range(10):
            other = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=training.n_weights)
            assert np.all(cuts.b - dots(cuts.a, other) <= slacks(small, other, scale)[0] + 1e-9)


@pytest.mark.parametrize("memory", [1, 5])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [*SUMMED, "weighted", "weak", "strong"])
def test_lbfgs_reaches_the_optimum_from_above_and_below(name, scale, memory):
    training, small = softmax_problem(name, scale)
    least, w = optimum(training, small)
    solution = fit(training, LBFGS(memory=memory), stop=Stop(epochs=1000, gap=1e-8))
    assert solution.stopped == "gap"
    assert solution.certified
    assert solution.primal == pytest.approx(least, rel=1e-7)
    assert np.linalg.norm(solution.w - w) <= 1e-3
    assert all(row.dual <= least * (1 + 1e-9) for row in solution.trace)
    assert all(row.primal >= least * (1 - 1e-9) for row in solution.trace)
    primals = [row.primal for row in solution.trace]
    assert all(after < before for before, after in pairwise(primals)), "a worse point was kept"


def test_the_trace_shows_the_objective_at_the_weights_of_each_epoch():
    training, _ = softmax_problem("chain", 1.0)
    free = fit(training, LBFGS(), stop=Stop(epochs=6, gap=None))
    audited = fit(training, LBFGS(), stop=Stop(epochs=6, gap=None), audit=True)
    assert [row.primal for row in free.trace] == pytest.approx([row.primal for row in audited.trace], rel=1e-12)
    assert np.array_equal(free.w, audited.w)


def test_nothing_is_lost_once_there_is_nothing_left_to_gain():
    """Searches fail by rounding at the optimum; the point is kept, and its objective is still shown."""
    training, small = softmax_problem("chain", 0.0)
    least, _ = optimum(training, small)
    solution = fit(training, LBFGS(), stop=Stop(epochs=18, gap=None))
    assert solution.primal == pytest.approx(least, rel=1e-12)
    assert solution.gap <= 1e-12
    assert [row.primal for row in solution.trace[-3:]] == pytest.approx([least] * 3, rel=1e-12)


def test_lbfgs_starts_from_given_weights():
    training, _ = softmax_problem("chain", 1.0)
    cold = fit(training, LBFGS(), stop=Stop(epochs=100, gap=1e-9))
    warm = fit(training, LBFGS(), stop=Stop(epochs=100, gap=1e-6), w=cold.w)
    assert len(warm.trace) == 1
    assert warm.primal <= cold.primal * (1 + 1e-12)
    assert np.array_equal(fit(training, LBFGS(), stop=Stop(epochs=0), w=cold.w).w, cold.w)


class StateKeeper(Exposed):
    """Notes the weights before every oracle call."""

    def __init__(self, solver):
        super().__init__(solver)
        self.seen = []

    def on_batch(self, visited):
        self.seen.append((self.state.w.copy(), self.state.pairs.n, self.state.bound))


def test_the_state_is_that_of_the_last_epoch_while_cuts_are_asked_for():
    training, _ = softmax_problem("strong", 1.0)
    keeper = StateKeeper(LBFGS())
    after = []

    class Epochs(Callback):
        def on_epoch(self, epoch):
            after.append(keeper.state.w.copy())

    solution = fit(training, keeper, stop=Stop(epochs=8, gap=None), callbacks=[keeper, Epochs()])
    known = [np.zeros(training.n_weights), *after]
    assert all(any(np.array_equal(w, other) for other in known) for w, _, _ in keeper.seen)
    assert np.array_equal(solution.w, after[-1])


def test_no_examples():
    for training in (
        Problem(random_chain(0, []).compiled(), Softmax(), loss="hinge"),
        softmax_problem("chain", 1.0, sample_weight=np.zeros(9))[0],
    ):
        solution = fit(training, LBFGS(), stop=Stop(epochs=3, gap=None))
        assert not solution.w.any()
        assert solution.oracle_calls == 0


def test_names():
    assert OBJECTIVES["likelihood"] == Softmax(error_scale=0.0)
    assert OBJECTIVES["softmax-margin"] == Softmax(error_scale=1.0)


# What does not fit together is refused


def test_squared_losses_are_refused():
    with pytest.raises(WidemarginError, match="is smooth by itself; its loss is 'hinge'"):
        problem("chain", objective=Softmax())


def test_maximum_solvers_and_smooth_objectives_are_kept_apart():
    with pytest.raises(UnsupportedError, match=r"LBFGS minimises smooth objectives, and Margin.* is none"):
        fit(problem("chain", objective=Margin(), loss="hinge")[0], LBFGS())
    with pytest.raises(UnsupportedError, match="DualCoordinateDescent minimises squared_hinge, not hinge"):
        fit(softmax_problem("chain", 1.0)[0], DualCoordinateDescent())


def test_without_any_memory():
    with pytest.raises(WidemarginError, match="memory of LBFGS must be a whole number of at least 1, not 0"):
        LBFGS(memory=0)


@pytest.mark.parametrize("solver", ["crf", "softmax-margin"])
def test_structures_without_probabilities_are_refused(solver):
    with pytest.raises(UnsupportedError, match="Softmax needs examples that offer Marginals; CustomExamples does not"):
        StructuredPredictor(Sign(), solver=solver).fit([2.0, -1.0], [1, -1])
