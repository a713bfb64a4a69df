"""Every solver on every small problem; dual solvers against an independent quadratic programme."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from helpers import PROBLEMS, SOLVERS, SUBLINEAR, Exposed, optimum, problem, random_chain, taken_by
from widemargin.core.examples import Marginals
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.problem import Problem
from widemargin.objectives import Margin, Softmax
from widemargin.solvers import SOLVERS as REGISTRY
from widemargin.solvers import DualCoordinateDescent, Perceptron
from widemargin.testing import check_solver

BY_MAXIMUM = [name for name in SOLVERS if "maximum" in SOLVERS[name].kinds]
SMOOTH = [name for name in SOLVERS if "smooth" in SOLVERS[name].kinds]


COMMON = ("chain", "chain, real-valued", "trees", "weighted", "weak", "strong", "slack, costs", "positions, weighted")
"""Problems that ask something of a solver that others do not: sparse and dense cuts, hashed features, weights of zero,
a small and a large C, costs that scale the cuts, several blocks of an example."""


@cache
def training_of(name):
    return problem(name)[0]


def can_train(solver, name):
    """Solvers that want more outputs than one take those of margin scaling."""
    training = training_of(name)
    wants_more = SOLVERS[solver].requires and not isinstance(training.objective, Margin)
    return not wants_more and all(isinstance(training.examples, each) for each in SOLVERS[solver].requires)


def losses(solver, name):
    """Both losses for the common problems, else one in turn; variants of a solver train the common problems only."""
    own, number = SOLVERS[solver].losses, [*PROBLEMS].index(name)
    if name in COMMON:
        return own
    return [own[number % len(own)]] if solver in REGISTRY else []


EVERYTHING = [
    (solver, name, loss)
    for solver in BY_MAXIMUM
    for name in PROBLEMS
    if can_train(solver, name)
    for loss in losses(solver, name)
]


@cache
def best(name, loss, penalty):
    """The least objective and its weights."""
    return optimum(*problem(name, loss=loss, penalty=penalty))


def has_dual(name):
    solver, training = SOLVERS[name], problem("chain", **taken_by(SOLVERS[name]))[0]
    return solver.dual(training, solver.start(training)) is not None


DUAL = [name for name in BY_MAXIMUM if has_dual(name)]


@pytest.mark.interpreted
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_few_epochs_of_every_solver(solver):
    """Few enough to be run without compilation as well."""
    objective = {} if solver in BY_MAXIMUM else {"objective": Softmax()}
    training, _ = problem("chain, costs", **taken_by(SOLVERS[solver]), **objective)
    solution = fit(training, SOLVERS[solver], stop=Stop(epochs=3, gap=None))
    assert np.all(np.isfinite(solution.w))
    assert solution.w.any()
    assert solution.certified
    assert 0 <= solution.dual <= solution.primal


@pytest.mark.parametrize(("solver", "name", "loss"), EVERYTHING)
def test_every_solver_on_every_problem(solver, name, loss):
    penalty = SOLVERS[solver].penalties[0]
    check_solver(SOLVERS[solver], problem(name, loss=loss, penalty=penalty)[0], gap=5 * SUBLINEAR.get(solver, 2e-4))


SUMMED = [name for name in PROBLEMS if isinstance(training_of(name).examples, Marginals)]
SCALED = [
    (name, scale) for number, name in enumerate(SUMMED) for scale in (0.0, 1.0) if name in COMMON or scale == number % 2
]


@pytest.mark.parametrize(("name", "scale"), SCALED)
@pytest.mark.parametrize("solver", SMOOTH)
def test_every_smooth_solver_on_every_problem(solver, name, scale):
    check_solver(SOLVERS[solver], problem(name, objective=Softmax(scale), loss="hinge")[0])


@pytest.mark.parametrize(
    ("solver", "name", "loss"), [row for row in EVERYTHING if row[0] == "auto" or (row[0] in DUAL and row[1] in COMMON)]
)
def test_every_dual_solver_reaches_the_optimum(solver, name, loss):
    training, _ = problem(name, loss=loss, penalty=SOLVERS[solver].penalties[0])
    least, w = best(name, loss, training.penalty)
    gap = SUBLINEAR.get(solver, 1e-6)
    solution = fit(training, SOLVERS[solver], stop=Stop(epochs=5000, gap=gap))
    assert solution.stopped == "gap"
    assert solution.primal == pytest.approx(least, rel=gap / (1 - gap))
    assert solution.dual == pytest.approx(least, rel=gap / (1 - gap))
    if training.penalty == "l2":
        # ½‖w − w*‖² ≤ P(w) − P(w*), P being strongly convex
        assert np.linalg.norm(solution.w - w) <= 1.1 * np.sqrt(2 * gap * least)


@pytest.mark.parametrize("solver", DUAL)
@pytest.mark.parametrize("binary", [True, False])
def test_zero_weight_leaves_an_example_out_and_double_weight_repeats_it(solver, binary):
    """Shown at the optimum: weights 0 and 2 against a data set without the one and with the other twice."""
    gap = SUBLINEAR.get(solver, 1e-7)
    solver = SOLVERS[solver]
    options, stop = taken_by(solver), Stop(epochs=5000, gap=gap)
    model = random_chain(11, [3, 2, 4, 3, 2], binary=binary, conditional=0 if binary else 2)
    order = [1, 2, 2, 4]
    other = replace(
        model,
        sequences=[model.sequences[i] for i in order],
        gold=[model.gold[i] for i in order],
        transitions=None if model.transitions is None else [model.transitions[i] for i in order],
    )
    weighted = Problem(model.compiled(), C=0.7, sample_weight=np.array([0.0, 1.0, 2.0, 0.0, 1.0]), **options)
    plain = Problem(other.compiled(), C=0.7, **options)
    found, expected = fit(weighted, solver, stop=stop), fit(plain, solver, stop=stop)
    assert found.primal == pytest.approx(expected.primal, rel=10 * gap)
    if weighted.penalty == "l2":
        assert np.linalg.norm(found.w - expected.w) <= 2.1 * np.sqrt(2 * gap * found.primal)


class Watcher(Exposed):
    """Notes the dual before every oracle call."""

    def __init__(self, solver, training):
        super().__init__(solver)
        self.training, self.duals = training, []

    def on_batch(self, visited):
        self.duals.append(self.solver.dual(self.training, self.state))


@pytest.mark.parametrize("name", ["chain", "strong", "weighted", "weak"])
@pytest.mark.parametrize("batch_size", [1, 3, None])
@pytest.mark.parametrize("sweeps", [0, 3])
def test_the_dual_never_falls_from_batch_to_batch(sweeps, batch_size, name):
    training, _ = problem(name)
    watcher = Watcher(DualCoordinateDescent(sweeps=sweeps, batch_size=batch_size), training)
    fit(training, watcher, stop=Stop(epochs=30, gap=None), callbacks=[watcher])
    duals = np.array(watcher.duals)
    assert duals[-1] > duals[0] == 0.0
    assert np.all(np.diff(duals) >= -1e-12 * duals[-1])


@pytest.mark.parametrize("sweeps", [0, 5])
def test_weights_stay_the_sum_of_their_cuts(sweeps):
    """After thousands of steps, and with the pool of cuts compacted again and again."""

    class Packer(Callback):
        def on_batch(self, visited):
            store = watcher.state.store
            store.compact()

    model = random_chain(7, [4, 3, 5, 2, 6] * 6, n_labels=4, n_features=12, binary=False)
    training = Problem(model.compiled(), C=10.0)
    watcher = Watcher(DualCoordinateDescent(sweeps=sweeps, batch_size=8), training)
    fit(training, watcher, stop=Stop(epochs=40, gap=None), callbacks=[watcher, Packer()])
    store = watcher.state.store
    assert np.max(np.abs(watcher.state.w - store.combination(training.n_weights))) <= 1e-9
    assert np.all(np.diff(watcher.duals) >= -1e-12 * watcher.duals[-1])
    mass = np.zeros(training.n_blocks)
    for block, first in enumerate(store.sets.first):
        slot = first
        while slot >= 0:
            assert store.sets.alpha[slot] > 0, "a cut without weight was kept"
            mass[block] += store.sets.alpha[slot]
            slot = store.sets.after[slot]
    assert np.allclose(store.sets.mass, mass, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sweeps", [0, 2])
def test_one_example_has_a_known_answer(sweeps):
    """One position, two labels, one feature: the only cut has ‖a‖² = 6, so α = b / (6 + 1/(2C)) and w = αa."""
    model = random_chain(0, [1], n_labels=2, n_features=1, per_position=1)
    C = 0.3
    solution = fit(Problem(model.compiled(), C=C), DualCoordinateDescent(sweeps=sweeps), stop=Stop(epochs=3, gap=1e-12))
    alpha = 1 / (6 + 1 / (2 * C))
    psi = model.psi(0, [1 - model.gold[0][0]])
    assert {i: value for i, value in enumerate(solution.w) if value} == pytest.approx(
        {i: alpha * value for i, value in psi.items()}
    )
    assert solution.dual == pytest.approx(alpha / 2)
    assert solution.stopped == "gap"


@pytest.mark.parametrize("batch_size", [1, 3, 100])
@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 2.0, 1.0, 0.5, 1.0, 1.0, 0.0, 3.0]])
def test_the_perceptron_is_the_ten_lines_of_the_textbook(batch_size, weight):
    """Exactly: with binary features all sums are, and of tied outputs both take the one with the lowest late labels."""
    model = random_chain(1, [3, 2, 4, 1, 3, 2, 4, 0, 3])
    training = Problem(model.compiled(), sample_weight=weight)
    solver, rng, epochs = Perceptron(batch_size=batch_size), np.random.default_rng(5), 4
    w, past = np.zeros(training.n_weights), []
    for _ in range(epochs):
        for batch in training.batches(rng, batch_size):
            at = w.copy()
            for i in batch:
                best = max(
                    model.outputs(i), key=lambda labels: (model.score(at, i, labels), [-y for y in labels[::-1]])
                )
                for index, value in model.psi(i, best).items():
                    w[index] += training.example_weight[i] * value
                past.append(w.copy())
    watcher = Watcher(solver, training)
    solution = fit(training, watcher, stop=Stop(epochs=epochs), seed=5)
    assert np.array_equal(watcher.state.w, w)
    assert w.any()
    assert np.allclose(solution.w, np.mean(past, axis=0), rtol=0, atol=1e-12)
