"""MIRA against its definition: the closed form written down, and the programme of a step solved by another method."""

import numpy as np
import pytest

from helpers import all_cuts, problem, quadratic_programme, random_chain
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import Margin, Objective
from widemargin.solvers import MIRA, named_solver

pytestmark = pytest.mark.interpreted


def trained(solver, training, seed, epochs=1, w=None):
    """The state after some epochs: unlike a solution, it has the last weights as well as their average."""
    state, rng = solver.start(training, w), np.random.default_rng(seed)
    for _ in range(epochs):
        solver.epoch(training, state, rng)
    return state


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("batch_size", [1, 3, 100])
@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 2.0, 1.0, 0.5, 1.0]])
def test_one_best_is_the_ten_lines_of_the_textbook(batch_size, weight, loss):
    model = random_chain(2, [3, 2, 4, 1, 0, 3], binary=False, costs=True)
    training = Problem(model.compiled(), C=0.2, sample_weight=weight, loss=loss)
    rng, epochs = np.random.default_rng(5), 3
    w, past = np.zeros(training.n_weights), []
    for _ in range(epochs):
        for batch in training.batches(rng, batch_size):
            at = w.copy()
            for i in batch:
                best = max(model.outputs(i), key=lambda y: model.score(at, i, y) + model.error(i, y))
                psi = np.zeros(len(w))
                psi[list(model.psi(i, best))] = list(model.psi(i, best).values())
                if psi.any():
                    step = (model.error(i, best) - psi @ w) / (psi @ psi)
                    w += np.clip(step, 0.0, training.C * training.example_weight[i]) * psi
                past.append(w.copy())
    state = trained(MIRA(batch_size=batch_size), training, 5, epochs)
    assert w.any()
    assert np.allclose(state.w, w, rtol=0, atol=1e-12)
    assert np.allclose(state.mean, np.mean(past, axis=0), rtol=0, atol=1e-12)


def least_change(w, errors, psi, cap):
    """argmin ½‖w' − w‖² + cap · ξ over the cuts, in the primal: w' − w and ξ are the variables."""
    constraints = -np.vstack([np.column_stack([psi, np.ones(len(psi))]), np.eye(len(w) + 1)[-1]])
    _, change = quadratic_programme(
        np.append(np.ones(len(w)), 0.0), np.append(np.zeros(len(w)), cap), constraints, np.append(psi @ w - errors, 0.0)
    )
    return w + change[:-1]


@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("C", [0.02, 0.3, 10.0])
@pytest.mark.parametrize("name", ["chain, real-valued", "chain, costs", "chain, conditional"])
def test_a_step_is_the_least_change_that_the_k_best_ask_for(name, C, k):
    training, small = problem(name, C=C)
    w = np.random.default_rng(3).normal(size=training.n_weights)
    expected = w.copy()
    cuts = all_cuts(small)
    for i in np.concatenate(training.batches(np.random.default_rng(7), 1)):
        errors, psi = cuts[i]
        best = np.argsort(psi @ expected - errors, kind="stable")[:k]
        expected = least_change(expected, errors[best], psi[best], C)
    found = trained(MIRA(k=k, batch_size=1), training, 7, w=w).w
    assert not np.allclose(found, w)
    assert np.allclose(found, expected, rtol=0, atol=1e-5)


def test_one_of_the_k_best_through_the_programme_is_the_closed_form():
    training, _ = problem("chain, real-valued")
    w = np.random.default_rng(0).normal(size=training.n_weights)
    for i in training.weighted_examples:
        one, (_, errors, psi, _) = w.copy(), training.best_cuts(w, np.array([i]), 1)
        a = np.zeros(len(w))
        a[psi.indices] = psi.values
        if a.any():
            one += np.clip((errors[0] - a @ w) / (a @ a), 0.0, training.C) * a
        alone = Problem(training.examples, C=training.C, sample_weight=np.eye(training.n_blocks)[i])
        assert np.allclose(trained(MIRA(), alone, 0, w=w).w, one, rtol=0, atol=1e-12)


def test_the_meter_sees_the_best_of_the_k_best():
    training, other = problem("weighted")[0], problem("weighted")[0]
    w = np.random.default_rng(0).normal(size=training.n_weights)
    announced = []
    training.meter.watch = announced.append
    cuts = training.best_cuts(w, training.weighted_examples, 4)
    other.cuts(w, other.weighted_examples)
    assert announced == [len(training.weighted_examples)]
    assert training.meter.calls == other.meter.calls
    assert np.unique(cuts.block).tolist() == training.weighted_examples.tolist()
    assert np.allclose(training.slacks, other.slacks, equal_nan=True)


def test_the_k_best_do_not_depend_on_threads():
    alone, threaded = (Problem(random_chain(7, [9, 12] * 40, n_labels=6).compiled(), n_threads=n) for n in (1, 3))
    w = np.random.default_rng(0).normal(size=alone.n_weights)
    one, other = (training.best_cuts(w, training.weighted_examples, 4) for training in (alone, threaded))
    for array, same in zip((one.block, one.b, *one.a), (other.block, other.b, *other.a), strict=True):
        assert np.array_equal(array, same)


def test_what_it_cannot_do_is_said_before_the_run():
    custom, _ = problem("custom, matching")
    assert fit(custom, MIRA(), stop=Stop(epochs=2)).w.any()
    with pytest.raises(UnsupportedError, match="MIRA needs examples that offer KBest; CustomExamples does not"):
        fit(custom, MIRA(k=2))
    with pytest.raises(WidemarginError, match="k of MIRA must be a whole number of at least 1, not 0"):
        MIRA(k=0)

    chain, _ = problem("chain")
    chain.objective = type("Other", (Objective,), {"cuts": Margin().cuts, "__repr__": lambda _: "other()"})()
    with pytest.raises(UnsupportedError, match="MIRA needs objectives that offer BestCuts; Other does not"):
        fit(chain, MIRA(k=2))


def test_by_name():
    assert named_solver("mira(k=5)") == MIRA(k=5)
