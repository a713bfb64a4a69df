"""Scores of dependency trees: of arcs, of their labels, and of pairs of siblings.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)]

The scores of the sentences of a batch lie end to end. A sentence of n tokens has (n + 1)² scores `arc`, each with that
of the best label added, and as many numbers of the best labels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.tasks.parse.decode import Scores, arcs_of, labels_of, siblings_of
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeKeys,
    row_of,
    step_of,
    total,
    total_kept,
    total_with,
)

ANY_STEP = (0, 1, 7)
"""A step of each direction: from the root, to the right, to the left."""


class TreeData(NamedTuple):
    """Sentences compiled to arrays; `heads` and `labels` are gold, a number per token, or empty.

    `costs` are those of a wrong head, and of a wrong label at the right head. The `slots` of the arcs of some sentences
    are kept, a row for each, by head and then modifier, from row `kept`[i] on for sentence i; −1 if they are not.
    """

    indptr: LongVector
    keys: TreeKeys
    mask: int
    n_labels: int
    heads: IntVector
    labels: IntVector
    costs: FloatVector
    slots: IntMatrix
    kept: LongVector


@kernel
def keep_slots(data: TreeData) -> None:
    """Work out the slots that are to be kept."""
    keys = data.keys
    for i in range(len(data.kept)):
        arc, first = data.kept[i], data.indptr[i]
        n = data.indptr[i + 1] - first
        if arc < 0:
            continue
        for h in range(n + 1):
            for m in range(1, n + 1):
                for t in range(data.slots.shape[1]):
                    pair = keys.head[row_of(first, h), t] + keys.modifier[first + m, t]
                    data.slots[arc, t] = pair & data.mask
                arc += 1


@kernel
def add_row(slot: int, w: FloatVector, rows: FloatMatrix, row: int) -> None:
    """Add the weights of a feature for all labels to a row of scores."""
    for label in range(rows.shape[1]):
        rows[np.uint64(row), np.uint64(label)] += w[np.uint64(slot + label)]


@kernel
def _between(keys: TreeKeys, w: FloatVector, mask: int, first: int, h: int, n: int, scores: FloatMatrix) -> None:
    """Add the scores of the tokens between `h` and every modifier, each distinct value once."""
    found = np.empty(n, dtype=np.int64)
    value = keys.edges[BETWEEN]
    for side in range(2):
        count = 0
        last = n + 1 if side == 0 else 0
        step = 1 if side == 0 else -1
        for m in range(h + step, last, step):
            if m == 0:
                break
            known = False
            for k in range(count):
                scores[h, m] += total_with(keys, BETWEEN, row_of(first, h), first + m, found[k], step_of(h, m), w, mask)
                known |= keys.other[found[k], value] == keys.other[first + m, value]
            if not known:
                found[count] = first + m
                count += 1


@kernel
def arc_scores(data: TreeData, w: FloatVector, i: int, scores: FloatMatrix) -> None:
    """The scores of all arcs of sentence i."""
    keys, mask, first = data.keys, data.mask, data.indptr[i]
    n, arc = data.indptr[i + 1] - first, data.kept[i]
    for h in range(n + 1):
        for m in range(1, n + 1):
            step = step_of(h, m)
            if m == h:
                scores[h, m] = 0.0
            elif arc >= 0:
                scores[h, m] = total_kept(data.slots, arc + h * n + m - 1, step, w)
            else:
                scores[h, m] = total(keys, ARC, row_of(first, h), first + m, step, w, mask)
        if keys.edges[BETWEEN] < keys.edges[BETWEEN + 1]:
            _between(keys, w, mask, first, h, n, scores)


@kernel
def node_labels(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, nodes: FloatMatrix) -> None:
    """Label scores of one token and a direction: row 6 · node + direction as a modifier, 3 rows further as a head."""
    for row in range(6 * (n + 1)):
        for label in range(nodes.shape[1]):
            nodes[row, label] = 0.0
    for node in range(n + 1):
        for direction in range(3):
            step = ANY_STEP[direction]
            if node > 0:
                for t in range(keys.edges[LABEL_MODIFIER], keys.edges[LABEL_MODIFIER + 1]):
                    slot = (keys.modifier[first + node, t] + keys.measure[step, t]) & mask
                    add_row(slot, w, nodes, 6 * node + direction)
            if (node == 0) == (direction == 0):
                for t in range(keys.edges[LABEL_HEAD], keys.edges[LABEL_HEAD + 1]):
                    slot = (keys.head[row_of(first, node), t] + keys.measure[step, t]) & mask
                    add_row(slot, w, nodes, 6 * node + 3 + direction)


@kernel
def label_row(
    keys: TreeKeys,
    w: FloatVector,
    mask: int,
    first: int,
    h: int,
    m: int,
    nodes: FloatMatrix,
    rows: FloatMatrix,
    row: int,
) -> None:
    """Write the scores of all labels of an arc to a row."""
    step = step_of(h, m)
    direction = 0 if step == 0 else (1 if step < 7 else 2)
    for label in range(rows.shape[1]):
        rows[row, label] = nodes[6 * m + direction, label] + nodes[6 * h + 3 + direction, label]
    head = row_of(first, h)
    for t in range(keys.edges[LABEL], keys.edges[LABEL + 1]):
        slot = (keys.head[head, t] + keys.modifier[first + m, t] + keys.measure[step, t]) & mask
        add_row(slot, w, rows, row)


@kernel
def sibling_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """scores[h, s, m] of all modifiers m of h whose next sibling towards h is s; h itself where there is none."""
    for h in range(n + 1):
        for m in range(1, n + 1):
            side = 1 if m > h else -1
            for s in range(h, m, side):
                if s > 0 or h == 0:
                    other = 0 if s == h else first + s
                    scores[h, s, m] = total_with(
                        keys, SIBLING, row_of(first, h), first + m, other, step_of(s, m), w, mask
                    )


@kernel
def part_scores(data: TreeData, w: FloatVector, batch: IntVector, scales: FloatVector, scores: Scores) -> None:
    """Work out the scores of a batch; errors count `scales` times."""
    longest = 0
    for size in scores.sizes:
        longest = max(longest, size)
    nodes, row = np.empty((6 * (longest + 1), data.n_labels)), np.empty((1, data.n_labels))
    keys = data.keys
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], scores.sizes[position]
        arcs, best = arcs_of(scores, position), labels_of(scores, position)
        arc_scores(data, w, batch[position], arcs)
        node_labels(keys, w, data.mask, first, n, nodes)
        for h in range(n + 1):
            for m in range(1, n + 1):
                if h != m:
                    label_row(keys, w, data.mask, first, h, m, nodes, row, 0)
                    if scales[position] != 0.0:
                        augment(data, first, h, m, scales[position], row, 0)
                    best[h, m] = highest(row)
                    arcs[h, m] += row[0, best[h, m]]
        if len(scores.sibling) > 0:
            sibling_scores(keys, w, data.mask, first, n, siblings_of(scores, position))


@kernel
def highest(rows: FloatMatrix) -> int:
    """The index of the highest number in the first row; the first of several."""
    best = 0
    for label in range(1, rows.shape[1]):
        if rows[0, label] > rows[0, best]:
            best = label
    return best


@kernel
def augment(data: TreeData, first: int, h: int, m: int, scale: float, rows: FloatMatrix, row: int) -> None:
    """Add the errors of an arc's labels, `scale` times, to a row of their scores."""
    gold_head, gold_label = data.heads[first + m - 1], data.labels[first + m - 1]
    for label in range(rows.shape[1]):
        if h != gold_head:
            rows[row, label] += scale * data.costs[0]
        elif label != gold_label:
            rows[row, label] += scale * data.costs[1]
