"""Dual coordinate descent for the squared hinge (Chang & Yih 2013).

    max_α≥0  Σ bα − ½‖Σ αa‖² − Σ_i A_i² / (4 C c_i),   A_i = Σ_y α_i(y),   w = Σ αa            (their eq. 4, 5)

Without equality constraints each α can be moved alone, to its exact optimum:

    d = (b − ⟨w, a⟩ − A_i / (2 C c_i)) / (‖a‖² + 1 / (2 C c_i));   α ← max(α + d, 0)              (Algorithm 1)

so the dual never falls. DCD-Light (Algorithm 2) calls the oracle for each example in turn; DCD-SSVM (Algorithm 3)
first makes r sweeps over the cached working sets, which need no oracle. Beyond the paper, a batch of examples is
decoded at one w: since every step is an exact line search, stale cuts cost a little progress and never correctness.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.core import Loss
from widemargin.core.cuts import Cuts, WorkingSets, add, drop_idle, find, largest, violation
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.core.sparse import add_scaled, dot
from widemargin.solvers.dual import DualSolver, DualState, cached_blocks, growing, new_cuts


@kernel
def _update_weights(
    i: int, w: FloatVector, sets: WorkingSets, ridge: float, order: IntVector, random: FloatVector
) -> None:
    """Algorithm 1, UPDATEWEIGHT: one exact step on each cut of block i, the newest first, the others at random."""
    n = 0
    slot = sets.first[i]
    while slot >= 0:
        order[n] = slot
        n += 1
        slot = sets.after[slot]
    # A Fisher-Yates shuffle that leaves the first slot alone, so that the newest cut stays in front. The numbers of a
    # linear congruential generator are exact in float64.
    for k in range(n - 1, 1, -1):
        random[0] = (random[0] * 16807.0) % 2147483647.0
        other = 1 + int(random[0] / 2147483647.0 * k)
        order[k], order[other] = order[other], order[k]
    idle = False
    for k in range(n):
        slot = order[k]
        # At the current w and A_i, which the steps before have moved: only so is each step exact.
        d = (violation(sets, slot, w) - ridge * sets.mass[i]) / (sets.norm[slot] + ridge)
        alpha = max(sets.alpha[slot] + d, 0.0)
        step = alpha - sets.alpha[slot]
        if step != 0.0:
            add_scaled(step, sets.indices, sets.values, sets.begin[slot], sets.end[slot], w)
            sets.mass[i] += step
            sets.alpha[slot] = alpha
        idle = idle or alpha == 0.0
    if idle:
        drop_idle(sets, i)


@kernel
def _absorb(
    cuts: Cuts, w: FloatVector, sets: WorkingSets, ridge: FloatVector, delta: float, random: FloatVector
) -> None:
    """Algorithm 2, lines 6–9: admit each new cut that is violated by δ or more, and update its block."""
    order = np.empty(largest(sets) + len(cuts.b), dtype=np.int32)
    for k in range(len(cuts.b)):
        i, begin, end = cuts.block[k], cuts.a.indptr[k], cuts.a.indptr[k + 1]
        if end > begin or cuts.b[k] > 0.0:
            slack = cuts.b[k] - dot(cuts.a.indices, cuts.a.values, begin, end, w)
            if slack - ridge[i] * sets.mass[i] >= delta and find(sets, i, cuts.b[k], cuts.a, begin, end) < 0:
                add(sets, i, cuts.b[k], cuts.a, begin, end)
        _update_weights(i, w, sets, ridge[i], order, random)


@kernel
def _sweep(blocks: IntVector, w: FloatVector, sets: WorkingSets, ridge: FloatVector, random: FloatVector) -> None:
    """Algorithm 3, lines 5–7: update every block from its cached working set."""
    order = np.empty(largest(sets), dtype=np.int32)
    for i in blocks:
        _update_weights(i, w, sets, ridge[i], order, random)


@dataclass(frozen=True, slots=True, kw_only=True)
class DualCoordinateDescent(DualSolver):
    """DCD-SSVM with `sweeps` = r passes over the cached cuts before each oracle pass; 0 is DCD-Light.

    Parameters
    ----------
    sweeps : the paper's r
    delta : how much a new cut must be violated to be admitted
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    sweeps: int = number(5)
    delta: float = number(1e-6)
    batch_size: int | None = number(None, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge",)
    products: ClassVar[bool] = False

    def epoch(self, problem: Problem, state: DualState, rng: np.random.Generator) -> None:
        """Algorithm 3, lines 3–16."""
        random = np.array([float(rng.integers(1, 2147483647))])
        for _ in range(self.sweeps if len(state.store) else 0):
            _sweep(cached_blocks(state.store, rng), state.w, state.store.sets, state.ridge, random)
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.age)):
            _absorb(cuts, state.w, state.store.sets, state.ridge, self.delta, random)
        state.epochs += 1
