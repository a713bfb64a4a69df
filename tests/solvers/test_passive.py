"""Passive-aggressive steps and AROW, against the formulas of their papers on all outputs, with dense vectors."""

import numpy as np
import pytest

from helpers import random_chain
from widemargin.core.loop import fit
from widemargin.core.problem import Problem
from widemargin.core.stop import Stop
from widemargin.solvers import AROW, PassiveAggressive

pytestmark = pytest.mark.interpreted

EPOCHS, C = 3, 0.2


def mistakes(training, model, w):
    """In the order of the solvers' batches of one: the example, Δ and ψ of its best output at `w`."""
    rng = np.random.default_rng(5)
    for _ in range(EPOCHS):
        for (i,) in training.batches(rng, 1):
            best = max(model.outputs(i), key=lambda labels: model.score(w, i, labels))
            psi = np.zeros(len(w))
            for index, value in model.psi(i, best).items():
                psi[index] = value
            yield i, model.error(i, best), psi


@pytest.fixture
def model():
    """Real-valued features, so that no outputs tie but at w = 0, where this is the first one."""
    return random_chain(1, [3, 2, 4, 1, 3, 2], binary=False)


@pytest.fixture
def training(model):
    return Problem(model.compiled(), C=C, sample_weight=np.array([1.0, 2.0, 0.0, 0.5, 1.0, 1.0]))


@pytest.fixture
def start(training):
    return np.random.default_rng(2).normal(size=training.n_weights)


@pytest.mark.parametrize("slack", ["none", "linear", "squared"])
@pytest.mark.parametrize("margin", ["errors", "root", "one"])
@pytest.mark.parametrize("average", [True, False])
def test_passive_aggressive_steps(model, training, start, slack, margin, average):
    w, past = start.copy(), []
    for i, error, psi in mistakes(training, model, w):
        wanted = {"errors": error, "root": np.sqrt(error), "one": float(error > 0)}[margin]
        loss, square, price = wanted - w @ psi, psi @ psi, C * training.example_weight[i]
        if error > 0:
            w += {
                "none": loss / square,
                "linear": min(price, loss / square),
                "squared": loss / (square + 0.5 / price),
            }[slack] * psi
        past.append(w.copy())
    solver = PassiveAggressive(slack=slack, margin=margin, average=average, batch_size=1)
    found = fit(training, solver, stop=Stop(epochs=EPOCHS), w=start, seed=5).w
    assert found == pytest.approx(np.mean(past, axis=0) if average else w)
    assert not np.allclose(found, start)


@pytest.mark.parametrize(("variance", "gamma"), [(1.0, 1.0), (0.3, 4.0)])
def test_arow(model, training, start, variance, gamma):
    w, sigma = start.copy(), np.full(len(start), variance)
    for i, error, psi in mistakes(training, model, w):
        if error > 0:
            r = gamma / training.example_weight[i]
            w += (error - w @ psi) / (psi @ (sigma * psi) + r) * sigma * psi
            sigma = 1.0 / (1.0 / sigma + psi**2 / r)
    solver = AROW(variance=variance, gamma=gamma, batch_size=1)
    found = fit(training, solver, stop=Stop(epochs=EPOCHS), w=start, seed=5).w
    assert found == pytest.approx(w)
    assert not np.allclose(found, start)
