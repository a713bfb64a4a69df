"""The weights that parsing a sentence reads: those of all arcs, with all labels, and of all triples."""

from widemargin._jit import kernel
from widemargin._types import IntVector, LongMatrix
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeKeys,
    row_of,
    step_of,
    turn_of,
)
from widemargin.tasks.parse.scores import ANY_STEP, TreeData


def reads(data: TreeData, batch: IntVector, n_weights: int) -> LongMatrix:
    """The weights that parsing the batch reads, as disjoint runs."""
    found = nothing_found(n_weights)
    return block_runs(found.blocks[: _reads(data, batch, found)], n_weights)


@kernel
def _reads(data: TreeData, batch: IntVector, found: Found) -> int:
    count, edges = 0, data.keys.edges
    for i in batch:
        count = _arcs(data, i, found, count)
        count = _labels(data, i, found, count)
        if edges[BETWEEN] < edges[BETWEEN + 1]:
            count = _between(data, i, found, count)
        if edges[SIBLING] < edges[SIBLING + 1]:
            count = _siblings(data, i, found, count)
        if edges[GRANDPARENT] < edges[GRANDPARENT + 1]:
            count = _grandparents(data, i, found, count)
    return count


@kernel
def _note_both(slot: int, step: int, found: Found, count: int) -> int:
    """The weight of a feature that always counts, and that of the step."""
    return note(slot + 1 + step, 1, found, note(slot, 1, found, count))


@kernel
def _arcs(data: TreeData, i: int, found: Found, count: int) -> int:
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    for h in range(n + 1):
        row = row_of(first, h)
        for m in range(1, n + 1):
            if h == m:
                continue
            step = step_of(h, m)
            for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
                slot = int(keys.head[row, t] + keys.modifier[first + m, t]) & data.mask
                count = _note_both(slot, step, found, count)
    return count


@kernel
def _labels(data: TreeData, i: int, found: Found, count: int) -> int:
    """Features of a token and a direction, each once, then those of arcs."""
    keys, mask, first, n_labels = data.keys, data.mask, data.indptr[i], data.n_labels
    n = data.indptr[i + 1] - first
    for node in range(n + 1):
        for step in ANY_STEP:
            for t in range(keys.edges[LABEL_MODIFIER], keys.edges[LABEL_MODIFIER + 1]):
                if node > 0:
                    slot = int(keys.modifier[first + node, t] + keys.measure[step, t]) & mask
                    count = note(slot, n_labels, found, count)
            for t in range(keys.edges[LABEL_HEAD], keys.edges[LABEL_HEAD + 1]):
                if (node == 0) == (step == 0):
                    slot = int(keys.head[row_of(first, node), t] + keys.measure[step, t]) & mask
                    count = note(slot, n_labels, found, count)
    for h in range(n + 1):
        for m in range(1, n + 1):
            step = step_of(h, m)
            for t in range(keys.edges[LABEL], keys.edges[LABEL + 1]):
                if h != m:
                    pair = keys.head[row_of(first, h), t] + keys.modifier[first + m, t]
                    count = note(int(pair + keys.measure[step, t]) & mask, n_labels, found, count)
    return count


@kernel
def _note_with(
    keys: TreeKeys, group: int, head: int, modifier: int, other: int, step: int, mask: int, found: Found, count: int
) -> int:
    """Features that look at a third token; all three are rows."""
    for t in range(keys.edges[group], keys.edges[group + 1]):
        slot = int(keys.head[head, t] + keys.modifier[modifier, t] + keys.other[other, t]) & mask
        count = _note_both(slot, step, found, count)
    return count


@kernel
def _between(data: TreeData, i: int, found: Found, count: int) -> int:
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    for h in range(n + 1):
        for m in range(1, n + 1):
            for node in range(min(h, m) + 1, max(h, m)):
                row, step = row_of(first, h), step_of(h, m)
                count = _note_with(keys, BETWEEN, row, first + m, first + node, step, data.mask, found, count)
    return count


@kernel
def _siblings(data: TreeData, i: int, found: Found, count: int) -> int:
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    for h in range(n + 1):
        for m in range(1, n + 1):
            for s in range(h, m, 1 if m > h else -1):
                if s > 0 or h == 0:
                    row, other, step = row_of(first, h), 0 if s == h else first + s, step_of(s, m)
                    count = _note_with(keys, SIBLING, row, first + m, other, step, data.mask, found, count)
    return count


@kernel
def _grandparents(data: TreeData, i: int, found: Found, count: int) -> int:
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            for g in range(n + 1):
                if h != m and (g < min(h, m) or g > max(h, m)):
                    other, turn = row_of(first, g), turn_of(g, h > m, m)
                    count = _note_with(keys, GRANDPARENT, first + h, first + m, other, turn, data.mask, found, count)
    return count
