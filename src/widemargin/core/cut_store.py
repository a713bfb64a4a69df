"""The working sets of all blocks, within a memory budget.

Kernels add and remove cuts in place (`cuts`); before each kernel runs, Python makes room (`reserve`). When the budget
is spent, cuts with α = 0 go first. Then the cuts of a block are merged: their mean, weighted by α, is a valid cut, and
giving it the sum of their α changes neither w nor the dual. If even that frees too little, new cuts are turned away:
training slows down but stays correct.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.cuts import (
    ALIVE,
    PER_SLOT,
    PLACES,
    SLOTS,
    USED,
    Cuts,
    WorkingSets,
    add,
    add_products,
    drop_idle,
    find,
    violation,
)
from widemargin.core.products import inner, lookup_for
from widemargin.core.sparse import Rows, add_scaled, boundaries, coalesce, new_table, plus, take_rows

BYTES_PER_ENTRY = 12
MERGE_SHARE = 8  # merging works in an eighth of the pool


@kernel
def _move_down(sets: WorkingSets, slots: LongVector) -> None:
    """Close the gaps between the entries of `slots`, which are sorted by where their entries begin."""
    write = 0
    for slot in slots:
        begin, shift = sets.begin[slot], sets.begin[slot] - write
        for k in range(begin, sets.tail[slot]):
            sets.indices[k - shift] = sets.indices[k]
            sets.values[k - shift] = sets.values[k]
        sets.begin[slot] -= shift
        sets.end[slot] -= shift
        sets.tail[slot] -= shift
        write = sets.tail[slot]
    sets.tally[USED] = write


@kernel
def _combine(sets: WorkingSets, w: FloatVector) -> None:
    for block in range(len(sets.first)):
        slot = sets.first[block]
        while slot >= 0:
            add_scaled(sets.alpha[slot], sets.indices, sets.values, sets.begin[slot], sets.end[slot], w)
            slot = sets.after[slot]


@kernel
def _slacks(sets: WorkingSets, blocks: IntVector, w: FloatVector) -> FloatVector:
    most = np.full(len(blocks), -np.inf)
    for k in range(len(blocks)):
        slot = sets.first[blocks[k]]
        while slot >= 0:
            most[k] = max(most[k], violation(sets, slot, w))
            slot = sets.after[slot]
    return most


@kernel
def _add_all(sets: WorkingSets, cuts: Cuts, alpha: FloatVector, products: bool, idle: bool, once: bool) -> None:
    """Add the cuts with a positive α, and the others if `idle`; if `once`, only the α of those that are there."""
    lookup = lookup_for(cuts.a)
    for k in range(len(alpha)):
        if alpha[k] > 0.0 or idle:
            i, begin, end = cuts.block[k], cuts.a.indptr[k], cuts.a.indptr[k + 1]
            slot = find(sets, i, cuts.b[k], cuts.a, begin, end) if once else -1
            if slot < 0:
                slot = add(sets, i, cuts.b[k], cuts.a, begin, end)
                if products:
                    add_products(sets, slot, lookup)
            sets.alpha[slot] += alpha[k]
            sets.mass[i] += alpha[k]


@kernel
def _merge(sets: WorkingSets, block: int) -> None:
    """Replace all cuts of the block by their mean; each has α > 0, and the pool has room to copy their entries."""
    start, mass, b = sets.tally[USED], 0.0, 0.0
    slot = sets.first[block]
    while slot >= 0:
        mass += sets.alpha[slot]
        slot = sets.after[slot]
    # The mean goes behind the pool in use: the cuts that it is made of must stay until it is complete.
    write, slot = start, sets.first[block]
    while slot >= 0:
        share = sets.alpha[slot] / mass
        b += share * sets.b[slot]
        for k in range(sets.begin[slot], sets.end[slot]):
            sets.indices[write] = sets.indices[k]
            sets.values[write] = share * sets.values[k]
            write += 1
        sets.alpha[slot] = 0.0
        slot = sets.after[slot]
    end = coalesce(sets.indices, sets.values, start, write, start, new_table(write - start))
    drop_idle(sets, block)
    # The merged entries already lie where `add` copies them to, so it leaves them as they are and fills in the rest.
    slot = add(sets, block, b, Rows(sets.begin, sets.indices, sets.values), start, end)
    sets.alpha[slot] = mass
    sets.place[slot] = 0


@kernel
def _merge_some(sets: WorkingSets, order: LongVector, entries: LongVector, done: int, target: int) -> int:
    """Merge blocks in this order, until the pool is small enough or has no room to merge; return how many are done."""
    while done < len(order) and sets.tally[ALIVE] > target:
        if sets.tally[USED] + entries[order[done]] > len(sets.indices):
            break
        _merge(sets, order[done])
        done += 1
    return done


@kernel
def _without_idle(sets: WorkingSets) -> LongVector:
    """Drop all idle cuts; return the number of entries of each block that has several cuts to merge, 0 for others."""
    entries = np.zeros(len(sets.first), dtype=np.int64)
    for block in range(len(entries)):
        drop_idle(sets, block)
        slot = sets.first[block] if sets.size[block] > 1 else -1
        while slot >= 0:
            entries[block] += sets.tail[slot] - sets.begin[slot]
            slot = sets.after[slot]
    return entries


@kernel
def _listed_slots(sets: WorkingSets) -> tuple[LongVector, IntVector]:
    """The slots of all cuts and the block of each, block by block, the oldest cut of each block first."""
    n = 0
    for size in sets.size:
        n += size
    slots, blocks, end = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32), 0
    for block in range(len(sets.first)):
        end += sets.size[block]
        # Backwards, since a block's list begins with its newest cut.
        k, slot = end, sets.first[block]
        while slot >= 0:
            k -= 1
            slots[k], blocks[k] = slot, block
            slot = sets.after[slot]
    return slots, blocks


class Renumbering(NamedTuple):
    """The numbers that the blocks and weights of a problem have in another one; −1 for those that are not in it.

    For each block of the other problem, `factors` holds the factor for its α, and `seen` the slack that the oracle last
    saw, NaN if unknown.
    """

    blocks: LongVector
    weights: LongVector
    n_weights: int
    factors: FloatVector
    seen: FloatVector


class CutStore:
    """The working sets of `n_blocks` blocks.

    Parameters
    ----------
    n_blocks : the number of blocks
    memory : how many megabytes the cuts may take
    products : also keep the products of the cuts of a block
    room : makes vectors for the entries of the cuts, which take most of the memory; None makes NumPy arrays

    The next run reads three attributes: `at_once`, whether the last run solved all blocks at once (`solvers.auto`);
    `origin`, the problem of the cuts (`core.contents.Origin`); `seen`, the slack of every block at Σ αa, NaN where the
    oracle has not been asked there, or None if no slack is known.
    """

    def __init__(
        self,
        n_blocks: int,
        memory: float = np.inf,
        *,
        products: bool = False,
        room: Callable[[int, Any], AnyArray] | None = None,
    ) -> None:
        slots = 16
        self.at_once, self.origin = False, None
        self.seen: FloatVector | None = None
        self.memory, self.products, self.room = memory, products, room
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
            tail=np.empty(slots, dtype=np.int64),
            place=np.zeros(slots, dtype=np.int32),
            indices=np.empty(64, dtype=np.int32),
            values=np.empty(64),
            tally=np.array([-1, 0, 0, 0, 0], dtype=np.int64),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but `room`, whose files belong to this process; copies are in memory."""
        return {**self.__dict__, "room": None}

    def __len__(self) -> int:
        """The number of cuts kept."""
        return int(self.sets.size.sum())

    @property
    def n_entries(self) -> int:
        """The number of pool entries that the cuts take."""
        return int(self.sets.tally[ALIVE])

    def n_entries_of(self, blocks: IntVector) -> float:
        """An estimate of the non-zeros in the cuts of `blocks`, from the average over all cuts."""
        return float(self.sets.size[blocks].sum() * self.n_entries / max(len(self), 1))

    @property
    def linear_term(self) -> float:
        """Σ bα, the linear part of the dual."""
        slots, _ = _listed_slots(self.sets)
        return float(inner(self.sets.b[slots], self.sets.alpha[slots]))

    def combination(self, n_weights: int) -> FloatVector:
        """Σ αa, summed afresh."""
        w = np.zeros(n_weights)
        _combine(self.sets, w)
        return w

    def slacks(self, blocks: IntVector, w: FloatVector) -> FloatVector:
        """The largest b − ⟨w, a⟩ among the cuts of each block; −∞ where there is none."""
        return _slacks(self.sets, blocks, w)

    def live(self) -> LongVector:
        """The slots in use, in the order of their entries in the pool."""
        slots, _ = _listed_slots(self.sets)
        return slots[np.argsort(self.sets.begin[slots], kind="stable")]

    def scale(self, factor: float) -> None:
        """Multiply every α by `factor`."""
        self.sets.alpha[: self.sets.tally[SLOTS]] *= factor
        self.sets.mass[:] *= factor

    def insert(self, cuts: Cuts, alpha: FloatVector, *, idle: bool = False, once: bool = False) -> None:
        """Add the `cuts` whose `alpha` is positive, each with its α; if `idle`, all of them.

        If `once`, cuts that the store has already only get more α.
        """
        kept = self.reserve(cuts)
        _add_all(self.sets, kept, alpha[: len(kept.b)], self.products, idle, once)

    def everything(self) -> tuple[LongVector, Cuts]:
        """The slots and copies of all cuts, block by block, the oldest of each block first."""
        sets = self.sets
        slots, blocks = _listed_slots(sets)
        lengths = sets.end[slots] - sets.begin[slots]
        indptr = boundaries(lengths)
        where = np.arange(indptr[-1]) + np.repeat(sets.begin[slots] - indptr[:-1], lengths)
        return slots, Cuts(blocks, sets.b[slots], Rows(indptr, sets.indices[where], sets.values[where]))

    def adopt(self, other: "CutStore", blocks: BoolVector) -> None:
        """Add copies of the cuts that another store has of these blocks, with their α."""
        slots, cuts = other.everything()
        if len(slots):
            self.insert(cuts, np.where(blocks[cuts.block], other.sets.alpha[slots], 0.0))

    def rebase(self, shifts: Rows, *, times_error: bool) -> "CutStore":
        """A store of the same cuts after φ(gold) of every block has moved by its row of `shifts`.

        A cut stays valid if its a moves by κ times that row, with κ = 1, or κ = b where a = bψ (`times_error`).
        """
        slots, cuts = self.everything()
        store = CutStore(len(self.sets.first), self.memory)
        store.at_once = self.at_once
        if len(slots):
            kappa = cuts.b if times_error else np.ones(len(slots))
            store.insert(cuts._replace(a=plus(cuts.a, kappa, shifts, cuts.block)), self.sets.alpha[slots], idle=True)
        return store

    def renumber(self, new: Renumbering) -> "CutStore":
        """A store for the new problem, with the cuts whose block and weights exist there, too."""
        slots, cuts = self.everything()
        store = CutStore(len(new.factors), self.memory)
        store.at_once, store.seen = self.at_once, new.seen
        if len(slots):
            block, indices = new.blocks[cuts.block], new.weights[cuts.a.indices]
            gone = np.repeat(np.arange(len(slots)), np.diff(cuts.a.indptr))[indices < 0]
            block[gone] = -1
            kept = np.flatnonzero(block >= 0)
            a = take_rows(cuts.a._replace(indices=indices.astype(np.int32)), kept)
            alpha = self.sets.alpha[slots[kept]] * new.factors[block[kept]]
            store.insert(Cuts(block[kept].astype(np.int32), cuts.b[kept], a), alpha, idle=True)
        return store

    def contents(self) -> dict[str, AnyArray]:
        """Copies of the arrays of the working sets, without unused room."""
        tally = self.sets.tally
        ends = dict.fromkeys(PER_SLOT, tally[SLOTS]) | dict.fromkeys(("indices", "values"), tally[USED])
        return {name: array[: ends.get(name)].copy() for name, array in self.sets._asdict().items()}

    def restore(self, contents: Mapping[str, AnyArray]) -> None:
        """Restore the state that `contents` returned."""
        # Copies own their memory, so they can grow.
        self.sets = WorkingSets(**{name: self._larger(name, array, len(array)) for name, array in contents.items()})

    def reserve(self, cuts: Cuts, *, shrunk: bool = False) -> Cuts:
        """Make room for `cuts` and return those that a kernel may now add: all, or as many as memory allows.

        Arrays grow by half, and at least to what all blocks would need if their cuts were like these: memory that is
        never written to costs nothing. A store that has just been `shrunk` cannot be shrunk further.
        """
        n = len(cuts.b)
        self._grow(PER_SLOT, int(self.sets.tally[SLOTS]) + n, len(self.sets.first))
        sets = self.sets
        more = int(cuts.a.indptr[-1])
        if self.products and n:
            most = int(sets.tally[PLACES]) + int(np.unique(cuts.block, return_counts=True)[1].max())
            more += n * most
        used, alive = int(sets.tally[USED]), int(sets.tally[ALIVE])
        limit = self._limit
        if used + more > min(len(sets.indices), limit):
            if not shrunk and (used > alive * 5 // 4 or used + more > limit):
                self.compact()
            if not shrunk and alive + more > limit:
                self._shrink(limit - more)
            alive = int(sets.tally[USED])
            if alive + more > limit:
                return _first(cuts, 0) if n <= 1 else self.reserve(_first(cuts, n // 2), shrunk=True)
            like_these = int(more * len(sets.first) / max(n, 1))
            self._grow(("indices", "values"), alive + more, min(like_these, limit), limit)
        return cuts

    def compact(self) -> None:
        """Close the gaps that removed cuts left in the pool."""
        _move_down(self.sets, self.live())

    @property
    def _limit(self) -> int:
        """The largest number of entries that the pool may have."""
        return int(min(self.memory * 2**20 / BYTES_PER_ENTRY, 2**40))

    def _grow(self, names: tuple[str, ...], needed: int, at_least: int, at_most: int = 2**60) -> None:
        for name in names:
            array: AnyArray = getattr(self.sets, name)
            if needed > len(array):
                size = min(max(needed * 3 // 2, at_least), max(at_most, needed))
                if size > 4 * len(array) or not array.flags.owndata:
                    self.sets = self.sets._replace(**{name: self._larger(name, array, size)})
                else:
                    # In place: the system moves pages instead of copying, so memory is not needed twice. But the new
                    # part is filled with 0, and so takes memory at once.
                    array.resize(size, refcheck=False)

    def _larger(self, name: str, array: AnyArray, size: int) -> AnyArray:
        """A copy with room for more."""
        make = self.room if self.room is not None and name in ("indices", "values") else np.empty
        larger = make(size, array.dtype)
        larger[: len(array)] = array
        return larger

    def _shrink(self, target: int) -> None:
        """Drop idle cuts, then merge the others, until the pool has at most `target` entries or no block is left."""
        entries = _without_idle(self.sets)
        self.compact()
        # An eighth below the target, so that the next batch does not have to shrink the pool again.
        target -= target // MERGE_SHARE
        order = np.argsort(-entries, kind="stable")
        order = order[entries[order] > 0]
        done = _merge_some(self.sets, order, entries, 0, target)
        while done < len(order) and self.sets.tally[ALIVE] > target:
            self.compact()
            self._grow(("indices", "values"), int(self.sets.tally[USED] + entries[order[done]]), 0)
            done = _merge_some(self.sets, order, entries, done, target)
        self.compact()


def _first(cuts: Cuts, n: int) -> Cuts:
    indptr = cuts.a.indptr[: n + 1]
    return Cuts(cuts.block[:n], cuts.b[:n], Rows(indptr, cuts.a.indices[: indptr[-1]], cuts.a.values[: indptr[-1]]))
