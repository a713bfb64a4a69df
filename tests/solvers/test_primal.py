"""Online primal solvers: against plain versions of themselves, against eager ones, and against the optimum."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers import STRUCTURES, all_cuts, optimum, problem
from widemargin.core.cuts import Cuts
from widemargin.core.examples import BLOCK
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows
from widemargin.objectives import Margin, Objective
from widemargin.solvers import SGD, AdaDelta, AdaGrad, Pegasos
from widemargin.solvers.adagrad import UNTOUCHED, AdaptiveState

WEIGHTED = {"sample_weight": np.array([1.0, 0.0, 2.5, 0.5, 1.0, 3.0, 0.7])}
# Real-valued features, and weights to start from, so that no outputs tie.
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("chain, real-valued", {}),
    ("chain, real-valued", WEIGHTED),
    ("chain, conditional", {}),
    ("strong", {}),
    ("custom, matching", {}),
]
SOLVERS = {
    "adagrad": AdaGrad(eta=0.2),
    "adadelta": AdaDelta(epsilon=1e-4),
    "sgd": SGD(eta0=0.1),
    "sgd, last": SGD(eta0=0.1, average=False),
    "pegasos": Pegasos(),
    "pegasos, last": Pegasos(average=False),
    "pegasos, projected": Pegasos(project=True),
}
BOTH = [
    (name, loss, penalty) for name in SOLVERS for loss in SOLVERS[name].losses for penalty in SOLVERS[name].penalties
]
EPOCHS = Stop(epochs=6, gap=None)


class Plain:
    """Every solver as its paper has it: dense vectors, all outputs enumerated, all weights touched in every step."""

    def __init__(self, training, small, batch_size, seed, start):
        self.training, self.table, self.size, self.start = training, all_cuts(small), batch_size, start
        self.rng = np.random.default_rng(seed)
        self.n = training.n_weights

    def gradients(self, w):
        """For the batches of 6 epochs: λ, the gradient at `w`, which the caller changes in place, and the curvature."""
        for _ in range(6):
            batches = self.training.batches(self.rng, self.size)
            for batch in batches:
                g, curvature = np.zeros(self.n), 0.0
                for i in batch:
                    errors, psi = self.table[i]
                    best, c = np.argmax(errors - psi @ w), self.training.example_weight[i]
                    slack = errors[best] - psi[best] @ w
                    if slack > 0:
                        g -= c * (1.0 if self.training.loss == "hinge" else 2.0 * slack) * psi[best]
                        curvature += 2.0 * c * psi[best] @ psi[best]
                yield 1.0 / (self.training.C * len(batches)), g, curvature

    def penalised(self, w, rate, strength):
        if self.training.penalty == "l2":
            return w / (1.0 + rate * strength)
        return np.sign(w) * np.maximum(np.abs(w) - rate * strength, 0.0)

    def adagrad(self, solver):
        w, q = self.start.copy(), np.full(self.n, solver.delta)
        for strength, g, _ in self.gradients(w):
            q += g**2
            if self.training.penalty == "l2":
                w[:] = (w * np.sqrt(q) - solver.eta * g) / (solver.eta * strength + np.sqrt(q))
            else:
                moved = w - solver.eta * g / np.sqrt(q)
                w[:] = np.sign(moved) * np.maximum(np.abs(moved) - solver.eta * strength / np.sqrt(q), 0.0)
        return w

    def adadelta(self, solver):
        w, rate, squares, moves = self.start.copy(), np.ones(self.n), np.zeros(self.n), np.zeros(self.n)
        for strength, g, _ in self.gradients(w):
            here = g != 0
            squares[here] = solver.rho * squares[here] + (1 - solver.rho) * g[here] ** 2
            rate[here] = (np.sqrt(moves + solver.epsilon) / np.sqrt(squares + solver.epsilon))[here]
            moves[here] = solver.rho * moves[here] + (1 - solver.rho) * (rate * g)[here] ** 2
            w[:] = self.penalised(w - rate * g, rate, strength)
        return w

    def descent(self, solver, rate, t=0, radius=np.inf):
        w, past = self.start.copy(), []
        for strength, g, curvature in self.gradients(w):
            eta = rate(t + len(past), strength)
            if self.training.loss == "squared_hinge":
                eta /= 1.0 + eta * curvature
            w[:] = (1.0 - eta * strength) * w - eta * g
            w *= min(1.0, radius / max(np.linalg.norm(w), 1e-300))
            past.append(w.copy())
        return np.average(past, axis=0, weights=(t + 1.0 + np.arange(len(past))) ** 3) if solver.average else w

    def sgd(self, solver):
        return self.descent(solver, lambda t, strength: solver.eta0 / (1.0 + solver.eta0 * strength * t) ** 0.75)

    def pegasos(self, solver):
        radius = np.sqrt(2.0 * self.training.primal(np.zeros(self.n))) if solver.project else np.inf
        t = len(self.training.weighted_examples) // self.size + 1
        return self.descent(solver, lambda t, strength: 1.0 / (strength * (t + 1)), t, radius)


@pytest.mark.parametrize(("structure", "options"), ROWS)
@pytest.mark.parametrize(("name", "loss", "penalty"), BOTH)
@pytest.mark.parametrize("batch_size", [1, 3])
def test_solvers_are_those_of_the_papers(name, loss, penalty, structure, options, batch_size):
    training, small = problem(structure, loss=loss, penalty=penalty, **options)
    solver = replace(SOLVERS[name], batch_size=batch_size)
    start = np.random.default_rng(1).normal(scale=0.3, size=training.n_weights)
    expected = getattr(Plain(training, small, batch_size, 5, start), name.partition(",")[0])(solver)
    for lazy in (True, False):
        found = fit(training, replace(solver, lazy=lazy), stop=EPOCHS, seed=5, w=start).w
        assert np.allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("C", [1e-3, 30.0])
@pytest.mark.parametrize(("name", "loss", "penalty"), BOTH)
def test_lazy_is_eager_over_many_steps(name, loss, penalty, C):
    """Some hundred, with sparse features; a small C lets the product of decays vanish again and again."""
    training, _ = problem("chain, real-valued", loss=loss, penalty=penalty, C=C)
    lazy, eager = (
        fit(training, replace(SOLVERS[name], batch_size=1, lazy=lazy), stop=Stop(epochs=40, gap=None)).w
        for lazy in (True, False)
    )
    assert np.allclose(lazy, eager, rtol=1e-6, atol=1e-7 * np.abs(eager).max(initial=1e-9))


@pytest.mark.parametrize("C", [0.05, 30.0])
@pytest.mark.parametrize("structure", ["trees, one root", "trees, siblings", "brackets"])
@pytest.mark.parametrize(("name", "penalty"), sorted({(name, penalty) for name, _, penalty in BOTH}))
def test_lazy_is_eager_with_hashed_features(name, penalty, structure, C):
    """Features share weights, and blocks have neighbours; every other block of the start is zero."""
    training = Problem(STRUCTURES[structure]().examples, Margin(), C=C, loss="hinge", penalty=penalty)
    start = np.random.default_rng(2).normal(scale=0.1, size=training.n_weights)
    start[np.arange(len(start)) // BLOCK % 2 == 0] = 0.0
    lazy, eager = (
        fit(training, replace(SOLVERS[name], batch_size=1, lazy=lazy), stop=Stop(epochs=40, gap=None), w=start).w
        for lazy in (True, False)
    )
    assert np.allclose(lazy, eager, rtol=1e-6, atol=1e-7 * np.abs(eager).max(initial=1e-9))


@pytest.mark.parametrize("l1", [False, True])
def test_steps_without_a_gradient_combine(l1):
    """From one to many, in whole blocks and in the part of one at the end, at the runs asked for and nowhere else."""
    rng = np.random.default_rng(4)
    n_weights, n, strength = 40 * BLOCK + 3, 1000, 0.1
    w, rate = rng.normal(size=n_weights), rng.uniform(0.001, 0.1, n_weights)
    blocks = np.arange(41)
    u = n - 2 ** (blocks % 10) - blocks // 10 % 2
    u[[7, 11]], w[7 * BLOCK : 8 * BLOCK] = [UNTOUCHED, n], 0.0
    steps = np.repeat(np.where(u == UNTOUCHED, 0, n - u), BLOCK)[:n_weights]
    expected = (
        np.sign(w) * np.maximum(np.abs(w) - strength * rate * steps, 0.0)
        if l1
        else w / (1.0 + strength * rate) ** steps
    )
    expected[16 * BLOCK : 20 * BLOCK] = w[16 * BLOCK : 20 * BLOCK]
    state = AdaptiveState(w.copy(), rate, u.astype(np.int32), n, strength, l1)
    state.catch_up(np.array([[0, 1], [5, 16 * BLOCK], [21 * BLOCK - 1, n_weights]]))
    assert np.allclose(state.w, expected, rtol=1e-12, atol=0)


def test_blocks_of_zeros_are_left_alone():
    """With the L1 penalty they come to be; nothing is spent on them until a gradient moves one of their weights."""
    training, _ = problem("chain, real-valued", penalty="l1", C=1e-3)
    solver = AdaGrad(eta=0.2)
    state = solver.start(training, np.full(training.n_weights, 0.01))
    assert np.all(state.u == 0)
    for seed in range(300):
        solver.epoch(training, state, np.random.default_rng(seed))
    assert np.all(solver.start(training).u == UNTOUCHED)
    assert not solver.weights(state).any()
    assert np.all(state.u == UNTOUCHED)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("name", ["chain", "chain, conditional", "weighted", "weak", "custom, matching"])
@pytest.mark.parametrize("solver", [SGD(), Pegasos(), Pegasos(project=True), AdaGrad(eta=0.2)])
def test_many_epochs_come_close_to_the_optimum(solver, name, loss):
    training, small = problem(name, loss=loss)
    least, _ = optimum(training, small)
    solution = fit(training, solver, stop=Stop(epochs=300, gap=None))
    assert least * (1 - 1e-9) <= solution.primal <= (1.1 if name == "weighted" else 1.03) * least


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", [AdaGrad(eta=0.2), AdaDelta(epsilon=1e-5)])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_adaptive_rates_come_close_with_either_penalty(solver, penalty, loss):
    training, small = problem("chain, real-valued", loss=loss, penalty=penalty)
    least, _ = optimum(training, small)
    solution = fit(training, solver, stop=Stop(epochs=300, gap=None))
    assert least * (1 - 1e-9) <= solution.primal <= 1.1 * least


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", [AdaGrad(eta=0.2), AdaDelta()])
def test_the_l1_penalty_gives_zeros(solver, loss):
    """Everywhere, where C is so small that no example can move a weight; at some weights, where it is not."""
    weak, _ = problem("chain, real-valued", loss=loss, penalty="l1", C=1e-3)
    start = np.full(weak.n_weights, 0.01)
    assert not fit(weak, solver, stop=Stop(epochs=300, gap=None), w=start).w.any()
    dense, sparse = (
        fit(replace(weak, C=0.5, penalty=penalty), replace(solver, batch_size=100), stop=Stop(epochs=300, gap=None)).w
        for penalty in ("l2", "l1")
    )
    assert np.count_nonzero(sparse) < np.count_nonzero(dense) == len(dense)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(
    ("once", "twice"),
    [
        (AdaGrad(delta=1e-4), AdaGrad(delta=4e-4)),
        (SGD(eta0=0.2), SGD(eta0=0.1)),
        (Pegasos(), Pegasos()),
    ],
)
def test_c_weighs_the_losses(once, twice, loss):
    """Twice the C is twice the weight of every example; η₀ and δ are on the scale of the gradients."""
    double, _ = problem("chain, real-valued", loss=loss, C=1.4)
    weighted, _ = problem("chain, real-valued", loss=loss, C=0.7, sample_weight=np.full(7, 2.0))
    one, other = fit(double, once, stop=EPOCHS), fit(weighted, twice, stop=EPOCHS)
    assert np.allclose(one.w, other.w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", [SGD(), SGD(eta0=0.01), Pegasos(), Pegasos(average=False), AdaGrad(), AdaDelta()])
def test_training_goes_on_from_weights(solver):
    training, small = problem("strong")
    _, best = optimum(training, small)
    before = best.copy()
    assert np.array_equal(fit(training, solver, stop=Stop(epochs=0), w=best).w, before)
    warm, cold = (fit(training, solver, stop=Stop(epochs=1, gap=None), w=w) for w in (best, None))
    assert warm.primal < cold.primal
    assert np.array_equal(best, before)


def test_the_first_rate_is_found_aside():
    """Neither the weights nor the slacks of the trials are seen in the epoch."""
    training, _ = problem("chain, real-valued")
    state = SGD().start(training)
    SGD().epoch(training, state, np.random.default_rng(0))
    assert np.log2(state.eta0) in range(-30, 0)
    found, given = (fit(training, SGD(eta0=eta0), stop=Stop(epochs=3, gap=None)) for eta0 in (None, state.eta0))
    assert np.array_equal(found.w, given.w)
    assert [row.primal for row in found.trace] == [row.primal for row in given.trace]
    assert found.oracle_calls > given.oracle_calls


def test_the_projection_keeps_weights_within_the_ball():
    training, _ = problem("strong", loss="hinge")
    radius = np.sqrt(2.0 * training.primal(np.zeros(training.n_weights)))
    solver, norms = Pegasos(project=True, average=False, batch_size=1), []

    class Watch(Callback):
        def on_batch(self, visited):
            norms.append(np.linalg.norm(state.last()))

    state = solver.start(training)
    training.meter.watch = lambda n: Watch().on_batch(n)
    for seed in range(10):
        solver.epoch(training, state, np.random.default_rng(seed))
    assert max(norms) == pytest.approx(radius), "and reaches it"


def test_states_are_arrays_and_numbers():
    training, _ = problem("chain")
    for solver in SOLVERS.values():
        state = solver.start(training)
        solver.epoch(training, state, np.random.default_rng(0))
        for field in fields(state):
            assert isinstance(getattr(state, field.name), np.ndarray | int | float)


@dataclass(frozen=True)
class SoftMaximum(Objective):
    """ξ = log Σ_y exp(Δ(y) − ⟨w, ψ(y)⟩), by enumeration."""

    table: Any
    kind: ClassVar = "smooth"

    def blocks(self, examples):
        return np.arange(examples.n_examples, dtype=np.int32)

    def cuts(self, examples, w, batch):
        value, a = self.tangents(w, batch)
        n, width = a.shape
        rows = Rows(np.arange(n + 1) * width, np.tile(np.arange(width, dtype=np.int32), n), a.ravel())
        return Cuts(batch, value + a @ w, rows)

    def tangents(self, w, batch):
        values, gradients = [], []
        for i in batch:
            errors, psi = self.table[i]
            value = np.logaddexp.reduce(errors - psi @ w)
            values.append(value)
            gradients.append(np.exp(errors - psi @ w - value) @ psi)
        return np.array(values), np.array(gradients)


@pytest.mark.parametrize("solver", [SGD(), Pegasos(), AdaGrad(eta=0.1), AdaDelta()])
def test_smooth_objectives(solver):
    training, small = problem("chain, real-valued", loss="hinge")
    training = replace(training, objective=SoftMaximum(all_cuts(small)))
    everything = np.arange(training.n_blocks)

    def value(w):
        values, a = training.objective.tangents(w, everything)
        return 0.5 * w @ w + training.C * values.sum(), w - training.C * a.sum(axis=0)

    least = minimize(value, np.zeros(training.n_weights), jac=True, tol=1e-10).fun
    solution = fit(training, solver, stop=Stop(epochs=100, gap=None))
    assert least * (1 - 1e-9) <= solution.primal <= 1.03 * least
