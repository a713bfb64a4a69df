"""Features of dependency trees: θ = F w, from weights to the scores of arcs, labels and triples of tokens, and back.

Features are hashed into one table of 2^bits weights (`keys`). `scores` has the loops of F. Here are those of Fᵀ, from
coefficients of parts to coefficients of weights: ψ = Σ_p z_p φ_p.

Sparse coefficients, those of gold minus an output, become a row of entries, which are put together at the end. Where
every part has a coefficient, a sentence has n² arcs, so there are hundreds of thousands of additions. They go to a
vector as long as w. Where anything was added is noted; only these places are read, and cleared, afterwards. Features of
labels that look at one token alone are then added once per token, not once per arc. Coefficients below 10⁻¹² are left
out: a weight loses less than it would to rounding.

The features of a bare arc have the sum of the coefficients of its labels.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import NO_ROWS, Rows, coalesce, new_table, sums
from widemargin.errors import DataError
from widemargin.structures.dependencies import ArcCosts, Dependencies
from widemargin.structures.flat import NOTHING, Counts, Parts, Scores, longest_of
from widemargin.structures.parts import Summed
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeData,
    TreeKeys,
    add_between,
    arc_slots,
    between,
    direction_of,
    grandparent_slots,
    group_slots,
    label_slots,
    row_of,
    sibling_slots,
    slot_room,
    step_of,
    token_slots,
)
from widemargin.tasks.parse.scores import add_scores

NEGLIGIBLE = 1e-12
NOWHERE = np.empty(0, dtype=np.int32)
NO_BLOCKS = Found(np.empty(0, dtype=np.bool_), NOWHERE)


@kernel
def _room(data: TreeData, size: int, numbers: LongVector) -> int:
    """The most entries that these parts of a sentence have."""
    of_group, at_siblings, room = np.diff(data.keys.edges), size * size * data.n_labels, 0
    of_arc = 2 * of_group[ARC] + of_group[LABEL] + of_group[LABEL_HEAD] + of_group[LABEL_MODIFIER]
    for number in numbers:
        arc = number // data.n_labels
        if number < at_siblings:
            room += of_arc + 2 * of_group[BETWEEN] * abs(arc // size - arc % size)
        else:
            room += 2 * of_group[SIBLING if number < at_siblings + size**3 else GRANDPARENT]
    return room


@kernel
def _push(slots: IntVector, further: int, value: float, psi: Rows, write: int) -> int:
    """Append the weights `further` than the slots; return where they end."""
    # Arrays of their own, here and below: those of a tuple would be counted as used and unused for every entry.
    indices, values = psi.indices, psi.values
    for k in range(len(slots)):
        indices[np.uint64(write + k)], values[np.uint64(write + k)] = slots[k] + further, value
    return write + len(slots)


@kernel
def _push_parts(
    data: TreeData,
    first: int,
    size: int,
    numbers: LongVector,
    values: FloatVector,
    slots: IntVector,
    found: LongVector,
    psi: Rows,
    write: int,
) -> int:
    """Append the features of parts, each times its value; return where they end."""
    n_labels, j = data.n_labels, 0
    at_siblings = size * size * n_labels
    while j < len(numbers):
        number, value = numbers[j], values[j]
        if number < at_siblings:
            arc = number // n_labels
            h, m = arc // size, arc % size
            count = label_slots(data, first, h, m, slots)
            write = _push(slots[:count], number % n_labels, value, psi, write)
            # Gold and output follow one another: if only their labels differ, the features of the arc cancel out.
            if j + 1 < len(numbers) and numbers[j + 1] // n_labels == arc:
                j += 1
                write, value = _push(slots[:count], numbers[j] % n_labels, values[j], psi, write), value + values[j]
            if value != 0.0:
                count = arc_slots(data, first, h, m, found, between(data.keys, first, h, m, found), slots)
                write = _push(slots[:count], 0, value, psi, write)
        else:
            triple = (number - at_siblings) % size**3
            h, middle, last = triple // size**2, triple // size % size, triple % size
            if number < at_siblings + size**3:
                count = sibling_slots(data, first, h, middle, last, slots)
            else:
                count = grandparent_slots(data, first, h, middle, last, slots)
            write = _push(slots[:count], 0, value, psi, write)
        j += 1
    return write


@kernel
def _gather(data: TreeData, batch: IntVector, parts: Parts) -> Rows:
    """ψ for sparse coefficients of parts, as `structures.dependencies` numbers them."""
    room = most = longest = data.indptr[0]
    for k in range(len(batch)):
        size = data.indptr[batch[k] + 1] - data.indptr[batch[k]] + 1
        wanted = _room(data, size, parts.numbers[parts.indptr[k] : parts.indptr[k + 1]])
        room, most, longest = room + wanted, max(most, wanted), max(longest, size)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, (slots, found) = new_table(most), slot_room(data, longest)
    end = psi.indptr[0]
    for k in range(len(batch)):
        first, begin, last = data.indptr[batch[k]], parts.indptr[k], parts.indptr[k + 1]
        numbers, values = parts.numbers[begin:last], parts.values[begin:last]
        size = data.indptr[batch[k] + 1] - first + 1
        write = _push_parts(data, first, size, numbers, values, slots, found, psi, end)
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[k + 1] = end
    return Rows(psi.indptr, psi.indices[:end], psi.values[:end])


class Sink(NamedTuple):
    """Where the features of all parts of a sentence go.

    `total` has the length of w, and is zero between sentences. Something was added at the first counts[0] weights of
    `single`, and at as many weights as there are labels, from each of the first counts[1] slots of `runs` on. If it is
    empty, nothing is added: the first counts[0] blocks of weights that have been `found` are all that is asked for.
    """

    total: FloatVector
    single: IntVector
    runs: IntVector
    counts: LongVector
    found: Found


@kernel
def _add(slots: IntVector, value: float, sink: Sink) -> None:
    """Add to these weights, or note them."""
    total, single, n = sink.total, sink.single, sink.counts[0]
    if abs(value) < NEGLIGIBLE:
        return
    for slot in slots:
        if len(total) == 0:
            n = note(slot, 1, sink.found, n)
            continue
        j = np.uint64(slot)
        if total[j] == 0.0:
            single[n] = slot
            n += 1
        total[j] += value
    sink.counts[0] = n


@kernel
def _add_runs(slots: IntVector, row: FloatVector, sink: Sink) -> None:
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
def _add_arcs(
    data: TreeData,
    first: int,
    n: int,
    own: FloatVector,
    slots: IntVector,
    tokens: LongVector,
    nodes: FloatMatrix,
    sink: Sink,
) -> None:
    """Arcs with and without labels; coefficients of a token and a direction are summed up as in `scores`."""
    size, n_labels = n + 1, data.n_labels
    nodes[: 6 * size] = 0.0
    for h in range(size):
        for side in (1, -1):
            n_between, m = 0, h + side
            while 1 <= m <= n:
                row, total, largest = own[(h * size + m) * n_labels : (h * size + m + 1) * n_labels], 0.0, 0.0
                for value in row:
                    total, largest = total + value, max(largest, abs(value))
                if largest >= NEGLIGIBLE:
                    step = step_of(h, m)
                    modifier, head = nodes[6 * m + direction_of(step)], nodes[6 * h + 3 + direction_of(step)]
                    for label in range(n_labels):
                        modifier[label] += row[label]
                        head[label] += row[label]
                    count = group_slots(data, LABEL, row_of(first, h), first + m, 0, step, slots, 0)
                    _add_runs(slots[:count], row, sink)
                    _add(slots[: arc_slots(data, first, h, m, tokens, n_between, slots)], total, sink)
                n_between = add_between(data.keys, first + m, tokens, n_between)
                m += side
    for r in range(6 * size):
        count = token_slots(data, first, r // 6, r % 3, LABEL_MODIFIER if r % 6 < 3 else LABEL_HEAD, slots)
        _add_runs(slots[:count], nodes[r], sink)


@kernel
def _add_triples(data: TreeData, first: int, n: int, own: FloatVector, slots: IntVector, sink: Sink) -> None:
    """Siblings and grandparents."""
    size = n + 1
    for h in range(size):
        for m in range(1, size):
            for s in range(h, m, 1 if m > h else -1):
                value = own[(h * size + s) * size + m]
                if abs(value) >= NEGLIGIBLE:
                    _add(slots[: sibling_slots(data, first, h, s, m, slots)], value, sink)
            for g in range(size if data.n_triples > 1 and h > 0 and h != m else 0):
                value = own[size**3 + (h * size + m) * size + g]
                if (g < min(h, m) or g > max(h, m)) and abs(value) >= NEGLIGIBLE:
                    _add(slots[: grandparent_slots(data, first, h, m, g, slots)], value, sink)


@kernel
def _move(places: IntVector, width: int, total: FloatVector, psi: Rows, write: int) -> int:
    """Move the sums that are not zero, at `width` weights from each place on, to the entries; return their end."""
    indices, values = psi.indices, psi.values
    for place in places:
        for k in range(width):
            j = np.uint64(place + k)
            if total[j] != 0.0:
                indices[np.uint64(write)], values[np.uint64(write)] = place + k, total[j]
                write += 1
            total[j] = 0.0
    return write


@kernel
def _visit(data: TreeData, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
    """Write ψ for a coefficient of every part to the rows of `psi`, or note the weights that these have."""
    longest, write = longest_of(counts.sizes), 0
    (slots, tokens), nodes = slot_room(data, longest), np.empty((6 * (longest + 1), data.n_labels))
    for k in range(len(batch)):
        first, n, own = data.indptr[batch[k]], counts.sizes[k], counts.own[counts.starts[k] :]
        _add_arcs(data, first, n, own, slots, tokens, nodes, sink)
        if data.n_triples > 0:
            _add_triples(data, first, n, own[(n + 1) ** 2 * data.n_labels :], slots, sink)
        if len(sink.total) > 0:
            write = _move(sink.single[: sink.counts[0]], 1, sink.total, psi, write)
            write = _move(sink.runs[: sink.counts[1]], data.n_labels, sink.total, psi, write)
            psi.indptr[k + 1] = write
            sink.counts[:] = 0


class TreeFeatures:
    """The features of sentences (`structures.parts.Features`).

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : of the features of arcs
    hash_bits : features share 2^hash_bits weights
    structure : the kind of trees
    n_weights : the length of the weight vector
    heads : of the gold arcs, from which the sizes of feature differences are estimated; or none
    work : the estimated decoding time of each sentence in microseconds
    """

    def __init__(
        self,
        indptr: LongVector,
        keys: TreeKeys,
        hash_bits: int,
        structure: Dependencies,
        n_weights: int,
        heads: IntVector,
        work: FloatVector,
    ) -> None:
        self.data = TreeData(indptr, keys, (1 << hash_bits) - 1, structure.n_labels, structure.n_triples)
        self._structure = structure
        self.n_weights, self.sizes, self.heads = n_weights, np.diff(indptr), heads
        self.work: FloatVector | None = work
        self._groups = np.diff(keys.edges)
        self._spare: list[Sink] = []

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        n_tokens = int(self.data.indptr[-1])
        for role in ("head", "modifier", "other"):
            rows = len(getattr(self.data.keys, role))
            if rows != n_tokens + 1:
                raise DataError(f"{n_tokens} tokens and the root need a row of keys each; there are {rows} as {role}")

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features."""
        add_scores(self.data, w, batch, room, NOWHERE, NOTHING, NOTHING, NOWHERE)
        return room

    def best_labels(
        self, w: FloatVector, batch: IntVector, costs: ArcCosts, scales: FloatVector, room: Scores
    ) -> IntVector:
        """Add the scores, with costs, of arcs with their best labels to trees without labels; return these labels.

        Each sentence has (n + 1)² labels, by head, then by modifier. To keep all scores would take more time.
        """
        labels = np.empty(((self.sizes[batch] + 1) ** 2).sum(), dtype=np.int32)
        add_scores(self.data, w, batch, room, costs.gold, costs.costs, scales, labels)
        return labels

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.data, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        single, runs = (each[batch] for each in self._places)
        # Threads that run at the same time need their own; it is handed on, since clearing it takes long.
        nothing = Sink(NOTHING, NOWHERE, NOWHERE, np.zeros(2, dtype=np.int64), NO_BLOCKS)
        sink = self._spare.pop() if self._spare else nothing._replace(total=np.zeros(self.n_weights))
        if len(sink.single) < single.max(initial=0):
            sink = sink._replace(single=np.empty(single.max(), dtype=np.int32))
        if len(sink.runs) < runs.max(initial=0):
            sink = sink._replace(runs=np.empty(runs.max(), dtype=np.int32))
        # The memory that is not written to is never taken.
        room = int(np.minimum(single + runs * self.data.n_labels, self.n_weights).sum())
        psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
        _visit(self.data, batch, counts, sink, psi)
        self._spare.append(sink)
        end = psi.indptr[-1]
        return Rows(psi.indptr, psi.indices[:end], psi.values[:end])

    def most_entries(self) -> FloatVector:
        """How many entries ψ of each sentence has if all heads are wrong and half as far off as they can be."""
        indptr, sizes, groups = self.data.indptr, self.sizes, self._groups
        tokens = np.arange(1, len(self.heads) + 1) - np.repeat(indptr[:-1], sizes)
        apart = sums(np.abs(self.heads - tokens), indptr) + 0.5 * sizes**2
        of_tokens = 4.0 * (groups[ARC] + groups[SIBLING] + groups[GRANDPARENT])
        of_tokens += 2.0 * groups[LABEL : LABEL_MODIFIER + 1].sum()
        return sizes * of_tokens + 2.0 * groups[BETWEEN] * apart

    def most_expected(self) -> LongVector:
        """How many entries `gather_counts` has at most for each sentence before any are put together."""
        single, runs = self._places
        return single + runs * self.data.n_labels

    def summed(self, batches: Sequence[IntVector]) -> Summed | None:
        """Rows are as good."""
        return None

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all arcs of the batch, with all labels, and of all triples."""
        sink = Sink(NOTHING, NOWHERE, NOWHERE, np.zeros(2, dtype=np.int64), nothing_found(self.n_weights))
        sizes = self.sizes[batch]  # they share one vector in which every part counts once
        ones = np.ones(self._structure.n_own(sizes).max(initial=0))
        every = Counts(np.zeros_like(sizes), sizes, ones, np.empty((len(batch), 0)))
        _visit(self.data, batch, every, sink, NO_ROWS)
        return block_runs(sink.found.blocks[: sink.counts[0]], self.n_weights)

    @cached_property
    def _places(self) -> tuple[LongVector, LongVector]:
        """At most how many single weights, and runs of weights for all labels, the features of each sentence have."""
        n, groups = self.sizes.astype(np.int64), self._groups
        # 2n − 1 − 2j arcs have j tokens between, of at most u values: Σ_j (2n − 1 − 2j) min(j, u).
        u = np.minimum(self._n_values, np.maximum(n - 1, 0))
        values = (2 * n - 1) * u * (u + 1) // 2 - u * (u + 1) * (2 * u + 1) // 3 + u * (n - 1 - u) ** 2
        single = 2 * groups[ARC] * n * (n + 1) + 2 * groups[SIBLING] * (n * (n + 1) * (n + 2) // 3)
        single += 2 * groups[BETWEEN] * np.where(n > 0, values, 0) + 2 * groups[GRANDPARENT] * n * n * n
        runs = groups[LABEL] * n * (n + 1) + 3 * (groups[LABEL_HEAD] + groups[LABEL_MODIFIER]) * (n + 1)
        return single, runs

    @property
    def _n_values(self) -> LongVector:
        """How many values of `between` each sentence has."""
        if not self._groups[BETWEEN]:
            return np.zeros(len(self.sizes), dtype=np.int64)
        column = self.data.keys.other[1:, self.data.keys.edges[BETWEEN]]
        sentences = np.repeat(np.arange(len(self.sizes)), self.sizes)
        distinct = np.unique(np.stack([sentences, column], axis=1), axis=0)[:, 0]
        return np.bincount(distinct, minlength=len(self.sizes))
