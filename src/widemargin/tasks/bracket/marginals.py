"""Trees of constituents as a probability model: how trees differ from gold on average.

    p(y) ∝ exp(⟨w, φ(x, y)⟩ + error_scale · Δ(y));   −log p(gold) = log Z − ⟨w, φ(x, gold)⟩
    φ(x, gold) − E[φ(x, y)]:   for every part, whether gold has it, less the probability that a tree has it

A feature adds the row of its part, a number per label, to the weights from its slot on. Rows of different slots may
overlap, so features are sorted by slot, and rows are added up in a window that slides over the weights. Probabilities
below `NEGLIGIBLE` are taken for zero, because almost all of the spans have none to speak of.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.core.sparse import Draft, Rows, new_table, with_room
from widemargin.decoders.charts import TreeParts, cell, tree_score
from widemargin.decoders.cky_inside import InsideScores, new_inside
from widemargin.decoders.cky_sums import marked_inside_outside
from widemargin.tasks.bracket.difference import Layout
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketKeys,
    BracketWeights,
    Charts,
    PairKeys,
    gold_marks,
    gold_tree,
    longest_of,
    new_charts,
    pair_slots,
    part_scores,
    rule_scores,
)

NEGLIGIBLE = 1e-13


class Scratch(NamedTuple):
    """Arrays for the longest sentence of a batch.

    `rows` holds those of spans, of left and of right halves, then those of first words, last words and splits. The
    first three are the charts of `residual`.
    """

    scores: Charts
    inside: InsideScores
    rows: FloatMatrix
    residual: TreeParts


@kernel
def _new_scratch(data: BracketData, batch: IntVector) -> Scratch:
    scores, longest, n_labels = new_charts(data, batch), longest_of(data, batch), data.allowed.shape[1]
    n_cells = longest * (longest + 1) // 2
    rows, rules = np.empty((3 * (n_cells + longest), n_labels)), np.empty((2, n_labels, n_labels))
    one, two, three = rows[:n_cells], rows[n_cells : 2 * n_cells], rows[2 * n_cells : 3 * n_cells]
    return Scratch(scores, new_inside(longest, n_labels), rows, TreeParts(one, two, three, rules[0], rules[1]))


@kernel
def _subtract_from_gold(nodes: IntMatrix, parts: TreeParts) -> None:
    """Turn the probabilities of parts into whether gold has them less these."""
    n_cells = nodes[0, 1] * (nodes[0, 1] + 1) // 2
    for chart in (parts.span[:n_cells], parts.left[:n_cells], parts.right[:n_cells], parts.left_rule, parts.right_rule):
        for row in range(len(chart)):
            for label in range(chart.shape[1]):
                chart[row, label] = -chart[row, label]
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        parts.span[cell(i, j), label] += 1.0
        if j - i > 1:
            k = nodes[r + 1, 1]
            parts.left[cell(i, k), label] += 1.0
            parts.right[cell(k, j), label] += 1.0
            parts.left_rule[nodes[r + 1, 2], label] += 1.0
            parts.right_rule[nodes[r + 2 * (k - i), 2], label] += 1.0


@kernel
def _sum_singles(n: int, residual: TreeParts, singles: FloatMatrix) -> None:
    """Sum the rows of spans by first and by last word, and those of left halves by the word after them."""
    n_labels = singles.shape[1]
    singles[: 3 * n] = 0.0
    for u in range(1, n + 1):
        for t in range(u):
            at = cell(t, u)
            first, last, span = singles[t], singles[n + u - 1], residual.span[at]
            for label in range(n_labels):
                first[label] += span[label]
                last[label] += span[label]
            if u < n:
                split, left = singles[2 * n + u], residual.left[at]
                for label in range(n_labels):
                    split[label] += left[label]


@kernel
def _matters(row: FloatVector) -> bool:
    largest = 0.0
    for label in range(len(row)):
        largest = max(largest, abs(row[label]))
    return largest > NEGLIGIBLE


@kernel
def _add_pairs(
    keys: BracketKeys, pairs: PairKeys, begin: int, n: int, mask: int, rows: FloatMatrix, place: int,
    slots: IntVector, sources: IntVector, m: int,
) -> int:  # fmt: skip
    """Append the slots of a chart's features, and which of `rows` they have; its own begin at `place`."""
    for u in range(1, n + 1):
        for t in range(u):
            source = place + cell(t, u)
            if pairs.begin.shape[1] > 0 and _matters(rows[source]):
                end = m + pairs.begin.shape[1]
                pair_slots(keys, pairs, begin + t, begin + u, mask, slots[m:end])
                sources[m:end] = source
                m = end
    return m


@kernel
def _add_singles(
    keys: IntMatrix, begin: int, n: int, mask: int, place: int, slots: IntVector, sources: IntVector, m: int
) -> int:
    for t in range(n):
        for template in range(keys.shape[1]):
            slots[m], sources[m] = int(keys[begin + t, template]) & mask, place + t
            m += 1
    return m


@kernel
def _append(row: FloatVector, offset: int, n: int, draft: Draft, write: int) -> tuple[Draft, int]:
    """Append the first `n` entries of `row` that matter, at the weights from `offset` on."""
    draft = with_room(draft, write, n)
    for j in range(n):
        if abs(row[j]) > NEGLIGIBLE:
            draft.indices[write], draft.values[write] = offset + j, row[j]
            write += 1
    return draft, write


@kernel
def _append_rows(
    slots: IntVector, sources: IntVector, rows: FloatMatrix, draft: Draft, write: int
) -> tuple[Draft, int]:
    """Append the sums of rows by weight: that of entry m lies at the weights from slots[m] on."""
    n_labels, at = rows.shape[1], 0
    window = np.zeros(n_labels)
    for m in np.argsort(slots):
        shift = min(slots[m] - at, n_labels)
        if shift > 0:
            draft, write = _append(window, at, shift, draft, write)
            for label in range(n_labels):
                window[label] = window[label + shift] if label + shift < n_labels else 0.0
            at = slots[m]
        row = rows[sources[m]]
        for label in range(n_labels):
            window[label] += row[label]
    return _append(window, at, n_labels, draft, write)


@kernel
def _append_features(
    data: BracketData, layout: Layout, i: int, scratch: Scratch, draft: Draft, write: int
) -> tuple[Draft, int]:
    """Append the sums of all features of sentence i, whose residuals are known."""
    keys, rows, residual = data.keys, scratch.rows, scratch.residual
    begin, n, mask = data.indptr[i], data.indptr[i + 1] - data.indptr[i], layout.mask
    n_cells, n_all = n * (n + 1) // 2, len(residual.span)
    _sum_singles(n, residual, rows[3 * n_all :])
    size = n_cells * (keys.spans.begin.shape[1] + keys.lefts.begin.shape[1] + keys.rights.begin.shape[1])
    size += n * (keys.first.shape[1] + keys.last.shape[1] + keys.split.shape[1])
    slots, sources = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    m = _add_pairs(keys, keys.spans, begin, n, mask, rows, 0, slots, sources, 0)
    m = _add_pairs(keys, keys.lefts, begin, n, mask, rows, n_all, slots, sources, m)
    m = _add_pairs(keys, keys.rights, begin, n, mask, rows, 2 * n_all, slots, sources, m)
    m = _add_singles(keys.first, begin, n, mask, 3 * n_all, slots, sources, m)
    m = _add_singles(keys.last, begin, n, mask, 3 * n_all + n, slots, sources, m)
    m = _add_singles(keys.split, begin, n, mask, 3 * n_all + 2 * n, slots, sources, m)
    draft, write = _append_rows(slots[:m], sources[:m], rows, draft, write)
    L = layout.n_labels
    draft, write = _append(residual.left_rule.reshape(L * L), layout.rules, L * L, draft, write)
    return _append(residual.right_rule.reshape(L * L), layout.rules + L * L, L * L, draft, write)


@kernel
def expectation(
    data: BracketData, layout: Layout, weights: BracketWeights, batch: IntVector, error_scale: float
) -> tuple[FloatVector, Rows]:
    """−log p of the gold trees, and how trees differ from gold on average."""
    scratch, rules = _new_scratch(data, batch), rule_scores(data, weights)
    errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    draft, write = Draft(np.empty(1024, dtype=np.int32), np.empty(1024), new_table(1)), 0
    scores = scratch.scores
    parts = TreeParts(scores.span, scores.left, scores.right, rules[0], rules[1])
    for position in range(len(batch)):
        i = batch[position]
        n = part_scores(data, weights, i, error_scale, scores)
        gold, marks = gold_tree(data, i), gold_marks(data, i, error_scale)
        total = marked_inside_outside(n, parts, marks, scratch.residual, scratch.inside)
        errors[position] = max(total - tree_score(gold, parts) - marks.extra.sum(), 0.0)
        _subtract_from_gold(gold, scratch.residual)
        draft, write = _append_features(data, layout, i, scratch, draft, write)
        indptr[position + 1] = write
    return errors, Rows(indptr, draft.indices[:write], draft.values[:write])
