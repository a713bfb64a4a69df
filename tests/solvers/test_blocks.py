"""What visits to blocks find out: gaps that sum up to the certificate, gains that sum up to the rise of the dual."""

import numpy as np
import pytest

from helpers import problem
from widemargin.solvers import OnlineCuttingPlane
from widemargin.solvers.blocks import SLIGHT, absorb, sweep

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["chain", "weighted", "strong"])
def test_gaps_and_gains_are_those_of_the_whole(name, loss):
    training, _ = problem(name, loss=loss)
    solver, rng = OnlineCuttingPlane(), np.random.default_rng(0)
    state = solver.start(training)
    for _ in range(3):
        solver.epoch(training, state, rng)
    counted = training.c > 0
    before = solver.dual(training, state)
    for batch in training.batches(rng, 4):
        absorb(state.store.reserve(training.cuts(state.w, batch)), state.view, SLIGHT, SLIGHT, 0)
    assert state.gap[counted].sum() == pytest.approx(training.primal(state.w) - before)
    assert np.all(state.gap[counted] >= -1e-12)
    gain, _ = sweep(np.flatnonzero(state.store.sets.size).astype(np.int32), state.view, SLIGHT, SLIGHT, 5)
    assert gain > 0
    assert gain == pytest.approx(solver.dual(training, state) - before)
