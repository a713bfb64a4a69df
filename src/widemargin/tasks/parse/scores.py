"""Scores of dependency trees by the features of their parts: arcs, their labels, pairs of siblings, and grandparents.

    arcs[h, m, l] = Σ w over the slots of the arc, its label, and what is between
    siblings[h, s, m], grandparents[h, m, g] = Σ w over their slots

Fetching weights takes most of the time. So the loops here are not those over the slots of one part (`keys`): they run
along rows of parts, and features that look at fewer tokens than a part has are summed up once.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.decoders.highest import highest
from widemargin.structures.dependencies import ArcScores, grandparents_of, siblings_of
from widemargin.structures.rows import add_rows
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
    add_arcs,
    direction_of,
    group_slots,
    row_of,
    step_of,
    steps_from,
    token_slots,
    turn_of,
)


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
def _arcs_from(
    data: TreeData, w: FloatVector, first: int, h: int, nearest: LongMatrix, steps: LongVector, row: FloatVector
) -> None:
    """Write the scores of the arcs from h whatever their labels."""
    keys, n = data.keys, len(row) - 1
    row[:] = 0.0
    steps_from(h, n, steps)
    for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
        add_arcs(keys, t, int(keys.head[row_of(first, h), t]), first + 1, steps[1:], w, data.mask, row[1:])
    if keys.edges[BETWEEN] < keys.edges[BETWEEN + 1]:
        _add_between(data, w, first, h, nearest, steps, row)


@kernel
def _node_labels(data: TreeData, w: FloatVector, first: int, n: int, slots: IntVector, nodes: FloatMatrix) -> None:
    """Label scores of one token and a direction: row 6 · node + direction as a modifier, 3 rows further as a head."""
    for row in range(6 * (n + 1)):
        for label in range(nodes.shape[1]):
            nodes[row, label] = 0.0
        group, direction = LABEL_MODIFIER if row % 6 < 3 else LABEL_HEAD, row % 3
        count = token_slots(data, first, row // 6, direction, group, slots)
        add_rows(w, slots[:count], nodes[row])


@kernel
def _add_labels(
    data: TreeData, w: FloatVector, first: int, h: int, m: int, nodes: FloatMatrix, slots: IntVector, row: FloatVector
) -> None:
    """Add the scores of all labels of an arc to a row; `slots` is scratch."""
    step = step_of(h, m)
    modifier, head = 6 * m + direction_of(step), 6 * h + 3 + direction_of(step)
    count = group_slots(data, LABEL, row_of(first, h), first + m, 0, step, slots, 0)
    for label in range(len(row)):
        row[label] += nodes[modifier, label] + nodes[head, label]
    add_rows(w, slots[:count], row)


@kernel
def _sibling_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
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
def _grandparent_scores(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
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
def add_scores(data: TreeData, w: FloatVector, batch: IntVector, longest: int, scores: ArcScores) -> None:
    """Add the scores of a batch to its costs, which `structures.arc_costs` has filled in."""
    keys, all_arcs, labels = data.keys, scores.arcs, scores.labels
    nodes, slots = np.empty((6 * (longest + 1), data.n_labels)), np.empty(keys.edges[LABEL_MODIFIER + 1], np.int32)
    arcs, steps, row = np.empty(longest + 1), np.empty(longest + 1, dtype=np.int64), np.empty(data.n_labels)
    has_between = keys.edges[BETWEEN] < keys.edges[BETWEEN + 1]
    for k in range(len(batch)):
        first, n = data.indptr[batch[k]], scores.sizes[k]
        nearest = _same_values(keys, first, n if has_between else 0)
        _node_labels(data, w, first, n, slots, nodes)
        for h in range(n + 1):
            _arcs_from(data, w, first, h, nearest, steps[: n + 1], arcs[: n + 1])
            for m in range(1, n + 1):
                at = scores.starts[k] + h * (n + 1) + m
                if h == m:
                    continue
                if len(labels) == 0:
                    for label in range(data.n_labels):
                        all_arcs[at, label] += arcs[m]
                    _add_labels(data, w, first, h, m, nodes, slots, all_arcs[at])
                    continue
                for label in range(data.n_labels):
                    row[label] = all_arcs[at, 0]
                if labels[at] >= 0:
                    row[labels[at]] = 0.0
                _add_labels(data, w, first, h, m, nodes, slots, row)
                labels[at] = highest(row)
                all_arcs[at, 0] = arcs[m] + row[labels[at]]
        if len(scores.siblings) > 0:
            _sibling_scores(keys, w, data.mask, first, n, siblings_of(scores, k))
        if len(scores.grandparents) > 0:
            _grandparent_scores(keys, w, data.mask, first, n, grandparents_of(scores, k))
