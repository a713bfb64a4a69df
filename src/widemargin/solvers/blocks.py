"""One block at a time, solved with all its cuts at once; shared by most dual solvers.

A visit gathers the cuts of block i with their products K, moves their α by `qp.pair_steps`, and applies the change to
w: a sparse product and a sparse sum for every cut, whatever the number of pair steps between them. A visit also yields
the block's gap and gain, at no extra cost:

    gap_i = C c_i ℓ(ξ_i) − Σ α(b − ⟨w, a⟩) + ½ ridge_i A_i² ≥ 0,   gain_i = the rise of D

Over cached cuts the gaps sum up to the gap of the cached problem; over the oracle's cuts they sum up to P − D, the
certificate.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.cuts import Cuts, WorkingSets, add, add_products, drop_idle, find, largest, product, violation
from widemargin.core.products import Lookup, lookup_for
from widemargin.core.sparse import add_scaled, dot
from widemargin.solvers.dual import Dual
from widemargin.solvers.qp import pair_steps


class Room(NamedTuple):
    """Scratch for one block: its slots, products, F at the start and now, α, and the gap and spread from `look`."""

    order: LongVector
    K: FloatMatrix
    before: FloatVector
    F: FloatVector
    alpha: FloatVector
    found: FloatVector


SLIGHT = 1e-12  # a violation this small may be rounding

# Entries of `Room.found`: the block's gap, and the largest difference F_p − F_q between its cuts, before it is solved.
GAP, SPREAD = range(2)


@kernel
def new_room(n: int) -> Room:
    """Scratch for a block of up to `n` cuts, plus a new one and the zero cut."""
    n += 2
    return Room(np.empty(n, dtype=np.int64), np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(2))


@kernel
def gather(i: int, dual: Dual, room: Room) -> int:
    """Lay out the cuts of block i; return their number."""
    sets = dual.sets
    n = 0
    slot = sets.first[i]
    while slot >= 0:
        room.order[n] = slot
        room.F[n] = violation(sets, slot, dual.w) - dual.ridge[i] * sets.mass[i]
        room.alpha[n] = sets.alpha[slot]
        room.K[n, n] = sets.norm[slot]
        for k in range(n):
            room.K[n, k] = room.K[k, n] = product(sets, room.order[k], room.order[n])
        n += 1
        slot = sets.after[slot]
    return n


@kernel
def append(slot: int, F: float, sets: WorkingSets, room: Room, n: int) -> int:
    """Lay out one more cut, newer than the `n` gathered ones; return the new number."""
    room.order[n], room.F[n], room.alpha[n], room.K[n, n] = slot, F, 0.0, sets.norm[slot]
    for k in range(n):
        room.K[n, k] = room.K[k, n] = product(sets, room.order[n], room.order[k])
    return n + 1


@kernel
def look(i: int, dual: Dual, room: Room, n: int, F_new: float) -> None:
    """Compute the gap and the spread of block i, given its `n` cuts and a new one that is violated by `F_new`."""
    ridge, mass = dual.ridge[i], dual.sets.mass[i]
    highest, inner = F_new, 0.0
    lowest = 0.0 if mass < dual.cap[i] else np.inf
    for k in range(n):
        highest = max(highest, room.F[k])
        if room.alpha[k] > 0.0:
            lowest = min(lowest, room.F[k])
            inner += room.alpha[k] * room.F[k]
    slack = max(highest + ridge * mass, 0.0)
    if ridge > 0.0:
        # C c_i ξ² − Σ α(b − ⟨w, a⟩) + ½ ridge A², where b − ⟨w, a⟩ = F + ridge A
        room.found[GAP] = slack * slack / (2.0 * ridge) - inner - 0.5 * ridge * mass * mass
    else:
        room.found[GAP] = dual.cap[i] * slack - inner
    room.found[SPREAD] = max(highest, 0.0) - lowest if lowest < np.inf else 0.0


@kernel
def solve_block(i: int, dual: Dual, room: Room, n: int, tolerance: float, max_steps: int) -> float:
    """Make pair steps on the `n` cuts laid out and apply the change to w; return the gain."""
    sets, ridge = dual.sets, dual.ridge[i]
    for k in range(n + 1):
        room.K[n, k] = room.K[k, n] = 0.0
        room.before[k] = room.F[k]
    # Row n is the zero cut, which holds the rest of the cap (`qp`).
    room.F[n], room.alpha[n] = 0.0, max(dual.cap[i] - sets.mass[i], 0.0)
    pair_steps(room.K, room.F, room.alpha, n, ridge, tolerance, max_steps)
    gain, mass, idle = 0.0, 0.0, False
    for k in range(n):
        slot = room.order[k]
        step = room.alpha[k] - sets.alpha[slot]
        if step != 0.0:
            # D is quadratic, so it rises by the step times the mean of its slopes at both ends.
            gain += step * 0.5 * (room.before[k] + room.F[k])
            add_scaled(step, sets.indices, sets.values, sets.begin[slot], sets.end[slot], dual.w)
            sets.alpha[slot] = room.alpha[k]
        mass += room.alpha[k]
        idle = idle or room.alpha[k] == 0.0
    sets.mass[i] = mass
    if idle:
        drop_idle(sets, i)
    return gain


@kernel
def meet(k: int, cuts: Cuts, dual: Dual, threshold: float, room: Room, lookup: Lookup) -> int:
    """Lay out the block of new cut k; if the block's spread exceeds `threshold`, admit the cut and lay it out, too.

    Returns the number of cuts laid out; −1 if the spread is below the threshold, so that nothing is to be solved.
    """
    i, begin, end = cuts.block[k], cuts.a.indptr[k], cuts.a.indptr[k + 1]
    n = gather(i, dual, room)
    F = cuts.b[k] - dot(cuts.a.indices, cuts.a.values, begin, end, dual.w) - dual.ridge[i] * dual.sets.mass[i]
    look(i, dual, room, n, F)
    dual.gap[i] = room.found[GAP]
    if room.found[SPREAD] <= threshold:
        return -1
    if F > 0.0 and find(dual.sets, i, cuts.b[k], cuts.a, begin, end) < 0:
        slot = add(dual.sets, i, cuts.b[k], cuts.a, begin, end)
        add_products(dual.sets, slot, lookup)
        n = append(slot, F, dual.sets, room, n)
    return n


@kernel
def room_for(i: int, dual: Dual, room: Room) -> Room:
    """`room`, or a larger one if block i with a new cut does not fit."""
    return room if dual.sets.size[i] + 2 <= len(room.order) else new_room(2 * dual.sets.size[i])


@kernel
def absorb(cuts: Cuts, dual: Dual, threshold: float, tolerance: float, max_steps: int) -> tuple[float, float]:
    """Visit the block of every new cut; if its spread exceeds `threshold`, admit the cut and solve the block.

    With `max_steps` 0 cuts are admitted and nothing is solved. Returns the gain of all visits and the largest spread.
    """
    lookup = lookup_for(cuts.a)
    room = new_room(largest(dual.sets))
    gain, spread = 0.0, 0.0
    for k in range(len(cuts.b)):
        room = room_for(cuts.block[k], dual, room)
        n = meet(k, cuts, dual, threshold, room, lookup)
        spread = max(spread, room.found[SPREAD])
        if n >= 0 and max_steps > 0:
            gain += solve_block(cuts.block[k], dual, room, n, tolerance, max_steps)
    return gain, spread


@kernel
def sweep(blocks: IntVector, dual: Dual, threshold: float, tolerance: float, max_steps: int) -> tuple[float, float]:
    """Like `absorb`, but visits `blocks` with their cached cuts only."""
    room = new_room(largest(dual.sets))
    gain, spread = 0.0, 0.0
    for i in blocks:
        n = gather(i, dual, room)
        look(i, dual, room, n, -np.inf)
        dual.gap[i] = room.found[GAP]
        spread = max(spread, room.found[SPREAD])
        if room.found[SPREAD] > threshold:
            gain += solve_block(i, dual, room, n, tolerance, max_steps)
    return gain, spread
