"""A certificate is given only for numbers that can be right: never for nan, ∞, or a bound above the objective."""

import re

import numpy as np
import pytest

from helpers import Exposed, problem
from widemargin import LinearClassifier, Problem, SequenceTagger, Stop, StructuredPredictor, fit
from widemargin.core.cuts import Cuts
from widemargin.core.solution import Epoch, Solution, proven_gap, relative_gap
from widemargin.core.sparse import Rows, dots
from widemargin.errors import DataError
from widemargin.objectives import Margin, PositionWise
from widemargin.report.record import certificate, stop_reason
from widemargin.solvers import SOLVERS, Auto, CuttingPlane, DualCoordinateDescent, Perceptron
from widemargin.structures import custom_examples
from widemargin.tasks.classify.examples import ClassExamples


class Boastful(DualCoordinateDescent):
    """A solver whose lower bound is too good to be true."""

    def dual(self, problem, state):
        return 1.5 * problem.primal(state.w)


class Lost(DualCoordinateDescent):
    """A solver whose weights are no numbers."""

    def weights(self, state):
        return np.full_like(state.w, np.nan)


class Endless(DualCoordinateDescent):
    """A solver that claims an infinite lower bound."""

    def dual(self, problem, state):
        return np.inf


@pytest.mark.parametrize("audit", [False, True])
def test_weights_that_cannot_be_right_prove_nothing(audit):
    training, _ = problem("chain")
    solution = fit(training, Lost(), stop=Stop(epochs=3, gap=0.5), audit=audit)
    assert solution.stopped == "epochs"
    assert not solution.certified
    assert not any(row.certified for row in solution.trace)
    assert solution.gap is None
    assert solution.doubt
    assert "nothing is proven: the " in str(solution)
    assert "nothing is proven: the " in certificate(solution)
    assert Solution.from_summary(solution.w, solution.summary()).doubt == solution.doubt


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("solver", [Boastful(), Endless()])
def test_what_a_solver_says_is_no_proof(solver, audit):
    training, _ = problem("chain")
    honest = fit(training, DualCoordinateDescent(), stop=Stop(epochs=3, gap=0.0), audit=audit)
    boast = fit(training, solver, stop=Stop(epochs=3, gap=0.0), audit=audit)
    assert np.array_equal(boast.w, honest.w)
    assert boast.certified
    assert (boast.primal, boast.dual, boast.gap) == (honest.primal, honest.dual, honest.gap)


class Forged(CuttingPlane):
    """A solver whose α break the rules: some are negative, others exceed their caps."""

    def epoch(self, problem, state, rng):
        super().epoch(problem, state, rng)
        slots, _ = state.store.everything()
        state.store.sets.alpha[slots] = rng.normal(size=len(slots)) * 1e3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_forged_coefficients_prove_nothing_false(loss):
    training, _ = problem("chain", loss=loss)
    optimum = fit(training, Auto(), stop=Stop(epochs=300, gap=1e-6)).primal
    for seed in range(5):
        assert fit(training, Forged(), stop=Stop(epochs=2, gap=None), seed=seed).dual <= optimum


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


class Chosen:
    """One of three labels, which are no sequences; told where to be wrong, it finds the best one, not the worst."""

    COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 0.5, 0.0]])
    n_weights = 6

    def features(self, x, y):
        return [2 * y, 2 * y + 1], list(x)

    def error(self, y, y_hat):
        return float(self.COSTS[y, y_hat])

    def decode(self, x, w, y=None, wrong_at=None):
        labels = [c for c in range(3) if wrong_at is None or c != y]
        plain = y is None or wrong_at is not None
        return max(labels, key=lambda c: float(w[2 * c : 2 * c + 2] @ x) + (0.0 if plain else self.error(y, c)))


class AllChosen(Chosen):
    """The same with all outputs listed."""

    def outputs(self, x):
        return range(3)


def test_positions_of_outputs_that_are_no_sequences_are_proven_only_by_listing_outputs():
    rng = np.random.default_rng(0)
    X, y = list(rng.normal(size=(6, 2))), rng.integers(3, size=6).tolist()
    listed, found = (
        StructuredPredictor(kind(), solver="sdm", objective="positions", loss="hinge", tol=1e-3, max_epochs=500)
        for kind in (AllChosen, Chosen)
    )
    assert listed.fit(X, y).solution_.certified
    assert not found.fit(X, y).solution_.certified


class Broken(Chosen):
    """A decoder that always returns the same label."""

    def decode(self, x, w, y=None, wrong_at=None):
        return 0


@pytest.mark.parametrize("solver", ["auto", "dcd", "one-slack", "bundle", "pegasos"])
def test_a_decoder_that_returns_less_than_gold_proves_nothing(solver):
    rng = np.random.default_rng(0)
    y = [1, 0, 1, 2, 1, 2, 0, 1]
    X = list(rng.normal(size=(8, 2)) + np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]])[y])
    right = StructuredPredictor(Chosen(), solver=solver, max_epochs=50, tol=0.1, C=10.0).fit(X, y)
    assert right.solution_.certified
    broken = StructuredPredictor(Broken(), solver=solver, max_epochs=50, tol=0.1, C=10.0).fit(X, y).solution_
    assert not broken.certified
    assert broken.gap is None
    example = int(re.match(r"decoding example (\d), counted from 0,", broken.doubt)[1])
    assert y[example]  # where gold is 0, the answer is right by chance
    assert "check_structure" in str(broken)


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
    store = exposed.kept_cuts(exposed.state)
    _, cuts = store.everything()
    slacks = np.zeros(training.n_blocks)
    np.maximum.at(slacks, cuts.block, cuts.b - dots(cuts.a, solution.w))
    assert slacks.any()
    expected = 0.5 * solution.w @ solution.w + training.C * training.losses(np.arange(len(slacks)), slacks)
    assert solution.primal == pytest.approx(expected, rel=1e-9)
    if name != "one-slack":  # whose cache is smaller than what its bound comes from
        assert solution.dual <= solution.primal * (1 + 1e-9)
    assert training.kept_cuts is None


def test_an_exact_oracle_is_not_asked_twice():
    training, _ = problem("chain")
    w = np.random.default_rng(0).normal(size=training.n_weights)
    training.kept_cuts = None
    alone = training.primal(w)
    training.kept_cuts = "never looked at"
    assert training.primal(w) == alone


def with_a_timestamp(ratio):
    """Forty rows of sixty features, and one column whose entries are larger by `ratio`."""
    rng = np.random.default_rng(0)
    plain, y = rng.normal(size=(40, 60)), rng.integers(2, size=40)
    return np.hstack([ratio * (1.0 + 1e-3 * rng.normal(size=(40, 1))), plain]), y


@pytest.mark.parametrize("solver", ["auto", "interior", "dcd", "cpd", "one-slack", "bundle"])
@pytest.mark.parametrize("ratio", [1e7, 1.6e9])
def test_no_bound_is_too_high_on_badly_scaled_features(solver, ratio):
    X, y = with_a_timestamp(ratio)
    # Weight 0 for the large column is one choice among others: the optimum is at most this.
    attained = LinearClassifier(tol=1e-4, max_epochs=500, fit_intercept=False).fit(X[:, 1:], y).solution_.primal
    model = LinearClassifier(solver=solver, max_epochs=60, tol=0.01, fit_intercept=False)
    with pytest.warns(UserWarning, match=r"column 0 with entries up to .* StandardScaler"):
        solution = model.fit(X, y).solution_
    assert solution.dual <= attained
    if solver in ("auto", "interior"):
        assert solution.certified
        assert solution.primal <= attained * 1.011
        assert model.score(X, y) == 1.0


def test_features_of_one_scale_are_taken_as_they_are():
    X, y = with_a_timestamp(1e3)
    LinearClassifier(max_epochs=2).fit(X, y)  # a warning would be an error


def test_a_gap_of_everything_is_no_proof():
    X, y = with_a_timestamp(1.0)
    solution = LinearClassifier(objective="likelihood", solver="lbfgs", C=1e3, max_epochs=1).fit(X, y).solution_
    assert not solution.certified
    assert "nothing is proven: the best lower bound so far is" in str(solution)
    assert "within" not in str(solution)
    assert solution.shortfall  # so that it warns


def test_what_is_proven_is_rounded_up_and_the_kept_epoch_is_named():
    rows = tuple(Epoch(k, 0.1, k, 2.0, 1.9, 0.05, 0.5, False) for k in (1, 2, 3))
    solution = Solution(np.zeros(1), rows, 2.0, 1.9, 0.050001, True, "epochs", 2, 70, 0.25)
    assert str(solution).endswith("proven to be within 5.01% of the optimum; the weights are those of epoch 2 of 3")
    assert stop_reason(solution).endswith("; the weights are those of epoch 2 of 3")
    last = Solution(np.zeros(1), rows, 2.0, 1.9, 0.05, True, "epochs", 3, 70, 0.25)
    assert str(last).endswith("within 5% of the optimum")


@pytest.mark.parametrize("solver", ["auto", "interior", "dcd"])
def test_weights_that_are_nothing_are_ignored(solver):
    X, y = with_a_timestamp(1.0)
    weight = np.ones(len(y))
    weight[5:] = 0.0
    model = LinearClassifier(solver=solver, max_epochs=20)
    expected = model.fit(X, y, weight).solution_.primal
    for slight in (1e-50, 1e-310):
        weight[5:] = slight
        with pytest.warns(UserWarning, match="35 examples have weights of at most 1e-50 and are ignored"):
            found = model.fit(X, y, weight).solution_
        assert found.primal == pytest.approx(expected, rel=0.02)
        assert found.certified
    tagger = SequenceTagger(solver=solver)
    with pytest.raises(DataError, match="every example has the weight 0, so there is nothing to learn from"):
        tagger.fit([["a", "b"], ["b"]], [["x", "y"], ["y"]], [0.0, 0.0])


@pytest.mark.parametrize("solver", ["auto", "interior", "n-slack", "one-slack"])
def test_examples_without_features_have_a_certificate(solver):
    solution = (
        LinearClassifier(solver=solver, fit_intercept=False, max_epochs=5).fit(np.zeros((4, 3)), [0, 1, 0, 1]).solution_
    )
    assert solution.certified
    assert solution.gap <= 1e-9
