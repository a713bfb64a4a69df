"""Scores of dependency trees: of arcs, of their labels, and of pairs of siblings.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)]

The scores of the sentences of a batch lie end to end: for a sentence of n tokens (n + 1)² numbers for `arc` with the
best label's added, and as many numbers of labels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.structures.tree_decode import Scores, arcs_of, labels_of, siblings_of
from widemargin.structures.tree_keys import ANY_STEP, Keys, TreeKeys, row_of, step_of, total, total_with


class TreeData(NamedTuple):
    """Sentences compiled to arrays; `heads` and `labels` are gold, a number per token, or empty.

    `costs` are those of a wrong head, and of a wrong label at the right head.
    """

    indptr: LongVector
    keys: TreeKeys
    mask: int
    n_labels: int
    heads: IntVector
    labels: IntVector
    costs: FloatVector


@kernel
def add_row(slot: int, w: FloatVector, row: FloatVector) -> None:
    """row += the weights of a feature for all labels."""
    for label in range(len(row)):
        row[label] += w[np.uint64(slot + label)]


@kernel
def _between(keys: Keys, w: FloatVector, mask: int, first: int, h: int, n: int, scores: FloatMatrix) -> None:
    """Add the scores of what lies between `h` and every modifier: each distinct value once."""
    found = np.empty(n, dtype=np.int64)
    head = keys.head[row_of(first, h)]
    for side in range(2):
        count = 0
        last = n + 1 if side == 0 else 0
        step = 1 if side == 0 else -1
        for m in range(h + step, last, step):
            if m == 0:
                break
            modifier, apart = keys.modifier[first + m], step_of(h, m)
            for k in range(count):
                scores[h, m] += total_with(head, modifier, keys.other[found[k]], apart, w, mask)
            known = False
            for k in range(count):
                known |= keys.other[found[k], 0] == keys.other[first + m, 0]
            if not known:
                found[count] = first + m
                count += 1


@kernel
def arc_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """The scores of all arcs of a sentence of `n` tokens."""
    arc = keys.arc
    for h in range(n + 1):
        head = arc.head[row_of(first, h)]
        for m in range(1, n + 1):
            scores[h, m] = 0.0
            if m != h:
                scores[h, m] = total(head, arc.modifier[first + m], step_of(h, m), w, mask)
        if keys.between.other.shape[1] > 0:
            _between(keys.between, w, mask, first, h, n, scores)


@kernel
def node_labels(
    keys: Keys, rows: IntMatrix, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix
) -> None:
    """scores[direction, node] = the label scores that depend on one token, whose keys are `rows`, and the direction."""
    for direction in range(3):
        measure = keys.measure[ANY_STEP[direction]]
        for node in range(n + 1):
            for label in range(scores.shape[2]):
                scores[direction, node, label] = 0.0
            row = rows[row_of(first, node)]
            for t in range(len(row)):
                add_row((row[t] + measure[t]) & mask, w, scores[direction, node])


@kernel
def label_row(
    keys: Keys,
    w: FloatVector,
    mask: int,
    first: int,
    h: int,
    m: int,
    of_heads: FloatMatrix,
    of_modifiers: FloatMatrix,
    row: FloatVector,
) -> None:
    """The scores of all labels of an arc."""
    step = step_of(h, m)
    direction = 0 if step == 0 else (1 if step < 7 else 2)
    for label in range(len(row)):
        row[label] = of_heads[direction, h, label] + of_modifiers[direction, m, label]
    head, modifier, measure = keys.head[row_of(first, h)], keys.modifier[first + m], keys.measure[step]
    for t in range(len(head)):
        add_row((head[t] + modifier[t] + measure[t]) & mask, w, row)


@kernel
def sibling_scores(keys: Keys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """scores[h, s, m] of all modifiers m of h whose next sibling towards h is s; h itself where there is none."""
    for h in range(n + 1):
        head = keys.head[row_of(first, h)]
        for m in range(1, n + 1):
            side = 1 if m > h else -1
            for s in range(h, m, side):
                if s > 0 or h == 0:
                    other = keys.other[0 if s == h else first + s]
                    scores[h, s, m] = total_with(head, keys.modifier[first + m], other, step_of(s, m), w, mask)


@kernel
def part_scores(data: TreeData, w: FloatVector, batch: IntVector, scales: FloatVector, scores: Scores) -> None:
    """Work out the scores of a batch; errors count `scales` times."""
    longest = 0
    for size in scores.sizes:
        longest = max(longest, size)
    of_heads = np.empty((3, longest + 1, data.n_labels))
    of_modifiers = np.empty_like(of_heads)
    row = np.empty(data.n_labels)
    keys = data.keys
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], scores.sizes[position]
        arcs, best = arcs_of(scores, position), labels_of(scores, position)
        arc_scores(keys, w, data.mask, first, n, arcs)
        node_labels(keys.label_head, keys.label_head.head, w, data.mask, first, n, of_heads)
        node_labels(keys.label_modifier, keys.label_modifier.modifier, w, data.mask, first, n, of_modifiers)
        for h in range(n + 1):
            for m in range(1, n + 1):
                if h != m:
                    label_row(keys.label, w, data.mask, first, h, m, of_heads, of_modifiers, row)
                    if scales[position] != 0.0:
                        augment(data, first, h, m, scales[position], row)
                    best[h, m] = highest(row)
                    arcs[h, m] += row[best[h, m]]
        if len(scores.sibling) > 0:
            sibling_scores(keys.sibling, w, data.mask, first, n, siblings_of(scores, position))


@kernel
def highest(row: FloatVector) -> int:
    """Where the highest number is; the first of several."""
    best = 0
    for k in range(1, len(row)):
        if row[k] > row[best]:
            best = k
    return best


@kernel
def augment(data: TreeData, first: int, h: int, m: int, scale: float, row: FloatVector) -> None:
    """Add the errors of an arc's labels, `scale` times, to their scores."""
    gold_head, gold_label = data.heads[first + m - 1], data.labels[first + m - 1]
    for label in range(len(row)):
        if h != gold_head:
            row[label] += scale * data.costs[0]
        elif label != gold_label:
            row[label] += scale * data.costs[1]
