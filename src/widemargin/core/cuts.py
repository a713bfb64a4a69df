"""Cuts, the only thing that passes from structures to solvers, and the working sets that hold them.

A cut (block i, a, b) is a linear lower bound on the slack of its block, valid for every w:

    ξ_i(w) ≥ b − ⟨w, a⟩

`Cuts` is a batch of them as an oracle returns it. `WorkingSets` holds those that a solver keeps, with a dual
coefficient α per cut, in one pool that kernels add to and remove from in place; `cut_store` makes room for them.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.products import Lookup, dot_entered, enter, leave
from widemargin.core.sparse import Rows, dot, stack

NOTHING_MISSED: FloatVector = np.empty(0)


class Cuts(NamedTuple):
    """A batch of cuts: cut k bounds the slack of block[k] by b[k] − ⟨w, row k of a⟩.

    `excess` bounds from above how far the slack may exceed this, at the w where the cuts were found; empty if the
    oracle missed nothing.
    """

    block: IntVector
    b: FloatVector
    a: Rows
    excess: FloatVector = NOTHING_MISSED


def concatenate(parts: list[Cuts]) -> Cuts:
    """The cuts of all `parts`, in order."""
    if len(parts) == 1:
        return parts[0]
    return Cuts(
        np.concatenate([part.block for part in parts]),
        np.concatenate([part.b for part in parts]),
        stack([part.a for part in parts]),
        np.concatenate([part.excess for part in parts]),
    )


class WorkingSets(NamedTuple):
    """The arrays of a `CutStore`, as kernels see them.

    The cuts of block i form a list, newest first: first[i], then after[·], until −1. A cut lives in a slot with its
    b, α, ‖a‖² and its range [begin, end) of the pooled entries. Vacant slots form a list through `after` as well.

    Solvers that solve a block at once need the products ⟨a, a'⟩ of its cuts. Each cut then has a `place` in its block.
    Its product with an older cut of the block is in values[end:tail], at the older one's place.
    """

    first: IntVector
    size: IntVector
    mass: FloatVector
    after: IntVector
    b: FloatVector
    alpha: FloatVector
    norm: FloatVector
    begin: LongVector
    end: LongVector
    tail: LongVector
    place: IntVector
    indices: IntVector
    values: FloatVector
    tally: LongVector


PER_SLOT = ("after", "b", "alpha", "norm", "begin", "end", "tail", "place")

# Entries of `tally`: the head of the vacant slots, slots ever used, pool entries ever used, those still alive, and the
# largest number of places in any block.
VACANT, SLOTS, USED, ALIVE, PLACES = range(5)


@kernel
def largest(sets: WorkingSets) -> int:
    """The size of the largest working set."""
    most = 0
    for size in sets.size:
        most = max(most, size)
    return most


@kernel
def add(sets: WorkingSets, block: int, b: float, a: Rows, begin: int, end: int) -> int:
    """Put the cut (block, entries [begin:end] of a, b) at the head of its block with α = 0; return its slot."""
    tally = sets.tally
    # Vacant slots first, so that the arrays per slot grow with the cuts that are kept, not with all there ever were.
    slot = tally[VACANT]
    if slot >= 0:
        tally[VACANT] = sets.after[slot]
    else:
        slot = tally[SLOTS]
        tally[SLOTS] += 1
    start = tally[USED]
    norm = 0.0
    for k in range(begin, end):
        sets.indices[start + k - begin] = a.indices[k]
        sets.values[start + k - begin] = a.values[k]
    # In a loop of its own: one that also writes is vectorised only if the arrays turn out not to overlap, so its sums
    # would be rounded differently from run to run.
    for k in range(begin, end):
        norm += a.values[k] * a.values[k]
    # `USED` is where the next entries go; it differs from `ALIVE` by the gaps that removed cuts have left.
    tally[USED] += end - begin
    tally[ALIVE] += end - begin
    sets.b[slot], sets.alpha[slot], sets.norm[slot] = b, 0.0, norm
    sets.begin[slot], sets.end[slot], sets.tail[slot] = start, start + end - begin, start + end - begin
    sets.after[slot] = sets.first[block]
    sets.first[block] = slot
    sets.size[block] += 1
    return slot


@kernel
def take_place(sets: WorkingSets, newest: int) -> None:
    """Give the newest cut of a block the lowest place that no other cut has."""
    place = -1
    taken = True
    while taken:
        place += 1
        taken = False
        slot = sets.after[newest]
        while slot >= 0 and not taken:
            taken = sets.place[slot] == place
            slot = sets.after[slot]
    sets.place[newest] = place
    sets.tally[PLACES] = max(sets.tally[PLACES], place + 1)


@kernel
def keep_products(sets: WorkingSets, newest: int) -> None:
    """Extend the newest cut by the products that were written behind its entries, in order of place."""
    width = 0
    slot = sets.after[newest]
    while slot >= 0:
        width = max(width, sets.place[slot] + 1)
        slot = sets.after[slot]
    sets.tail[newest] = sets.end[newest] + width
    sets.tally[USED] += width
    sets.tally[ALIVE] += width


@kernel
def add_products(sets: WorkingSets, newest: int, lookup: Lookup) -> None:
    """Give the newest cut of a block, just put into the slot `newest` by `add`, its place and its products.

    `lookup` is large enough for the cut, and empty before and after.
    """
    take_place(sets, newest)
    begin, end = sets.begin[newest], sets.end[newest]
    enter(sets.indices, sets.values, begin, end, lookup)
    slot = sets.after[newest]
    while slot >= 0:
        sets.values[end + sets.place[slot]] = dot_entered(
            sets.indices, sets.values, sets.begin[slot], sets.end[slot], lookup
        )
        slot = sets.after[slot]
    leave(sets.indices, begin, end, lookup)
    keep_products(sets, newest)


@kernel
def product(sets: WorkingSets, newer: int, older: int) -> float:
    """⟨a, a'⟩ of two cuts of one block."""
    return sets.values[sets.end[newer] + sets.place[older]]


@kernel
def find(sets: WorkingSets, block: int, b: float, a: Rows, begin: int, end: int) -> int:
    """The slot of the block's cut equal to this one, or −1."""
    slot = sets.first[block]
    while slot >= 0:
        if sets.b[slot] == b and sets.end[slot] - sets.begin[slot] == end - begin:
            shift = sets.begin[slot] - begin
            k = begin
            while k < end and sets.indices[k + shift] == a.indices[k] and sets.values[k + shift] == a.values[k]:
                k += 1
            if k == end:
                return slot
        slot = sets.after[slot]
    return -1


@kernel
def _unlink(sets: WorkingSets, block: int, before: int, slot: int) -> None:
    """Take the cut in `slot` out of its block; it follows the cut in `before`, or comes first if that is −1."""
    if before >= 0:
        sets.after[before] = sets.after[slot]
    else:
        sets.first[block] = sets.after[slot]
    sets.after[slot] = sets.tally[VACANT]
    sets.tally[VACANT] = slot
    sets.tally[ALIVE] -= sets.tail[slot] - sets.begin[slot]
    sets.size[block] -= 1


@kernel
def drop_idle(sets: WorkingSets, block: int) -> None:
    """Remove the block's cuts whose α is zero."""
    before, slot = -1, sets.first[block]
    while slot >= 0:
        following = sets.after[slot]
        if sets.alpha[slot] > 0.0:
            before = slot
        else:
            _unlink(sets, block, before, slot)
        slot = following


@kernel
def remove(sets: WorkingSets, block: int, slot: int) -> None:
    """Remove one cut of the block; its α is zero."""
    before = -1
    other = sets.first[block]
    while other != slot:
        before, other = other, sets.after[other]
    _unlink(sets, block, before, slot)


@kernel
def violation(sets: WorkingSets, slot: int, w: FloatVector) -> float:
    """b − ⟨w, a⟩ of the cut in `slot`."""
    return sets.b[slot] - dot(sets.indices, sets.values, sets.begin[slot], sets.end[slot], w)
