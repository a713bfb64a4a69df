"""Scores of dependency trees: of arcs, of their labels, of pairs of siblings, and of grandparents.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

The scores of the sentences of a batch lie end to end. A sentence of n tokens has (n + 1)² scores `arc`, each with that
of the best label added, and as many numbers of the best labels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.decoders.highest import highest
from widemargin.structures.rows import add_rows
from widemargin.tasks.parse.decode import Scores, arcs_of, grandparents_of, labels_of, siblings_of
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeKeys,
    add_arcs,
    row_of,
    step_of,
    steps_from,
    turn_of,
)

ANY_STEP = (0, 1, 7)
"""A step of each direction: from the root, to the right, to the left."""


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
def _same_values(keys: TreeKeys, first: int, n: int) -> LongMatrix:
    """For every token the nearest one with the same value of `between`: before it, 0 for none; after it, n + 1."""
    value, nearest = keys.edges[BETWEEN], np.empty((2, n + 1), dtype=np.int64)
    for m in range(1, n + 1):
        nearest[0, m], nearest[1, m] = 0, n + 1
        for before in range(m - 1, 0, -1):
            if keys.other[first + before, value] == keys.other[first + m, value]:
                nearest[0, m], nearest[1, before] = before, m
                break
    return nearest


@kernel
def _add_between(
    data: TreeData, w: FloatVector, first: int, h: int, nearest: LongMatrix, steps: LongVector, row: FloatVector
) -> None:
    """Add the scores of the tokens between `h` and all modifiers; of tokens with the same value, only the next to h."""
    keys, n, head = data.keys, len(row) - 1, row_of(first, h)
    for t in range(keys.edges[BETWEEN], keys.edges[BETWEEN + 1]):
        for node in range(1, n):
            key = keys.head[head, t] + keys.other[first + node, t]
            if node > h and nearest[0, node] <= h:
                add_arcs(keys, t, key, first + node + 1, steps[node + 1 :], w, data.mask, row[node + 1 :])
            elif node < h and nearest[1, node] >= h:
                add_arcs(keys, t, key, first + 1, steps[1:node], w, data.mask, row[1:node])


@kernel
def arc_scores(data: TreeData, w: FloatVector, i: int, scores: FloatMatrix) -> None:
    """The scores of all arcs of sentence i; those of tokens to themselves are 0."""
    keys, first = data.keys, data.indptr[i]
    n, has_between = data.indptr[i + 1] - first, keys.edges[BETWEEN] < keys.edges[BETWEEN + 1]
    nearest = _same_values(keys, first, n if has_between else 0)
    steps = np.empty(n + 1, dtype=np.int64)
    for h in range(n + 1):
        row = scores[h]
        row[1:] = 0.0
        steps_from(h, n, steps)
        for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
            add_arcs(keys, t, int(keys.head[row_of(first, h), t]), first + 1, steps[1:], w, data.mask, row[1:])
        if has_between:
            _add_between(data, w, first, h, nearest, steps, row)
        if h > 0:
            row[h] = 0.0


@kernel
def node_labels(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, nodes: FloatMatrix) -> None:
    """Label scores of one token and a direction: row 6 · node + direction as a modifier, 3 rows further as a head."""
    slots = np.empty(keys.head.shape[1], dtype=np.int32)
    for row in range(6 * (n + 1)):
        for label in range(nodes.shape[1]):
            nodes[row, label] = 0.0
    for node in range(n + 1):
        for direction in range(3):
            step = ANY_STEP[direction]
            if node > 0:
                begin, end = keys.edges[LABEL_MODIFIER], keys.edges[LABEL_MODIFIER + 1]
                for t in range(begin, end):
                    slots[t] = (keys.modifier[first + node, t] + keys.measure[step, t]) & mask
                add_rows(w, slots[begin:end], nodes[6 * node + direction])
            if (node == 0) == (direction == 0):
                begin, end = keys.edges[LABEL_HEAD], keys.edges[LABEL_HEAD + 1]
                for t in range(begin, end):
                    slots[t] = (keys.head[row_of(first, node), t] + keys.measure[step, t]) & mask
                add_rows(w, slots[begin:end], nodes[6 * node + 3 + direction])


@kernel
def label_slots(keys: TreeKeys) -> IntVector:
    """Scratch for `label_row`."""
    return np.empty(keys.edges[LABEL + 1] - keys.edges[LABEL], dtype=np.int32)


@kernel
def label_row(
    keys: TreeKeys,
    w: FloatVector,
    mask: int,
    first: int,
    h: int,
    m: int,
    nodes: FloatMatrix,
    slots: IntVector,
    row: FloatVector,
) -> None:
    """Write the scores of all labels of an arc to a row; `slots` is scratch."""
    step, head, begin = step_of(h, m), row_of(first, h), keys.edges[LABEL]
    direction = 0 if step == 0 else (1 if step < 7 else 2)
    for t in range(len(slots)):
        pair = keys.head[head, begin + t] + keys.modifier[first + m, begin + t]
        slots[t] = (pair + keys.measure[step, begin + t]) & mask
    for label in range(len(row)):
        row[label] = nodes[6 * m + direction, label] + nodes[6 * h + 3 + direction, label]
    add_rows(w, slots, row)


@kernel
def sibling_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """scores[h, s, m] of all modifiers m of h whose next sibling towards h is s; h itself where there is none."""
    steps, whatever_head = np.empty(n + 1, dtype=np.int64), np.empty((2, n + 1))
    for s in range(n + 1):
        steps_from(s, n, steps)
        # Without a sibling, next to the head s; and with the sibling s.
        for row, other in zip(whatever_head, (0, first + s)):  # noqa: B905 — Numba knows no `strict`
            row[:] = 0.0
            for t in range(keys.edges[SIBLING], keys.sibling_head):
                add_arcs(keys, t, int(keys.other[other, t]), first + 1, steps[1:], w, mask, row[1:])
        for h in range(n + 1) if s > 0 else range(1):
            row, other = scores[h, s], 0 if s == h else first + s
            low, high = 1 if s <= h else s + 1, n + 1 if s >= h else s
            row[low:high] = whatever_head[0 if s == h else 1, low:high]
            for t in range(keys.sibling_head, keys.edges[SIBLING + 1]):
                key = keys.head[row_of(first, h), t] + keys.other[other, t]
                add_arcs(keys, t, key, first + low, steps[low:high], w, mask, row[low:high])


@kernel
def _grandparent_keys(keys: TreeKeys, first: int, n: int) -> LongMatrix:
    """(templates, nodes) keys of all grandparents in a sentence; those of one template lie side by side."""
    begin, end = keys.edges[GRANDPARENT], keys.edges[GRANDPARENT + 1]
    others = np.empty((end - begin, n + 1), dtype=np.int64)
    for t in range(begin, end):
        for g in range(n + 1):
            others[t - begin, g] = keys.other[row_of(first, g), t]
    return others


@kernel
def _add_chains(
    key: int, others: LongVector, turns: LongVector, w: FloatVector, mask: int, row: FloatVector, begin: int, end: int
) -> None:
    """Add the weights of a template's features to the chains of one arc, for the grandparents begin … end − 1."""
    for node in range(begin, end):
        g = np.uint64(node)
        slot = np.uint64((key + others[g]) & mask)
        row[g] += w[slot] + w[slot + np.uint64(1 + turns[g])]


@kernel
def grandparent_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """scores[h, m, g] of all chains of words h and m with a grandparent g outside of them."""
    begin, with_head, end = keys.edges[GRANDPARENT], keys.grandparent_head, keys.edges[GRANDPARENT + 1]
    others = _grandparent_keys(keys, first, n)
    turns, whatever_head = np.empty(n + 1, dtype=np.int64), np.empty(n + 1)
    for m in range(1, n + 1):
        for head_after in (False, True):
            whatever_head[:] = 0.0
            for g in range(n + 1):
                turns[g] = turn_of(g, head_after, m)
            for t in range(begin, with_head):
                key = int(keys.modifier[first + m, t])
                _add_chains(key, others[t - begin], turns, w, mask, whatever_head, 0, n + 1)
            for h in range(m + 1, n + 1) if head_after else range(1, m):
                low, high, row = min(h, m), max(h, m) + 1, scores[h, m]
                row[:low], row[high:] = whatever_head[:low], whatever_head[high:]
                for t in range(with_head, end):
                    key = int(keys.head[first + h, t] + keys.modifier[first + m, t])
                    _add_chains(key, others[t - begin], turns, w, mask, row, 0, low)
                    _add_chains(key, others[t - begin], turns, w, mask, row, high, n + 1)


@kernel
def part_scores(data: TreeData, w: FloatVector, batch: IntVector, scales: FloatVector, scores: Scores) -> None:
    """Work out the scores of a batch; errors count `scales` times."""
    longest = 0
    for size in scores.sizes:
        longest = max(longest, size)
    keys = data.keys
    nodes, row, slots = np.empty((6 * (longest + 1), data.n_labels)), np.empty(data.n_labels), label_slots(keys)
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], scores.sizes[position]
        arcs, best = arcs_of(scores, position), labels_of(scores, position)
        arc_scores(data, w, batch[position], arcs)
        node_labels(keys, w, data.mask, first, n, nodes)
        for h in range(n + 1):
            for m in range(1, n + 1):
                if h != m:
                    label_row(keys, w, data.mask, first, h, m, nodes, slots, row)
                    if scales[position] != 0.0:
                        augment(data, first, h, m, scales[position], row)
                    best[h, m] = highest(row)
                    arcs[h, m] += row[best[h, m]]
        if len(scores.sibling) > 0:
            sibling_scores(keys, w, data.mask, first, n, siblings_of(scores, position))
        if len(scores.grandparent) > 0:
            grandparent_scores(keys, w, data.mask, first, n, grandparents_of(scores, position))


@kernel
def augment(data: TreeData, first: int, h: int, m: int, scale: float, row: FloatVector) -> None:
    """Add the errors of an arc's labels, `scale` times, to a row of their scores."""
    gold_head, gold_label = data.heads[first + m - 1], data.labels[first + m - 1]
    for label in range(len(row)):
        if h != gold_head:
            row[label] += scale * data.costs[0]
        elif label != gold_label:
            row[label] += scale * data.costs[1]
