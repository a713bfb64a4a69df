"""Scores of dependency trees by the features of their parts: arcs, their labels, pairs of siblings, and grandparents.

    arcs[h, m, l] = Σ w over the slots of the arc, its label, and the tokens between
    siblings[h, s, m], grandparents[h, m, g] = Σ w over their slots

Fetching weights takes most of the time. So the loops run along rows of parts instead of over the slots of one part
(`keys`), and features that look at fewer tokens than a part has are summed up once.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.decoders.scores import highest
from widemargin.structures.costs import cost_row
from widemargin.structures.flat import Scores, longest_of
from widemargin.structures.hashed import add_rows
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
    direction_of,
    group_slots,
    row_of,
    slot_room,
    step_of,
    token_slots,
    turn_of,
)


@kernel
def _steps_from(node: int, n: int, steps: LongVector) -> None:
    """Write the steps from a node to the tokens 1 … n of its sentence."""
    for m in range(1, n + 1):
        steps[m] = step_of(node, m)


@kernel
def _add_arcs(
    keys: TreeKeys,
    t: int,
    key: int,
    modifier: int,
    steps: LongVector,
    w: FloatVector,
    mask: int,
    row: FloatVector,
) -> None:
    """Add the weights of a template's features to a row of arcs; the keys of their modifiers begin at row `modifier`.

    `key` is the sum of the keys of all other roles. The sums are independent, so that fetches overlap.
    """
    for m in range(len(row)):
        slot = np.uint64((key + keys.modifier[np.uint64(modifier + m), np.uint64(t)]) & mask)
        step = np.uint64(1 + steps[np.uint64(m)])
        row[np.uint64(m)] += w[slot] + w[slot + step]


@kernel
def _same_values(keys: TreeKeys, first: int, n: int) -> LongMatrix:
    """The nearest tokens with the same value of `between`: before it (row 0; 0 if none), after it (row 1; n + 1)."""
    value, nearest = keys.edges[BETWEEN], np.empty((2, n + 1), dtype=np.int64)
    for m in range(1, n + 1):
        nearest[0, m], nearest[1, m] = 0, n + 1
        for before in range(m - 1, 0, -1):
            if keys.other[first + before, value] == keys.other[first + m, value]:
                nearest[0, m], nearest[1, before] = before, m
                break
    return nearest


@kernel
def _arcs_from(
    data: TreeData, w: FloatVector, first: int, h: int, nearest: LongMatrix, steps: LongVector, row: FloatVector
) -> None:
    """Write the scores of the arcs from h without labels."""
    keys, mask, n, head = data.keys, data.mask, len(row) - 1, row_of(first, h)
    row[:] = 0.0
    _steps_from(h, n, steps)
    for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
        _add_arcs(keys, t, int(keys.head[head, t]), first + 1, steps[1:], w, mask, row[1:])
    # A token counts for all modifiers beyond it, seen from h, if no token closer to h has the same value.
    for t in range(keys.edges[BETWEEN], keys.edges[BETWEEN + 1]):
        for node in range(1, n):
            key = keys.head[head, t] + keys.other[first + node, t]
            if node > h and nearest[0, node] <= h:
                _add_arcs(keys, t, key, first + node + 1, steps[node + 1 :], w, mask, row[node + 1 :])
            elif node < h and nearest[1, node] >= h:
                _add_arcs(keys, t, key, first + 1, steps[1:node], w, mask, row[1:node])


@kernel
def _node_labels(data: TreeData, w: FloatVector, first: int, n: int, slots: IntVector, nodes: FloatMatrix) -> None:
    """Label scores by one token and a direction: as a modifier in row 6 · node + direction, as a head 3 rows below."""
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
def _write_siblings(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """Write scores[h, s, m] of all modifiers m of h whose next sibling towards h is s; s = h stands for none."""
    steps, whatever_head = np.empty(n + 1, dtype=np.int64), np.empty((2, n + 1))
    for s in range(n + 1):
        _steps_from(s, n, steps)
        # Row 0: m is the first modifier of its head s. Row 1: m has the sibling s.
        for row, other in zip(whatever_head, (0, first + s)):  # noqa: B905 — Numba knows no `strict`
            row[:] = 0.0
            for t in range(keys.edges[SIBLING], keys.sibling_head):
                _add_arcs(keys, t, int(keys.other[other, t]), first + 1, steps[1:], w, mask, row[1:])
        for h in range(n + 1) if s > 0 else range(1):
            row, other = scores[h, s], 0 if s == h else first + s
            low, high = 1 if s <= h else s + 1, n + 1 if s >= h else s
            row[low:high] = whatever_head[0 if s == h else 1, low:high]
            for t in range(keys.sibling_head, keys.edges[SIBLING + 1]):
                key = keys.head[row_of(first, h), t] + keys.other[other, t]
                _add_arcs(keys, t, key, first + low, steps[low:high], w, mask, row[low:high])


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
def _write_grandparents(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """Write scores[h, m, g] of all chains of words h and m with a grandparent g outside of them."""
    begin, with_head, end = keys.edges[GRANDPARENT], keys.grandparent_head, keys.edges[GRANDPARENT + 1]
    turns, whatever_head = np.empty(n + 1, dtype=np.int64), np.empty(n + 1)
    # Transposed, so that the loop over grandparents reads the keys of one template one after the other.
    others = np.empty((end - begin, n + 1), dtype=np.int64)
    for t in range(begin, end):
        for g in range(n + 1):
            others[t - begin, g] = keys.other[row_of(first, g), t]
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
def add_scores(
    data: TreeData,
    w: FloatVector,
    batch: IntVector,
    scores: Scores,
    gold: IntVector,
    costs: FloatVector,
    scales: FloatVector,
    labels: IntVector,
) -> None:
    """Add the scores of a batch to its costs, which `structures.dependencies` has written; triples have no costs.

    If `labels` is not empty, only the best label of each arc is kept: its number in `labels`, its score with costs in
    `scores`, whose old contents are ignored. This is faster than storing the scores of all labels.
    """
    keys, folded, n_labels, longest = data.keys, len(labels) > 0, data.n_labels, longest_of(scores.sizes)
    nodes, (slots, _) = np.empty((6 * (longest + 1), n_labels)), slot_room(data, 0)
    arcs, steps, row = np.empty(longest + 1), np.empty(longest + 1, dtype=np.int64), np.empty(n_labels)
    has_between, read = keys.edges[BETWEEN] < keys.edges[BETWEEN + 1], 0
    for k in range(len(batch)):
        first, n, own = data.indptr[batch[k]], scores.sizes[k], scores.own[scores.starts[k] :]
        size = n + 1
        # Without templates on tokens between, there is no column of keys to compare tokens by.
        nearest = _same_values(keys, first, n if has_between else 0)
        _node_labels(data, w, first, n, slots, nodes)
        for h in range(size):
            _arcs_from(data, w, first, h, nearest, steps[:size], arcs[:size])
            # Labels come after all arcs from h, in the order in which they are stored: n_labels numbers for each m.
            for m in range(1, size):
                arc = h * size + m
                if h == m:
                    own[arc] = 0.0 if folded else own[arc]
                    continue
                if not folded:
                    kept = own[arc * n_labels : (arc + 1) * n_labels]
                    for label in range(n_labels):
                        kept[label] += arcs[m]
                    _add_labels(data, w, first, h, m, nodes, slots, kept)
                    continue
                cost_row(gold[first + m - 1] if scales[k] != 0.0 else -1, h, costs, scales[k], row)
                _add_labels(data, w, first, h, m, nodes, slots, row)
                best = highest(row)
                labels[read + arc], own[arc] = best, arcs[m] + row[best]
        read += size * size
        own = own[size * size * (1 if folded else n_labels) :]
        if data.n_triples > 0:
            _write_siblings(keys, w, data.mask, first, n, own[: size**3].reshape(size, size, size))
        if data.n_triples > 1:
            _write_grandparents(keys, w, data.mask, first, n, own[size**3 : 2 * size**3].reshape(size, size, size))
