"""Kernels over batches of binary trees: CKY is given float64 scores, so that it is compiled once.

Spans are (B, cells, L), rules (2, L, L); or (2, 0, 0) where kernels allow that rules are not scored.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix, LongVector
from widemargin.decoders.charts import TreeParts, cell, new_parts, no_marks
from widemargin.decoders.cky import best_tree
from widemargin.decoders.cky_inside import new_inside
from widemargin.decoders.cky_kbest import cky_kbest
from widemargin.decoders.cky_sums import inside_outside


@kernel
def first_wrong(trees: IntMatrix, lengths: LongVector, n_labels: int) -> tuple[int, int]:
    """The first row that is not the next node of a tree in preorder; (−1, −1) if there is none."""
    for b in range(len(trees)):
        n = lengths[b]
        ends, waiting, at = np.empty(n + 1, dtype=np.int64), 0, 0  # ends of right children still to come
        low, high = n, n
        for r in range(2 * n - 1):
            begin, end, label = trees[b, r, 0], trees[b, r, 1], trees[b, r, 2]
            if not (begin == at and low <= end <= high and 0 <= label < n_labels):
                return b, r
            if end - begin > 1:  # next is the left child
                ends[waiting] = end
                waiting += 1
                low, high = begin + 1, end - 1
            else:  # next is the right child of the last that waits for one
                at = end
                waiting -= 1
                low = high = ends[waiting] if waiting >= 0 else -1
    return -1, -1


@kernel
def _load(spans: AnyArray, rules: FloatMatrix, n: int, parts: TreeParts) -> None:
    """Fill in the scores of a sentence of n words; halves score nothing."""
    n_labels = spans.shape[1]
    for c in range(n * (n + 1) // 2):
        for label in range(n_labels):
            parts.span[c, label] = spans[c, label]
            parts.left[c, label] = parts.right[c, label] = 0.0
    for child in range(n_labels):
        for label in range(n_labels):
            parts.left_rule[child, label], parts.right_rule[child, label] = (
                rules[0, child, label],
                rules[1, child, label],
            )


@kernel
def _words(n_cells: int) -> int:
    n = 0
    while (n + 1) * (n + 2) // 2 <= n_cells:
        n += 1
    return n


@kernel
def decode(spans: AnyArray, rules: FloatMatrix, lengths: LongVector, nodes: IntMatrix) -> None:
    """Write the nodes of the best trees."""
    parts, marks = new_parts(_words(spans.shape[1]), spans.shape[2]), no_marks()
    for b in range(len(lengths)):
        n = lengths[b]
        if n > 0:
            _load(spans[b], rules, n, parts)
            best_tree(n, parts, marks, nodes[b, : 2 * n - 1])


@kernel
def k_best(spans: AnyArray, rules: FloatMatrix, lengths: LongVector, nodes: IntMatrix, totals: FloatMatrix) -> None:
    """Write the nodes of the best trees, (B, k, 2 T − 1, 3), and their scores, (B, k)."""
    parts, marks = new_parts(_words(spans.shape[1]), spans.shape[2]), no_marks()
    k = totals.shape[1]
    for b in range(len(lengths)):
        n = lengths[b]
        if n == 0:
            totals[b, 0] = 0.0
            continue
        _load(spans[b], rules, n, parts)
        trees, found = np.empty((k, 2 * n - 1, 3), dtype=np.int32), np.empty(k)
        for rank in range(cky_kbest(n, parts, marks, trees, found)):
            totals[b, rank] = found[rank]
            for r in range(2 * n - 1):
                for column in range(3):
                    nodes[b, rank, r, column] = trees[rank, r, column]


@kernel
def put_labels(labels: IntMatrix, lengths: LongVector, nodes: IntMatrix) -> None:
    """Label the nodes as their cells are labelled."""
    for b in range(len(lengths)):
        for r in range(2 * lengths[b] - 1):
            nodes[b, r, 2] = labels[b, cell(nodes[b, r, 0], nodes[b, r, 1])]


@kernel
def _total(spans: AnyArray, rules: AnyArray, n: int, nodes: IntMatrix) -> float:
    total = 0.0
    for r in range(2 * n - 1):
        total += spans[cell(nodes[r, 0], nodes[r, 1]), nodes[r, 2]]
    if rules.shape[1] > 0:
        for r in range(2 * n - 1):
            i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
            if j - i > 1:
                total += rules[0, nodes[r + 1, 2], label] + rules[1, nodes[r + 2 * (nodes[r + 1, 1] - i), 2], label]
    return total


@kernel
def totals(spans: AnyArray, rules: AnyArray, lengths: LongVector, nodes: IntMatrix, out: FloatVector) -> None:
    """Write the score of each tree."""
    for b in range(len(lengths)):
        out[b] = _total(spans[b], rules, lengths[b], nodes[b])


@kernel
def add_counts(spans: AnyArray, rules: AnyArray, lengths: LongVector, nodes: IntMatrix, weights: FloatVector) -> None:
    """Add the counts of each tree, times its weight."""
    for b in range(len(lengths)):
        weight = weights[b]
        for r in range(2 * lengths[b] - 1):
            i, j, label = nodes[b, r, 0], nodes[b, r, 1], nodes[b, r, 2]
            spans[b, cell(i, j), label] += weight
            if j - i > 1 and rules.shape[1] > 0:
                rules[0, nodes[b, r + 1, 2], label] += weight
                rules[1, nodes[b, r + 2 * (nodes[b, r + 1, 1] - i), 2], label] += weight


@kernel
def sums(
    spans: AnyArray,
    rules: FloatMatrix,
    lengths: LongVector,
    out: FloatVector,
    expected: AnyArray,
    expected_rules: FloatMatrix,
) -> None:
    """Write log Z of each sentence, the probabilities of spans, and the expected counts of rules."""
    longest, n_labels = _words(spans.shape[1]), spans.shape[2]
    parts, posteriors = new_parts(longest, n_labels), new_parts(longest, n_labels)
    scratch = new_inside(longest, n_labels)
    for b in range(len(lengths)):
        n = lengths[b]
        out[b] = 0.0
        if n > 0:
            _load(spans[b], rules, n, parts)
            out[b] = inside_outside(n, parts, posteriors, scratch)
            for c in range(n * (n + 1) // 2):
                for label in range(n_labels):
                    expected[b, c, label] = posteriors.span[c, label]
            for child in range(n_labels):
                for label in range(n_labels):
                    expected_rules[b, 0, child, label] = posteriors.left_rule[child, label]
                    expected_rules[b, 1, child, label] = posteriors.right_rule[child, label]
