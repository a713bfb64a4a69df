"""The best labelled binary tree over a sentence (Cocke, Kasami, Younger), with scores of spans, halves and rules.

    score(tree) = Σ over nodes span[i, j, l] + Σ over binary nodes (i, k, j, l) with children labelled p and q of
                  left[i, k, l] + left_rule[p, l]  +  right[k, j, l] + right_rule[q, l]

A *half* is a child as its parent sees it: its two ends with the parent's label. Every score of a split belongs to one
half or the other, so each half is maximised over the child's label once, in L² steps,

    first[i, k, l]  = left[i, k, l]  + max over p of best[i, k, p] + left_rule[p, l]
    second[k, j, l] = right[k, j, l] + max over q of best[k, j, q] + right_rule[q, l]
    best[i, j, l]   = span[i, j, l]  + max over k of first[i, k, l] + second[k, j, l]

and the loop over splits only adds two contiguous rows of labels: O(n² L² + n³ L). A span i … j is the row `cell(i, j)`
of charts with n (n + 1) / 2 rows. No back pointers are kept: the maxima are found again on the way down. Trees are
written as nodes in preorder, each before its left and then its right half; −inf forbids what it scores.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix


@kernel
def cell(i: int, j: int) -> int:
    """The row of the span i … j, 0 ≤ i < j, in a chart; spans are sorted by end, then by beginning.

    >>> [cell(i, j) for j in range(1, 4) for i in range(j)]
    [0, 1, 2, 3, 4, 5]
    """
    return j * (j - 1) // 2 + i


@kernel
def _add_best_child(best: FloatVector, rule: FloatMatrix, row: FloatVector, best_child: FloatVector) -> None:
    """row[l] += max over p of best[p] + rule[p, l]."""
    n_labels = len(row)
    for label in range(n_labels):
        best_child[label] = -np.inf
    for child in range(n_labels):
        score, rules = best[child], rule[child]
        if score > -np.inf:
            for label in range(n_labels):
                new, old = score + rules[label], best_child[label]
                best_child[label] = new if new > old else old
    for label in range(n_labels):
        row[label] += best_child[label]


@kernel
def _add_best_split(
    i: int, j: int, first: FloatMatrix, second: FloatMatrix, row: FloatVector, best: FloatVector
) -> None:
    """row[l] += max over k of first[i, k, l] + second[k, j, l]."""
    n_labels = len(row)
    for label in range(n_labels):
        best[label] = -np.inf
    for k in range(i + 1, j):
        one, other = first[cell(i, k)], second[cell(k, j)]
        for label in range(n_labels):
            new, old = one[label] + other[label], best[label]
            best[label] = new if new > old else old
    for label in range(n_labels):
        row[label] += best[label]


@kernel
def _fill(
    n: int,
    span: FloatMatrix,
    left: FloatMatrix,
    right: FloatMatrix,
    left_rule: FloatMatrix,
    right_rule: FloatMatrix,
) -> None:
    """Turn `span` into best, `left` into first and `right` into second, all in place."""
    scratch = np.empty(span.shape[1])
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            at = cell(i, j)
            if j - i > 1:
                _add_best_split(i, j, left, right, span[at], scratch)
            if i == 0:
                # Nothing lies to the left, so this span is no right half.
                if j < n:
                    _add_best_child(span[at], left_rule, left[at], scratch)
            else:
                _add_best_child(span[at], right_rule, right[at], scratch)
                if j < n:
                    _add_best_child(span[at], left_rule, left[at], scratch)


@kernel
def _best_label(best: FloatVector, rule: FloatMatrix, parent: int) -> int:
    """The child label that maximises best[p] + rule[p, parent], the lowest in a tie."""
    chosen = 0
    for label in range(1, len(best)):
        if best[label] + rule[label, parent] > best[chosen] + rule[chosen, parent]:
            chosen = label
    return chosen


@kernel
def _best_split(i: int, j: int, label: int, first: FloatMatrix, second: FloatMatrix) -> int:
    """The k that maximises first[i, k, label] + second[k, j, label], the lowest in a tie."""
    chosen = i + 1
    for k in range(i + 2, j):
        new = first[cell(i, k), label] + second[cell(k, j), label]
        if new > first[cell(i, chosen), label] + second[cell(chosen, j), label]:
            chosen = k
    return chosen


@kernel
def cky(
    n: int,
    span: FloatMatrix,
    left: FloatMatrix,
    right: FloatMatrix,
    left_rule: FloatMatrix,
    right_rule: FloatMatrix,
    nodes: IntMatrix,
) -> float:
    """Write the best tree to `nodes` and return its score; ties go to the lowest labels, then the lowest splits.

    Parameters
    ----------
    n : the number of words, at least one
    span, left, right : (≥ n (n + 1) / 2, L) charts, which are overwritten
    left_rule, right_rule : (L, L) arrays, rows for the child's label and columns for its parent's
    nodes : (2 n − 1, 3) output: begin, end and label of every node, in preorder
    """
    _fill(n, span, left, right, left_rule, right_rule)
    top = span[cell(0, n)]
    label = 0
    for other in range(1, len(top)):
        if top[other] > top[label]:
            label = other
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, n, label
    for r in range(2 * n - 1):
        i, j, parent = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if j - i > 1:
            k = _best_split(i, j, parent, left, right)
            # Below its parent a left half of m words takes 2 m − 1 rows; the right half follows.
            one, other = r + 1, r + 2 * (k - i)
            nodes[one, 0], nodes[one, 1] = i, k
            nodes[one, 2] = _best_label(span[cell(i, k)], left_rule, parent)
            nodes[other, 0], nodes[other, 1] = k, j
            nodes[other, 2] = _best_label(span[cell(k, j)], right_rule, parent)
    return top[label]
