"""The 1-slack cutting plane method (Joachims et al. 2009), with its cache of cuts per example.

Each round adds the plane of the risk at w (`planes`) and solves the small quadratic programme over all planes; its
value bounds P from below, and its optimum is the next w. Planes that have been idle for 50 rounds are removed. The last
few cuts of every example are cached. A plane made of them needs no oracle, and such planes are added as long as they
cut off enough of the model. The risk may be that of the hinge, its square, or smooth.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts, WorkingSets, add, find, remove, violation
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import number, start_weights
from widemargin.core.sparse import add_scaled
from widemargin.solvers.planes import FLOOR, PRECISION, Plane, Planes, PlaneSolver, PlaneState, plane_at


@dataclass(slots=True)
class OneSlackState(PlaneState):
    """Planes, the gap after the last round, and the cached cuts of every example."""

    gap: float = np.inf
    cache: CutStore = field(default_factory=lambda: CutStore(0))


@kernel
def _remember(cuts: Cuts, sets: WorkingSets, most: int) -> None:
    """Put the cuts at the heads of their blocks; each block keeps its `most` newest ones."""
    for k in range(len(cuts.b)):
        i, begin, end = cuts.block[k], cuts.a.indptr[k], cuts.a.indptr[k + 1]
        if end > begin and find(sets, i, cuts.b[k], cuts.a, begin, end) < 0:
            slot = add(sets, i, cuts.b[k], cuts.a, begin, end)
            if sets.size[i] > most:
                while sets.after[slot] >= 0:
                    slot = sets.after[slot]
                remove(sets, i, slot)


@kernel
def _cached_risk(
    sets: WorkingSets,
    w: FloatVector,
    c: FloatVector,
    squared: bool,
    a: FloatVector,
    slopes: FloatVector,
    b: FloatVector,
) -> float:
    """The risk at w according to the cached cuts, with minus its slope added to `a`; `c` is C c_i.

    The slope of each block's loss and the b of its worst cut are written to `slopes` and `b`.
    """
    total = 0.0
    for i in range(len(c)):
        # From 0, the slack of gold: a block whose cuts are all below it adds nothing to the plane.
        worst, slack = -1, 0.0
        slot = sets.first[i]
        while slot >= 0:
            value = violation(sets, slot, w)
            if value > slack:
                worst, slack = slot, value
            slot = sets.after[slot]
        # Only the worst cut of a block is the slope of its loss at w.
        if worst >= 0:
            total += c[i] * (slack * slack if squared else slack)
            step = 2.0 * c[i] * slack if squared else c[i]
            add_scaled(step, sets.indices, sets.values, sets.begin[worst], sets.end[worst], a)
            slopes[i], b[i] = step, sets.b[worst]
    return total


def _cached_plane(problem: Problem, state: OneSlackState) -> Plane:
    """The plane at w that the cached cuts make."""
    a, slopes, b = np.zeros(problem.n_weights), np.zeros(problem.n_blocks), np.ones(problem.n_blocks)
    squared = problem.loss == "squared_hinge"
    value = _cached_risk(state.cache.sets, state.w, problem.C * problem.c, squared, a, slopes, b)
    parts = slopes * b if problem.objective.times_error else slopes
    at_zero = inner(slopes, b) - (value if squared else 0.0)
    return Plane(value, at_zero, a, parts if problem.keep_parts else np.empty(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSlack(PlaneSolver):
    """1-slack cutting planes.

    Parameters
    ----------
    cache : how many cuts of every example to cache; with 0 every plane comes from the oracle
    cached_rounds : at most this many planes in a row are made without the oracle
    share : such planes are made only while they cut off more than this share of the gap
    """

    cache: int = number(5)
    cached_rounds: int = number(20)
    share: float = number(0.1, above=0.0, most=1.0)

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> OneSlackState:
        """A state at `w` without planes, or with the planes in `cuts`."""
        store = CutStore(1, problem.cut_memory / 2, products=True)
        cache = CutStore(problem.n_blocks, problem.cut_memory / 2)
        state = OneSlackState(start_weights(problem, w, cuts), store, cache=cache)
        if isinstance(cuts, Planes):
            if cuts.cache is not None and self.cache:
                _remember(cache.reserve(cuts.cache.everything()[1]), cache.sets, self.cache)
            if state.adopt(cuts, problem) and len(store):
                state.solve(FLOOR * max(float(problem.c.sum() * problem.C), 1.0))
        return state

    def epoch(self, problem: Problem, state: OneSlackState, rng: np.random.Generator) -> None:
        """Add planes from the cache while they are worthwhile, then one from the oracle."""
        model = 0.0
        for _ in range(self.cached_rounds if len(state.cache) else 0):
            plane = _cached_plane(problem, state)
            if plane.value - model <= self.share * state.gap:
                break
            state.add(plane)
            model = state.solve(PRECISION * (plane.value - model))

        def remember(cuts: Cuts) -> None:
            if self.cache:
                _remember(state.cache.reserve(cuts), state.cache.sets, self.cache)

        plane = plane_at(problem, state.w, remember)
        state.gap = max(problem.regulariser(state.w) + plane.value - state.bound, 0.0)
        state.add(plane)
        state.solve(max(PRECISION * state.gap, FLOOR * (state.bound + plane.value)))

    def weights(self, state: OneSlackState) -> FloatVector:
        """The optimum of the model."""
        return state.w

    def warm_start(self, problem: Problem, state: OneSlackState) -> Planes:
        """The planes and the cached cuts."""
        return state.warm_start(problem, state.w, state.cache)

    def kept_cuts(self, state: OneSlackState) -> CutStore:
        """The cached cuts."""
        return state.cache
