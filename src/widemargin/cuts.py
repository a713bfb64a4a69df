"""Cuts, the only thing that passes from structures to solvers, and the working sets they are kept in.

A cut (block i, a, b) is a linear lower bound on the slack of its block, valid for every w:

    ξ_i(w) ≥ b − ⟨w, a⟩

`Cuts` is a batch of them as an oracle returns it. `CutStore` holds the working sets of all blocks, with a dual
coefficient α per cut, in one growing pool: kernels add and remove cuts in place, Python makes room before each
kernel (`reserve`) and squeezes out the gaps that departed cuts leave (`compact`).
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.sparse import Rows, dot, stack


class Cuts(NamedTuple):
    """A batch of cuts: cut k bounds the slack of block[k] by b[k] − ⟨w, row k of a⟩."""

    block: IntVector
    b: FloatVector
    a: Rows


def concatenate(parts: list[Cuts]) -> Cuts:
    """The cuts of all `parts`, in order."""
    if len(parts) == 1:
        return parts[0]
    return Cuts(
        np.concatenate([part.block for part in parts]),
        np.concatenate([part.b for part in parts]),
        stack([part.a for part in parts]),
    )


class WorkingSets(NamedTuple):
    """The arrays of a `CutStore`, as kernels see them.

    The cuts of block i form a list, newest first: first[i], then after[·], until −1. A cut lives in a slot with its
    b, α, ‖a‖² and its range [begin, end) of the pooled entries. Vacant slots form a list through `after` as well.
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
    indices: IntVector
    values: FloatVector
    tally: LongVector


# Entries of `tally`: the head of the vacant slots, slots ever used, pool entries ever used, and those still alive.
VACANT, SLOTS, USED, ALIVE = range(4)


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
        norm += a.values[k] * a.values[k]
    tally[USED] += end - begin
    tally[ALIVE] += end - begin
    sets.b[slot], sets.alpha[slot], sets.norm[slot] = b, 0.0, norm
    sets.begin[slot], sets.end[slot] = start, start + end - begin
    sets.after[slot] = sets.first[block]
    sets.first[block] = slot
    sets.size[block] += 1
    return slot


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
def drop_idle(sets: WorkingSets, block: int) -> None:
    """Remove the block's cuts whose α is zero."""
    before, slot = -1, sets.first[block]
    while slot >= 0:
        following = sets.after[slot]
        if sets.alpha[slot] > 0.0:
            before = slot
        else:
            if before >= 0:
                sets.after[before] = following
            else:
                sets.first[block] = following
            sets.after[slot] = sets.tally[VACANT]
            sets.tally[VACANT] = slot
            sets.tally[ALIVE] -= sets.end[slot] - sets.begin[slot]
            sets.size[block] -= 1
        slot = following


@kernel
def _move_entries(sets: WorkingSets, indices: IntVector, values: FloatVector) -> None:
    write = 0
    for block in range(len(sets.first)):
        slot = sets.first[block]
        while slot >= 0:
            begin, length = sets.begin[slot], sets.end[slot] - sets.begin[slot]
            for k in range(length):
                indices[write + k] = sets.indices[begin + k]
                values[write + k] = sets.values[begin + k]
            sets.begin[slot], sets.end[slot] = write, write + length
            write += length
            slot = sets.after[slot]
    sets.tally[USED] = write


@kernel
def _linear_term(sets: WorkingSets) -> float:
    total = 0.0
    for block in range(len(sets.first)):
        slot = sets.first[block]
        while slot >= 0:
            total += sets.b[slot] * sets.alpha[slot]
            slot = sets.after[slot]
    return total


@kernel
def _combine(sets: WorkingSets, w: FloatVector) -> None:
    for block in range(len(sets.first)):
        slot = sets.first[block]
        while slot >= 0:
            for k in range(sets.begin[slot], sets.end[slot]):
                w[sets.indices[k]] += sets.alpha[slot] * sets.values[k]
            slot = sets.after[slot]


@kernel
def violation(sets: WorkingSets, slot: int, w: FloatVector) -> float:
    """b − ⟨w, a⟩ of the cut in `slot`."""
    return sets.b[slot] - dot(sets.indices, sets.values, sets.begin[slot], sets.end[slot], w)


class CutStore:
    """The working sets of `n_blocks` blocks."""

    def __init__(self, n_blocks: int) -> None:
        slots = 16
        self.sets = WorkingSets(
            first=np.full(n_blocks, -1, dtype=np.int32),
            size=np.zeros(n_blocks, dtype=np.int32),
            mass=np.zeros(n_blocks),
            after=np.empty(slots, dtype=np.int32),
            b=np.empty(slots),
            alpha=np.empty(slots),
            norm=np.empty(slots),
            begin=np.empty(slots, dtype=np.int64),
            end=np.empty(slots, dtype=np.int64),
            indices=np.empty(64, dtype=np.int32),
            values=np.empty(64),
            tally=np.array([-1, 0, 0, 0], dtype=np.int64),
        )

    def __len__(self) -> int:
        """How many cuts are kept."""
        return int(self.sets.size.sum())

    @property
    def n_entries(self) -> int:
        """How many non-zeros the kept cuts have."""
        return int(self.sets.tally[ALIVE])

    @property
    def linear_term(self) -> float:
        """Σ bα, the linear part of the dual."""
        return float(_linear_term(self.sets))

    def combination(self, n_weights: int) -> FloatVector:
        """Σ αa, summed afresh."""
        w = np.zeros(n_weights)
        _combine(self.sets, w)
        return w

    def reserve(self, cuts: Cuts) -> None:
        """Make room for `cuts`, so that a kernel may add any of them.

        Growing is by half, and at first to what all blocks would need if their cuts were like these: memory that is
        never written to costs nothing, copying does.
        """
        sets, (_, slots, used, alive) = self.sets, self.sets.tally.tolist()
        more_slots, more = len(cuts.b), int(cuts.a.indptr[-1])
        batches = len(sets.first) / max(more_slots, 1)
        if slots + more_slots > len(sets.b):
            room = max((slots + more_slots) * 3 // 2, len(sets.first))
            per_slot = ("after", "b", "alpha", "norm", "begin", "end")
            sets = sets._replace(**{name: _enlarged(getattr(sets, name), room) for name in per_slot})
        if used + more > len(sets.indices):
            room = max((alive + more) * 3 // 2, int(more * batches))
            if used > alive * 5 // 4:
                sets = compact(sets, room)
            else:
                sets = sets._replace(indices=_enlarged(sets.indices, room), values=_enlarged(sets.values, room))
        self.sets = sets


def compact(sets: WorkingSets, room: int) -> WorkingSets:
    """The same working sets with the entries of departed cuts squeezed out, in arrays of `room` entries."""
    indices, values = np.empty(room, dtype=np.int32), np.empty(room)
    _move_entries(sets, indices, values)
    return sets._replace(indices=indices, values=values)


def _enlarged(array: AnyArray, size: int) -> AnyArray:
    enlarged = np.empty(size, dtype=array.dtype)
    enlarged[: len(array)] = array
    return enlarged
