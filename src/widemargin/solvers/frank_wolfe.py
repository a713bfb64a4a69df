"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, Algorithm 4) for the hinge.

The point of block i is w_i = Σ_y α_i(y) a_y with Σ_y α_i(y) = C c_i, the zero cut of the gold output included. The
oracle's cut (a, b) is the corner s = C c_i · a; with F = b − ⟨w, a⟩ of every cut and K their products,

    γ = clip( (C c_i F_s − Σ α F) / ‖w_i − s‖², 0, 1 );   α_i ← (1 − γ) α_i, and C c_i γ more on the new cut

is the best step towards it. w_i is kept as coefficients of the block's cuts, and w̄ = 2 / (t (t + 1)) Σ_k k w_k, the
weighted average of the iterates, lazily: with u = Σ_k k (k − 1) / 2 · (w_k − w_{k−1}), w̄ = w − 2u / (t (t + 1)).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core import Loss
from widemargin.core.cuts import Cuts, add, add_products, drop_idle, find, largest
from widemargin.core.problem import Problem
from widemargin.core.products import Lookup, lookup_for
from widemargin.core.solver import Solver, later, number
from widemargin.core.sparse import add_scaled, dot
from widemargin.solvers.blocks import Room, append, gather, new_room, room_for
from widemargin.solvers.dual import Dual, DualSolver, DualState, growing, new_cuts


@dataclass(slots=True)
class FrankWolfeState(DualState):
    """The dual state, `u`, and `t` steps."""

    u: FloatVector = later("n_weights")
    t: int = 0


@kernel
def _find_corner(k: int, cuts: Cuts, dual: Dual, room: Room, n: int, lookup: Lookup) -> int:
    """The row of the corner s among the `n` cuts laid out: new cut k, laid out as row n unless it is known; else −1."""
    i, begin, end, sets = cuts.block[k], cuts.a.indptr[k], cuts.a.indptr[k + 1], dual.sets
    F = cuts.b[k] - dot(cuts.a.indices, cuts.a.values, begin, end, dual.w)
    if F <= 0.0:
        return -1
    known = find(sets, i, cuts.b[k], cuts.a, begin, end)
    for row in range(n):
        if room.order[row] == known:
            return row
    slot = add(sets, i, cuts.b[k], cuts.a, begin, end)
    add_products(sets, slot, lookup)
    append(slot, F, sets, room, n)
    return n


@kernel
def _best_step(cap: float, room: Room, n: int, corner: int) -> float:
    """γ of the step towards all weight on the cut `corner`, or on the zero cut if that is −1."""
    F, alpha, K = room.F, room.alpha, room.K
    slope = cap * F[corner] if corner >= 0 else 0.0
    square = 0.0
    for k in range(n):
        slope -= alpha[k] * F[k]
        move = (cap if k == corner else 0.0) - alpha[k]
        for j in range(n):
            square += move * K[k, j] * ((cap if j == corner else 0.0) - alpha[j])
    if slope <= 0.0:
        return 0.0
    return min(slope / square, 1.0) if square > 0.0 else 1.0


@kernel
def _step(i: int, gamma: float, corner: int, dual: Dual, room: Room, n: int, u: FloatVector, t: int) -> None:
    """α_i ← (1 − γ) α_i, and C c_i γ more on the corner; w and u change with it, in step t."""
    sets, mass, lag = dual.sets, 0.0, 0.5 * t * (t - 1.0)
    for k in range(n):
        slot = room.order[k]
        step = gamma * ((dual.cap[i] if k == corner else 0.0) - room.alpha[k])
        if step != 0.0:
            add_scaled(step, sets.indices, sets.values, sets.begin[slot], sets.end[slot], dual.w)
            add_scaled(step * lag, sets.indices, sets.values, sets.begin[slot], sets.end[slot], u)
            # With γ = 1 all other α become exactly 0, not 0 up to rounding: `drop_idle` looks for zeros.
            sets.alpha[slot] = room.alpha[k] + step if gamma < 1.0 or k == corner else 0.0
        mass += sets.alpha[slot]
    sets.mass[i] = mass
    drop_idle(sets, i)


@kernel
def _visit(cuts: Cuts, dual: Dual, u: FloatVector, t: int) -> None:
    """The loop of Algorithm 4: a step for the block of every cut, after t steps."""
    lookup, room = lookup_for(cuts.a), new_room(largest(dual.sets))
    for k in range(len(cuts.b)):
        i = cuts.block[k]
        room = room_for(i, dual, room)
        n = gather(i, dual, room)
        corner = _find_corner(k, cuts, dual, room, n, lookup)
        n = max(n, corner + 1)
        gamma = _best_step(dual.cap[i], room, n, corner)
        _step(i, gamma, corner, dual, room, n, u, t + k + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrankWolfe(DualSolver):
    """BCFW with exact line search and weighted averaging.

    Parameters
    ----------
    average : return w̄ instead of the last w
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    average: bool = True
    batch_size: int | None = number(None, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge",)
    state: ClassVar[type[DualState]] = FrankWolfeState

    def epoch(self, problem: Problem, state: FrankWolfeState, rng: np.random.Generator) -> None:
        """One pass over the examples."""
        if not len(state.u):
            state.u = np.zeros(len(state.w))
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.age)):
            _visit(cuts, state.view, state.u, state.t)
            state.t += len(cuts.b)
        state.epochs += 1

    def weights(self, state: FrankWolfeState) -> FloatVector:
        """w̄, or w."""
        if not (self.average and state.t):
            return state.w
        return state.w - state.u * (2.0 / (state.t * (state.t + 1.0)))

    def on_a_part(self) -> Solver | None:
        """The same without averaging: the average of a part's own iterates belongs to no dual point of the whole."""
        return replace(self, average=False)
