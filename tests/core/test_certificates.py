"""A certificate is given only for numbers that can be right: never for nan, ∞, or a bound above the objective."""

import numpy as np
import pytest

from helpers import Exposed, problem
from widemargin import Problem, Stop, StructuredPredictor, fit
from widemargin.core.cuts import Cuts
from widemargin.core.solution import Solution, proven_gap, relative_gap
from widemargin.core.sparse import Rows, dots
from widemargin.objectives import Margin, PositionWise
from widemargin.report.record import certificate
from widemargin.solvers import SOLVERS, DualCoordinateDescent, Perceptron
from widemargin.structures import custom_examples
from widemargin.tasks.classify.classes import ClassExamples


class Boastful(DualCoordinateDescent):
    """A solver whose lower bound is too good to be true."""

    def dual(self, problem, state):
        return 1.5 * problem.primal(state.w)


class Lost(DualCoordinateDescent):
    """A solver whose weights are no numbers."""

    def weights(self, state):
        return np.full_like(state.w, np.nan)


class Endless(DualCoordinateDescent):
    """A solver without a finite lower bound."""

    def dual(self, problem, state):
        return np.inf


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("solver", [Boastful(), Lost(), Endless()])
def test_numbers_that_cannot_be_right_prove_nothing(solver, audit):
    training, _ = problem("chain")
    solution = fit(training, solver, stop=Stop(epochs=3, gap=0.5), audit=audit)
    assert solution.stopped == "epochs"
    assert not solution.certified
    assert not any(row.certified for row in solution.trace)
    assert solution.gap is None
    assert solution.doubt
    assert "nothing is proven: the " in str(solution)
    assert "nothing is proven: the " in certificate(solution)
    assert Solution.restored(solution.w, solution.summary()).doubt == solution.doubt


def test_features_that_overflow_are_not_certified():
    features = Rows(np.array([0, 1, 2]), np.array([0, 0], dtype=np.int32), np.array([1e155, -1e155]))
    examples = ClassExamples(features, 1, 2, np.array([0, 1], dtype=np.int32))
    with np.errstate(all="ignore"):
        solution = fit(Problem(examples, C=1.0), Perceptron(), stop=Stop(epochs=2))
    assert np.isfinite(solution.primal) or (not solution.certified and solution.doubt)


def test_gaps():
    assert relative_gap(np.nan, 1.0) is None
    assert relative_gap(1.0, -np.inf) is None
    assert proven_gap(1.0, 1.0 + 1e-9) == (0.0, None)
    assert proven_gap(1.0, 1.1)[0] is None
    assert proven_gap(0.0, 0.0) == (0.0, None)


class Costly:
    """Three labels, one feature each, and confusions that cost differently; decoded by looking at all of them."""

    COSTS = np.array([[0.0, 0.1, 5.0], [0.1, 0.0, 5.0], [5.0, 0.1, 0.0]])
    n_weights = 3

    def features(self, x, y):
        return {y[0]: x}

    def error(self, y, y_hat):
        return self.COSTS[y[0], y_hat[0]]

    def position_errors(self, y, y_hat):
        return [self.error(y, y_hat)]

    def decode(self, x, w, y=None, wrong_at=None):
        labels = [c for c in range(3) if wrong_at is None or c != y[0]]
        plain = y is None or wrong_at is not None
        return (max(labels, key=lambda c: w[c] * x + (0.0 if plain else self.COSTS[y[0], c])),)


class Listed(Costly):
    """The same with all outputs listed, so that the worst is found."""

    def outputs(self, x):
        return [(c,) for c in range(3)]


def test_position_errors_of_ones_own_are_proven_only_by_listing_outputs():
    X, y = [1.0, 2.0], [(0,), (2,)]
    found, listed = (
        Problem(custom_examples(kind(), X, y), PositionWise(), C=0.1, loss="hinge") for kind in (Costly, Listed)
    )
    assert not found.exact
    assert listed.exact
    proven = StructuredPredictor(Listed(), solver="sdm", objective="positions", loss="hinge", C=0.1, tol=1e-3).fit(X, y)
    assert proven.solution_.certified
    claimed = StructuredPredictor(Costly(), solver="sdm", objective="positions", loss="hinge", C=0.1, tol=1e-3)
    assert not claimed.fit(X, y).solution_.certified
    assert claimed.solution_.primal <= proven.solution_.primal + 1e-6


class Forgetful(Margin):
    """Margin scaling by an oracle that finds the worst outputs at first, and then nothing but gold."""

    exact = False
    calls = 0

    def cuts(self, examples, w, batch):
        found = super().cuts(examples, w, batch)
        type(self).calls += len(batch)
        if self.calls <= 3 * examples.n_examples:
            return found
        return Cuts(batch, np.zeros(len(batch)), Rows(np.zeros(len(batch) + 1, np.int64), *found.a[1:]))


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("name", ["dcd", "dcd-light", "cpd", "ocp", "sdm", "n-slack", "interior", "auto", "one-slack"])
def test_what_an_inexact_oracle_has_found_once_counts_for_good(name, audit):
    training, _ = problem("chain", objective=Forgetful(), loss=SOLVERS[name].losses[0])
    Forgetful.calls = 0
    exposed = Exposed(SOLVERS[name])
    solution = fit(training, exposed, stop=Stop(epochs=8, gap=None), audit=audit)
    assert not solution.certified
    store = exposed.known(exposed.state)
    _, cuts = store.everything()
    slacks = np.zeros(training.n_blocks)
    np.maximum.at(slacks, cuts.block, cuts.b - dots(cuts.a, solution.w))
    assert slacks.any()
    expected = 0.5 * solution.w @ solution.w + training.C * training.losses(np.arange(len(slacks)), slacks)
    assert solution.primal == pytest.approx(expected, rel=1e-9)
    if name != "one-slack":  # whose cache is smaller than what its bound comes from
        assert solution.dual <= solution.primal * (1 + 1e-9)
    assert training.known is None


def test_an_exact_oracle_is_not_asked_twice():
    training, _ = problem("chain")
    w = np.random.default_rng(0).normal(size=training.n_weights)
    training.known = None
    alone = training.primal(w)
    training.known = "never looked at"
    assert training.primal(w) == alone
