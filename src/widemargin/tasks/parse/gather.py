"""From coefficients of the parts of dependency trees to coefficients of weights: ψ = Σ_p z_p φ_p.

Sparse coefficients, those of gold minus an output, become a row of entries, which are put together at the end. Where
every part has a coefficient, a sentence has n² arcs, so there are hundreds of thousands of additions. They go to a
vector as long as w. Where anything was added is noted; only these places are read, and cleared, afterwards. Features of
labels that look at one token alone are then added once per token, not once per arc. Coefficients below 10⁻¹² are left
out: a weight loses less than it would to rounding.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, coalesce, new_table
from widemargin.structures.dependency_sums import ArcCounts
from widemargin.structures.parts import Parts
from widemargin.structures.support import Found, note
from widemargin.tasks.parse.keys import (
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeData,
    add_between,
    arc_slots,
    between,
    direction_of,
    grandparent_slots,
    group_slots,
    label_slots,
    row_of,
    sibling_slots,
    step_of,
    token_slots,
    turn_of,
)

NEGLIGIBLE = 1e-12


@kernel
def _scratch(data: TreeData, longest: int) -> tuple[IntVector, LongVector]:
    """Room for the slots of a part, and for the tokens between two."""
    edges = data.keys.edges
    most = edges[LABEL_MODIFIER + 1] + (edges[BETWEEN + 1] - edges[BETWEEN]) * longest
    return np.empty(most, dtype=np.int32), np.empty(longest + 1, dtype=np.int64)


@kernel
def _push(slots: IntVector, step: int, value: float, psi: Rows, write: int) -> int:
    """Append the weights of features that always count, and those of the step; return where they end."""
    # Arrays of their own, here and below: those of a tuple would be counted as used and unused for every entry.
    indices, values = psi.indices, psi.values
    for k in range(len(slots)):
        one, other = np.uint64(write + 2 * k), np.uint64(write + 2 * k + 1)
        indices[one], values[one] = slots[k], value
        indices[other], values[other] = slots[k] + 1 + step, value
    return write + 2 * len(slots)


@kernel
def _room(data: TreeData, n: int, numbers: LongVector) -> int:
    """The most entries that these parts of a sentence have."""
    edges, size, room = data.keys.edges, n + 1, 0
    of_arc, of_between, of_siblings = np.diff(edges[: SIBLING + 2])
    of_grandparents, of_label = edges[GRANDPARENT + 1] - edges[GRANDPARENT], edges[LABEL_MODIFIER + 1] - edges[LABEL]
    at_siblings = size**2 * (1 + data.n_labels)
    for number in numbers:
        if number < size**2:
            room += 2 * of_arc + 2 * of_between * abs(number // size - number % size)
        elif number < at_siblings:
            room += of_label
        else:
            room += 2 * (of_siblings if number < at_siblings + size**3 else of_grandparents)
    return room


@kernel
def _push_part(
    data: TreeData,
    first: int,
    n: int,
    number: int,
    value: float,
    slots: IntVector,
    found: LongVector,
    psi: Rows,
    write: int,
) -> int:
    """Append the features of a part, `value` times; return where they end."""
    size, n_labels = n + 1, data.n_labels
    at_siblings = size**2 * (1 + n_labels)
    if number < size**2:
        h, m = number // size, number % size
        count = arc_slots(data, first, h, m, found, between(data.keys, first, h, m, found), slots)
        return _push(slots[:count], step_of(h, m), value, psi, write)
    if number < at_siblings:
        arc, label = (number - size**2) // n_labels, (number - size**2) % n_labels
        indices, values, count = psi.indices, psi.values, label_slots(data, first, arc // size, arc % size, slots)
        for k in range(count):
            indices[np.uint64(write + k)], values[np.uint64(write + k)] = slots[k] + label, value
        return write + count
    triple = (number - at_siblings) % size**3
    h, middle, last = triple // size**2, triple // size % size, triple % size
    if number < at_siblings + size**3:
        count = sibling_slots(data, first, h, middle, last, slots)
        return _push(slots[:count], step_of(middle, last), value, psi, write)
    count = grandparent_slots(data, first, h, middle, last, slots)
    return _push(slots[:count], turn_of(last, h > middle, middle), value, psi, write)


@kernel
def gather(data: TreeData, batch: IntVector, longest: int, parts: Parts) -> Rows:
    """ψ for sparse coefficients of parts, as `structures.dependencies` numbers them."""
    room = most = data.indptr[0]
    for k in range(len(batch)):
        n = data.indptr[batch[k] + 1] - data.indptr[batch[k]]
        size = _room(data, n, parts.numbers[parts.indptr[k] : parts.indptr[k + 1]])
        room, most = room + size, max(most, size)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, (slots, found) = new_table(most), _scratch(data, longest)
    end = psi.indptr[0]
    for k in range(len(batch)):
        first, write = data.indptr[batch[k]], end
        n = data.indptr[batch[k] + 1] - first
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            write = _push_part(data, first, n, parts.numbers[j], parts.values[j], slots, found, psi, write)
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[k + 1] = end
    return Rows(psi.indptr, psi.indices[:end], psi.values[:end])


class Added(NamedTuple):
    """Scratch space: `total` has the length of w, and is zero between sentences.

    Something was added at the first counts[0] weights of `single`, and at as many weights as there are labels, from
    each of the first counts[1] slots of `runs` on.
    """

    total: FloatVector
    single: IntVector
    runs: IntVector
    counts: LongVector


@kernel
def _add(slots: IntVector, step: int, value: float, added: Added) -> None:
    """Add to the weights of features that always count, and to those of the step."""
    for slot in slots:
        for further in (0, 1 + step):
            index = slot + further
            j = np.uint64(index)
            if added.total[j] == 0.0:
                added.single[added.counts[0]] = index
                added.counts[0] += 1
            added.total[j] += value


@kernel
def _add_runs(slots: IntVector, row: FloatVector, added: Added) -> None:
    """Add to the weights of features for all labels."""
    for slot in slots:
        added.runs[added.counts[1]] = slot
        added.counts[1] += 1
        for label in range(len(row)):
            added.total[np.uint64(slot + label)] += row[label]


@kernel
def _matters(row: FloatVector) -> bool:
    """Whether any coefficient is not negligible."""
    largest = 0.0
    for value in row:
        largest = max(largest, abs(value))
    return largest >= NEGLIGIBLE


@kernel
def _add_arcs(
    data: TreeData, first: int, counts: ArcCounts, k: int, slots: IntVector, found: LongVector, added: Added
) -> None:
    """Arcs whatever their labels."""
    n = counts.sizes[k]
    for h in range(n + 1):
        for side in (1, -1):
            n_between, m = 0, h + side
            while 1 <= m <= n:
                value = counts.arcs[counts.starts[k] + h * (n + 1) + m]
                if abs(value) >= NEGLIGIBLE:
                    count = arc_slots(data, first, h, m, found, n_between, slots)
                    _add(slots[:count], step_of(h, m), value, added)
                n_between = add_between(data.keys, first + m, found, n_between)
                m += side


@kernel
def _add_labels(data: TreeData, first: int, counts: ArcCounts, k: int, slots: IntVector, added: Added) -> None:
    """Arcs with labels; coefficients of a token and a direction are summed up as in `scores`."""
    n = counts.sizes[k]
    nodes = np.zeros((6 * (n + 1), data.n_labels))
    for h in range(n + 1):
        for m in range(1, n + 1):
            row = counts.labels[counts.starts[k] + h * (n + 1) + m]
            if h == m or not _matters(row):
                continue
            step = step_of(h, m)
            modifier, head = 6 * m + direction_of(step), 6 * h + 3 + direction_of(step)
            for label in range(len(row)):
                nodes[modifier, label] += row[label]
                nodes[head, label] += row[label]
            count = group_slots(data, LABEL, row_of(first, h), first + m, 0, step, slots, 0)
            _add_runs(slots[:count], row, added)
    for r in range(len(nodes)):
        group = LABEL_MODIFIER if r % 6 < 3 else LABEL_HEAD
        count = token_slots(data, first, r // 6, r % 3, group, slots)
        _add_runs(slots[:count], nodes[r], added)


@kernel
def _add_siblings(data: TreeData, first: int, counts: ArcCounts, k: int, slots: IntVector, added: Added) -> None:
    """Siblings."""
    n = counts.sizes[k]
    for h in range(n + 1):
        for m in range(1, n + 1):
            for s in range(h, m, 1 if m > h else -1):
                value = counts.siblings[counts.triples[k] + (h * (n + 1) + s) * (n + 1) + m]
                if abs(value) >= NEGLIGIBLE:
                    _add(slots[: sibling_slots(data, first, h, s, m, slots)], step_of(s, m), value, added)


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
def gather_counts(
    data: TreeData, batch: IntVector, longest: int, counts: ArcCounts, added: Added, psi: Rows, row: int
) -> None:
    """Write ψ for a coefficient of every part to the rows of `psi` from `row` on."""
    (slots, found), write = _scratch(data, longest), psi.indptr[row]
    for k in range(len(batch)):
        first = data.indptr[batch[k]]
        added.counts[:] = 0
        _add_arcs(data, first, counts, k, slots, found, added)
        _add_labels(data, first, counts, k, slots, added)
        if len(counts.siblings) > 0:
            _add_siblings(data, first, counts, k, slots, added)
        write = _move(added.single[: added.counts[0]], 1, added.total, psi, write)
        write = _move(added.runs[: added.counts[1]], data.n_labels, added.total, psi, write)
        psi.indptr[row + k + 1] = write


@kernel
def _note(slots: IntVector, step: int, found: Found, count: int) -> int:
    """The weights of features that always count, and those of the step."""
    for slot in slots:
        count = note(slot + 1 + step, 1, found, note(slot, 1, found, count))
    return count


@kernel
def _note_runs(slots: IntVector, n_labels: int, found: Found, count: int) -> int:
    for slot in slots:
        count = note(slot, n_labels, found, count)
    return count


@kernel
def _note_arcs(
    data: TreeData, first: int, n: int, slots: IntVector, tokens: LongVector, found: Found, count: int
) -> int:
    """Arcs with and without labels."""
    for h in range(n + 1):
        for side in (1, -1):
            n_between, m = 0, h + side
            while 1 <= m <= n:
                n_slots = arc_slots(data, first, h, m, tokens, n_between, slots)
                count = _note(slots[:n_slots], step_of(h, m), found, count)
                n_slots = group_slots(data, LABEL, row_of(first, h), first + m, 0, step_of(h, m), slots, 0)
                count = _note_runs(slots[:n_slots], data.n_labels, found, count)
                n_between = add_between(data.keys, first + m, tokens, n_between)
                m += side
    for r in range(6 * (n + 1)):
        n_slots = token_slots(data, first, r // 6, r % 3, LABEL_MODIFIER if r % 6 < 3 else LABEL_HEAD, slots)
        count = _note_runs(slots[:n_slots], data.n_labels, found, count)
    return count


@kernel
def _note_triples(data: TreeData, first: int, n: int, slots: IntVector, found: Found, count: int) -> int:
    """Siblings and grandparents."""
    edges = data.keys.edges
    for h in range(n + 1):
        for m in range(1, n + 1):
            for s in range(h, m, 1 if m > h else -1) if edges[SIBLING] < edges[SIBLING + 1] else range(0):
                count = _note(slots[: sibling_slots(data, first, h, s, m, slots)], step_of(s, m), found, count)
            for g in range(n + 1 if edges[GRANDPARENT] < edges[GRANDPARENT + 1] and h > 0 and h != m else 0):
                if g < min(h, m) or g > max(h, m):
                    n_slots = grandparent_slots(data, first, h, m, g, slots)
                    count = _note(slots[:n_slots], turn_of(g, h > m, m), found, count)
    return count


@kernel
def support(data: TreeData, batch: IntVector, longest: int, found: Found) -> int:
    """Note the weights of all arcs, with all labels, and of all triples of the batch; return the number of blocks."""
    (slots, tokens), count = _scratch(data, longest), 0
    for i in batch:
        first = data.indptr[i]
        n = data.indptr[i + 1] - first
        count = _note_arcs(data, first, n, slots, tokens, found, count)
        count = _note_triples(data, first, n, slots, found, count)
    return count
