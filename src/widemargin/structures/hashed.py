"""Hashed features of parts: Fᵀ, from coefficients of parts to coefficients of weights, ψ = Σ_p z_p φ_p.

A feature is a slot of one table of weights (`text.roles`). A feature with labels has a *run*: a weight for each label,
from its slot on. Kernels of a task enumerate the slots of its parts; this module adds up their coefficients.

Sparse coefficients (gold minus an output) become entries of a draft, which are coalesced at the end (`push`). If every
part has a coefficient, a sentence has hundreds of thousands of additions. They go to a vector as long as w (`Sink`),
which also notes where anything was added; only these places are read and cleared afterwards. A sink without a vector
only notes which weights the features have: as the runs of features may overlap, these are all blocks of `BLOCK`
weights that contain any of them, each block once.
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import BLOCK
from widemargin.core.sparse import NO_ROWS, Draft, Rows
from widemargin.structures.flat import NOTHING, Counts

NEGLIGIBLE = 1e-13
"""Coefficients up to this are left out: a weight loses less than it would to rounding, and almost all parts have a
probability near 0."""

NOWHERE = np.empty(0, dtype=np.int32)


class Found(NamedTuple):
    """Which blocks of weights were `seen`, and `blocks`: their numbers in the order in which they were found."""

    seen: BoolVector
    blocks: IntVector


def nothing_found(n_weights: int) -> Found:
    """No blocks yet."""
    n_blocks = -(-n_weights // BLOCK)
    return Found(np.zeros(n_blocks, dtype=np.bool_), np.empty(n_blocks + 1, dtype=np.int32))


@kernel
def note(begin: int, width: int, found: Found, n: int) -> int:
    """Append the blocks of `width` weights from `begin` on to the first `n` found; return how many there are now.

    Blocks seen before are written, too, and the next overwrites them: a branch would be unpredictable.
    """
    for block in range(begin // BLOCK, (begin + width - 1) // BLOCK + 1):
        found.blocks[np.uint64(n)] = block
        n += 0 if found.seen[np.uint64(block)] else 1
        found.seen[np.uint64(block)] = True
    return n


@kernel
def block_runs(blocks: IntVector, n_weights: int) -> LongMatrix:
    """The weights of blocks as runs [begin, end)."""
    runs = np.empty((len(blocks), 2), dtype=np.int64)
    for k in range(len(blocks)):
        runs[k, 0] = int(blocks[k]) * BLOCK
        runs[k, 1] = min(runs[k, 0] + BLOCK, n_weights)
    return runs


@kernel
def add_rows(table: FloatVector, slots: IntVector, row: FloatVector) -> None:
    """row[l] += Σ over slots of table[slot + l].

    Fetching takes most of the time. Several features are added at once because their fetches overlap.
    """
    # Unsigned indices skip the check for negative ones.
    k, n = 0, len(slots)
    while k + 4 <= n:
        a, b, c, d = int(slots[k]), int(slots[k + 1]), int(slots[k + 2]), int(slots[k + 3])
        for label in range(len(row)):
            two = table[np.uint64(a + label)] + table[np.uint64(b + label)]
            row[np.uint64(label)] += two + (table[np.uint64(c + label)] + table[np.uint64(d + label)])
        k += 4
    if k + 2 <= n:
        a, b = int(slots[k]), int(slots[k + 1])
        for label in range(len(row)):
            row[np.uint64(label)] += table[np.uint64(a + label)] + table[np.uint64(b + label)]
        k += 2
    if k < n:
        a = int(slots[k])
        for label in range(len(row)):
            row[np.uint64(label)] += table[np.uint64(a + label)]


@kernel
def push(slots: IntVector, further: int, value: float, draft: Draft, write: int) -> int:
    """Append `value` at the weights slots + `further`; return where the entries end. There must be room."""
    # Local names for the arrays, here and below: a tuple's fields would cost reference counts for every entry.
    indices, values = draft.indices, draft.values
    for k in range(len(slots)):
        indices[np.uint64(write + k)], values[np.uint64(write + k)] = slots[k] + further, value
    return write + len(slots)


class Sink(NamedTuple):
    """Sums up the features of all parts of an example.

    `total` has the length of w, and is zero between examples. The first counts[0] entries of `single` are the single
    weights with an addition; the first counts[1] entries of `runs` are the slots whose runs have one. If `total` is
    empty, nothing is added, and only blocks of weights are noted: the first counts[0] of `found`.
    """

    total: FloatVector
    single: IntVector
    runs: IntVector
    counts: LongVector
    found: Found


NO_SINK = Sink(NOTHING, NOWHERE, NOWHERE, np.zeros(2, dtype=np.int64), nothing_found(0))


@kernel
def matters(row: FloatVector) -> bool:
    """Whether any coefficient of a row is more than negligible."""
    largest = 0.0
    for value in row:
        largest = max(largest, abs(value))
    return largest > NEGLIGIBLE


@kernel
def add_single(slots: IntVector, value: float, sink: Sink) -> None:
    """Add to these weights, or note them."""
    total, single, n = sink.total, sink.single, sink.counts[0]
    if abs(value) <= NEGLIGIBLE:
        return
    if len(total) == 0:
        for slot in slots:
            n = note(slot, 1, sink.found, n)
    else:
        for slot in slots:
            j = np.uint64(slot)
            if total[j] == 0.0:
                single[n] = slot
                n += 1
            total[j] += value
    sink.counts[0] = n


@kernel
def add_runs(slots: IntVector, row: FloatVector, sink: Sink) -> None:
    """Add to the weights of features for all labels, or note them."""
    total, runs, n = sink.total, sink.runs, sink.counts[1]
    if len(total) == 0:
        for slot in slots:
            sink.counts[0] = note(slot, len(row), sink.found, sink.counts[0])
        return
    for slot in slots:
        runs[n] = slot
        n += 1
        for label in range(len(row)):
            total[np.uint64(slot + label)] += row[label]
    sink.counts[1] = n


@kernel
def _move(places: IntVector, width: int, total: FloatVector, psi: Rows, write: int) -> int:
    """Move the sums that are not negligible, of `width` weights from each place on, to ψ; return where they end."""
    indices, values = psi.indices, psi.values
    for place in places:
        for k in range(width):
            j = np.uint64(place + k)
            if abs(total[j]) > NEGLIGIBLE:
                indices[np.uint64(write)], values[np.uint64(write)] = place + k, total[j]
                write += 1
            total[j] = 0.0
    return write


@kernel
def flush(sink: Sink, width: int, psi: Rows, k: int) -> None:
    """Move all sums to row k of ψ, with runs of this width; a sink without a vector keeps its notes."""
    if len(sink.total) == 0:
        return
    write = _move(sink.single[: sink.counts[0]], 1, sink.total, psi, psi.indptr[k])
    psi.indptr[k + 1] = _move(sink.runs[: sink.counts[1]], width, sink.total, psi, write)
    sink.counts[:] = 0


class HashedFeatures:
    """Base of hashed `structures.parts.Features`; subclasses define `visit`, which enumerates all features of examples.

    Parameters
    ----------
    sizes : how large each example is
    n_weights : the length of w
    width : how many weights a run has
    """

    n_shared = 0
    """How many parts all examples share."""

    def __init__(self, sizes: LongVector, n_weights: int, width: int) -> None:
        self.sizes, self.n_weights, self.width = sizes, n_weights, width
        self._spare: list[Sink] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_spare": []}  # scratch does not travel to other processes

    def visit(self, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
        """Add the features of all parts, times their coefficients, to the sink, and flush it after each example."""
        raise NotImplementedError

    def n_parts(self, batch: IntVector) -> LongVector:
        """How many parts of its own each example has."""
        raise NotImplementedError

    @property
    def places(self) -> tuple[LongVector, LongVector]:
        """Upper bounds of the numbers of single weights and of runs of each example."""
        raise NotImplementedError

    def expected_bytes(self) -> FloatVector:
        """The most memory of `gather_counts` for each example."""
        single, runs = self.places
        entries = np.minimum(single + runs * self.width, self.n_weights)
        return BYTES_PER_ENTRY * entries + 4.0 * (single + runs)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        single, runs = (each[batch] for each in self.places)
        # Each running thread needs a sink of its own; sinks are reused, since clearing a new vector takes long.
        try:
            sink = self._spare.pop()
        except IndexError:
            sink = NO_SINK._replace(total=np.zeros(self.n_weights))
        if len(sink.single) < single.max(initial=0):
            sink = sink._replace(single=np.empty(single.max(), dtype=np.int32))
        if len(sink.runs) < runs.max(initial=0):
            sink = sink._replace(runs=np.empty(runs.max(), dtype=np.int32))
        # Room for the most entries costs little: memory that is never written to is never allocated.
        room = int(np.minimum(single + runs * self.width, self.n_weights).sum())
        psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
        self.visit(batch, counts, sink._replace(counts=np.zeros(2, dtype=np.int64)), psi)
        self._spare.append(sink)
        end = psi.indptr[-1]
        return Rows(psi.indptr, psi.indices[:end], psi.values[:end])

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all features of the batch's parts."""
        sink = NO_SINK._replace(counts=np.zeros(2, dtype=np.int64), found=nothing_found(self.n_weights))
        n_parts = self.n_parts(batch)  # all examples share one vector, in which every part counts once
        ones = np.ones(n_parts.max(initial=0)), np.ones((len(batch), self.n_shared))
        self.visit(batch, Counts(np.zeros_like(n_parts), self.sizes[batch], *ones), sink, NO_ROWS)
        return block_runs(sink.found.blocks[: sink.counts[0]], self.n_weights)
