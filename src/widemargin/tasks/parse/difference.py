"""Feature differences of dependency trees: ψ = φ(x, y) − φ(x, ŷ) of gold and predicted arcs.

An arc that both trees have cancels. If only its label differs, only features of labels remain. Features of siblings
differ wherever the sibling does, and those of grandparents wherever the grandparent does.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import Rows, coalesce, new_table
from widemargin.decoders.siblings import sibling_of
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_MODIFIER,
    SIBLING,
    TreeKeys,
    row_of,
    step_of,
    turn_of,
)
from widemargin.tasks.parse.scores import TreeData


@kernel
def _push(slot: int, sign: float, psi: Rows, write: int) -> int:
    psi.indices[write], psi.values[write] = slot, sign
    return write + 1


@kernel
def _push_both(slot: int, step: int, sign: float, psi: Rows, write: int) -> int:
    """Append the weight of a feature that always counts, and that of the step."""
    return _push(slot + 1 + step, sign, psi, _push(slot, sign, psi, write))


@kernel
def push_arc(keys: TreeKeys, mask: int, first: int, h: int, m: int, sign: float, psi: Rows, write: int) -> int:
    """Append the features of an arc whatever its label, `sign` times; return where the entries end."""
    step, row = step_of(h, m), row_of(first, h)
    for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
        slot = (keys.head[row, t] + keys.modifier[first + m, t]) & mask
        write = _push_both(slot, step, sign, psi, write)
    value = keys.edges[BETWEEN]
    if value == keys.edges[BETWEEN + 1]:
        return write
    low, high = min(h, m) + 1, max(h, m)
    for node in range(low, high):
        known = False
        for before in range(low, node):
            known |= keys.other[first + before, value] == keys.other[first + node, value]
        if not known:
            for t in range(value, keys.edges[BETWEEN + 1]):
                slot = keys.head[row, t] + keys.modifier[first + m, t] + keys.other[first + node, t]
                write = _push_both(slot & mask, step, sign, psi, write)
    return write


@kernel
def push_label(
    keys: TreeKeys, mask: int, first: int, h: int, m: int, label: int, sign: float, psi: Rows, write: int
) -> int:
    """Append the features of an arc's label."""
    head, modifier, step = row_of(first, h), first + m, step_of(h, m)
    for t in range(keys.edges[LABEL], keys.edges[LABEL_MODIFIER + 1]):
        slot = (keys.head[head, t] + keys.modifier[modifier, t] + keys.measure[step, t]) & mask
        write = _push(slot + label, sign, psi, write)
    return write


@kernel
def push_sibling(
    keys: TreeKeys, mask: int, first: int, h: int, s: int, m: int, sign: float, psi: Rows, write: int
) -> int:
    """Append the features of a modifier and its sibling `s`, which is `h` where there is none."""
    other, head, step = 0 if s == h else first + s, row_of(first, h), step_of(s, m)
    for t in range(keys.edges[SIBLING], keys.edges[SIBLING + 1]):
        slot = keys.head[head, t] + keys.modifier[first + m, t] + keys.other[other, t]
        write = _push_both(slot & mask, step, sign, psi, write)
    return write


@kernel
def push_grandparent(
    keys: TreeKeys, mask: int, first: int, g: int, h: int, m: int, sign: float, psi: Rows, write: int
) -> int:
    """Append the features of a modifier, its head and its grandparent."""
    other, turn = row_of(first, g), turn_of(g, h > m, m)
    for t in range(keys.edges[GRANDPARENT], keys.edges[GRANDPARENT + 1]):
        slot = keys.head[first + h, t] + keys.modifier[first + m, t] + keys.other[other, t]
        write = _push_both(slot & mask, turn, sign, psi, write)
    return write


@kernel
def _room(data: TreeData, first: int, heads: IntVector, codes: IntVector) -> int:
    """The most entries that the feature difference can have before any cancel."""
    edges = data.keys.edges
    on_arc, on_between = edges[ARC + 1] - edges[ARC], edges[BETWEEN + 1] - edges[BETWEEN]
    on_label, on_triples = edges[LABEL_MODIFIER + 1] - edges[LABEL], edges[GRANDPARENT + 1] - edges[SIBLING]
    size = 4 * on_triples * len(codes)
    for m in range(1, len(codes) + 1):
        gold, head = heads[m - 1], codes[m - 1] // data.n_labels
        if gold != head:
            apart = abs(gold - m) + abs(head - m)
            size += 4 * on_arc + 2 * on_between * apart
        size += 2 * on_label if codes[m - 1] != gold * data.n_labels + data.labels[first + m - 1] else 0
    return size


@kernel
def _push_tree(
    data: TreeData,
    first: int,
    codes: IntVector,
    others: IntVector,
    siblings: IntMatrix,
    sign: float,
    psi: Rows,
    write: int,
) -> int:
    """Append the features of the tree `codes` that `others` lacks; `siblings` are those of the one and the other."""
    keys, n_labels = data.keys, data.n_labels
    has_siblings = keys.edges[SIBLING] < keys.edges[SIBLING + 1]
    has_grandparents = keys.edges[GRANDPARENT] < keys.edges[GRANDPARENT + 1]
    for m in range(1, len(codes) + 1):
        code, other = codes[m - 1], others[m - 1]
        head = code // n_labels
        if head != other // n_labels:
            write = push_arc(keys, data.mask, first, head, m, sign, psi, write)
        if code != other:
            write = push_label(keys, data.mask, first, head, m, code % n_labels, sign, psi, write)
        same_sibling = head == other // n_labels and siblings[0, m - 1] == siblings[1, m - 1]
        if has_siblings and not same_sibling:
            write = push_sibling(keys, data.mask, first, head, siblings[0, m - 1], m, sign, psi, write)
        if has_grandparents and head > 0:
            grandparent = codes[head - 1] // n_labels
            if head != other // n_labels or grandparent != others[head - 1] // n_labels:
                write = push_grandparent(keys, data.mask, first, grandparent, head, m, sign, psi, write)
    return write


@kernel
def difference(data: TreeData, batch: IntVector, starts: LongVector, codes: IntVector) -> tuple[FloatVector, Rows]:
    """Errors of trees given by codes, head · n_labels + label, and their feature differences to gold."""
    errors = np.zeros(len(batch))
    room = most = longest = data.indptr[0]
    for position in range(len(batch)):
        first, last = data.indptr[batch[position]], data.indptr[batch[position] + 1]
        size = _room(data, first, data.heads[first:last], codes[starts[position] : starts[position + 1]])
        room, most, longest = room + size, max(most, size), max(longest, last - first)
    table = new_table(most)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    gold = np.empty(longest, dtype=np.int32)
    siblings = np.zeros((2, longest), dtype=np.int32)
    swapped = np.zeros((2, longest), dtype=np.int32)
    heads = np.empty(longest, dtype=np.int32)
    end = psi.indptr[0]
    for position in range(len(batch)):
        first, last = data.indptr[batch[position]], data.indptr[batch[position] + 1]
        n = last - first
        found = codes[starts[position] : starts[position + 1]]
        for t in range(n):
            gold_head = data.heads[first + t]
            gold[t] = gold_head * data.n_labels + data.labels[first + t]
            heads[t] = found[t] // data.n_labels
            if heads[t] != gold_head:
                errors[position] += data.costs[0]
            elif found[t] != gold[t]:
                errors[position] += data.costs[1]
        if data.keys.edges[SIBLING] < data.keys.edges[SIBLING + 1]:
            sibling_of(data.heads[first:last], siblings[0, :n])
            sibling_of(heads[:n], siblings[1, :n])
            for t in range(n):
                swapped[0, t], swapped[1, t] = siblings[1, t], siblings[0, t]
        write = _push_tree(data, first, gold[:n], found, siblings, 1.0, psi, end)
        write = _push_tree(data, first, found, gold[:n], swapped, -1.0, psi, write)
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[position + 1] = end
    return errors, Rows(psi.indptr, psi.indices[:end], psi.values[:end])
