"""How binary trees differ from gold: what gold lacks, nodes or productions, and features that only one of them has."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, with_room
from widemargin.decoders.charts import cell
from widemargin.tasks.bracket.scores import BracketData, BracketKeys, PairKeys, gold_tree, new_slots, pair_slots


class Layout(NamedTuple):
    """How many labels there are, the slots' mask, and where the weights of rules begin."""

    n_labels: int
    mask: int
    rules: int


@kernel
def parents(nodes: IntMatrix, n_labels: int) -> IntVector:
    """For every node, side · L + the label of its parent, where side is 0 on the left and 1 on the right; −1 on top."""
    found = np.full(len(nodes), -1, dtype=np.int32)
    for r in range(len(nodes)):
        if nodes[r, 1] - nodes[r, 0] > 1:
            found[r + 1] = nodes[r, 2]
            found[r + 2 * (nodes[r + 1, 1] - nodes[r, 0])] = n_labels + nodes[r, 2]
    return found


@kernel
def same_halves(nodes: IntMatrix, r: int, others: IntMatrix, s: int) -> bool:
    """Whether the nodes r and s of two trees, over the same words, are split alike into halves with the same labels."""
    size = nodes[r, 1] - nodes[r, 0]
    if size == 1:
        return True
    left = 2 * (nodes[r + 1, 1] - nodes[r, 0])
    if nodes[r + 1, 1] != others[s + 1, 1] or nodes[r + 1, 2] != others[s + 1, 2]:
        return False
    return nodes[r + left, 2] == others[s + left, 2]


@kernel
def _push(draft: Draft, write: int, index: int, value: float) -> int:
    draft.indices[write], draft.values[write] = index, value
    return write + 1


@kernel
def _push_single(
    draft: Draft, write: int, keys: IntMatrix, token: int, layout: Layout, label: int, value: float
) -> int:
    for template in range(keys.shape[1]):
        write = _push(draft, write, (int(keys[token, template]) & layout.mask) + label, value)
    return write


@kernel
def _push_pair(
    draft: Draft,
    write: int,
    keys: BracketKeys,
    pairs: PairKeys,
    begin: int,
    end: int,
    layout: Layout,
    label: int,
    value: float,
) -> int:
    slots = new_slots(pairs)
    pair_slots(keys, pairs, begin, end, layout.mask, slots)
    for slot in slots:
        write = _push(draft, write, slot + label, value)
    return write


@kernel
def _push_span(
    draft: Draft, write: int, keys: BracketKeys, begin: int, end: int, layout: Layout, label: int, value: float
) -> int:
    """Append the features of a span with its label."""
    write = _push_single(draft, write, keys.first, begin, layout, label, value)
    write = _push_single(draft, write, keys.last, end - 1, layout, label, value)
    return _push_pair(draft, write, keys, keys.spans, begin, end, layout, label, value)


@kernel
def _push_half(
    draft: Draft,
    write: int,
    keys: BracketKeys,
    begin: int,
    end: int,
    layout: Layout,
    label: int,
    parent: int,
    value: float,
) -> int:
    """Append the features of a half, and its rule, with its parent's side and label."""
    L = layout.n_labels
    side, above = parent // L, parent % L
    write = _push(draft, write, layout.rules + (side * L + label) * L + above, value)
    if side:
        return _push_pair(draft, write, keys, keys.rights, begin, end, layout, above, value)
    write = _push_single(draft, write, keys.split, end, layout, above, value)
    return _push_pair(draft, write, keys, keys.lefts, begin, end, layout, above, value)


@kernel
def _push_others(
    draft: Draft,
    write: int,
    layout: Layout,
    begin: int,
    nodes: IntMatrix,
    others: IntMatrix,
    chart: IntVector,
    data: BracketData,
    value: float,
) -> tuple[int, float]:
    """Append the features that `nodes` have and `others` lack; return the new end, and the cost of these nodes."""
    keys, cost = data.keys, 0.0
    above, others_above = parents(nodes, layout.n_labels), parents(others, layout.n_labels)
    for r in range(len(chart)):
        chart[r] = -1
    for r in range(len(others)):
        chart[cell(others[r, 0], others[r, 1])] = r
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        other = chart[cell(i, j)]
        same = other >= 0 and others[other, 2] == label
        if not same or (data.by_productions and not same_halves(nodes, r, others, other)):
            cost += data.costs[label]
        if not same:
            write = _push_span(draft, write, keys, begin + i, begin + j, layout, label, value)
        if above[r] >= 0 and not (same and others_above[other] == above[r]):
            write = _push_half(draft, write, keys, begin + i, begin + j, layout, label, above[r], value)
    return write, cost


@kernel
def difference(
    data: BracketData, layout: Layout, batch: IntVector, starts: LongVector, nodes: IntMatrix
) -> tuple[FloatVector, Rows]:
    """Errors and feature differences of trees whose nodes lie end to end."""
    keys = data.keys
    errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    draft = Draft(np.empty(1024, dtype=np.int32), np.empty(1024), new_table(64))
    n_templates = keys.first.shape[1] + keys.last.shape[1] + keys.split.shape[1] + keys.spans.begin.shape[1]
    n_templates += keys.lefts.begin.shape[1] + keys.rights.begin.shape[1]
    for position in range(len(batch)):
        i, end = batch[position], indptr[position]
        begin, n = data.indptr[i], data.indptr[i + 1] - data.indptr[i]
        gold = gold_tree(data, i)
        found = nodes[starts[position] : starts[position + 1]]
        draft = with_room(draft, end, 4 * n * (n_templates + 1))
        chart = np.empty(n * (n + 1) // 2, dtype=np.int32)
        write, _ = _push_others(draft, end, layout, begin, gold, found, chart, data, 1.0)
        write, wrong = _push_others(draft, write, layout, begin, found, gold, chart, data, -1.0)
        errors[position] = wrong
        indptr[position + 1] = coalesce(draft.indices, draft.values, end, write, end, draft.table)
    end = indptr[len(batch)]
    return errors, Rows(indptr, draft.indices[:end], draft.values[:end])
