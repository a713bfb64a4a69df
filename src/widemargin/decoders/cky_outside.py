"""The best labelled binary tree through every node of a sentence: max-marginals from inside and outside maxima.

Let the charts of `cky` be filled. *Outside*, outer[i, j, l] is the best score of a tree with the node (i, j, l),
without that of the node and all below. For halves, what is left out begins with the half itself:

    outer_first[i, k, l]  = max over j of outer[i, j, l] + span[i, j, l] + second[k, j, l]
    outer_second[k, j, l] = max over i of outer[i, j, l] + span[i, j, l] + first[i, k, l]
    outer[i, j, p] = max over l of outer_first[i, j, l]  + left[i, j, l]  + left_rule[p, l],
                                   outer_second[i, j, l] + right[i, j, l] + right_rule[p, l]

The best tree with the node (i, j, l) split at k scores outer[i, j, l] + span[i, j, l] + first[i, k, l] +
second[k, j, l]. Its upper part is found by climbing from the node to the top, where the maxima are found again.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix
from widemargin.decoders.charts import Marks, TreeParts, cell, no_marks
from widemargin.decoders.cky import left_scores, put_halves, right_scores, unfold
from widemargin.decoders.highest import highest


class OuterScores(NamedTuple):
    """Charts of the same shape as `TreeParts.span`: of nodes, of left halves and of right halves."""

    nodes: FloatMatrix
    first: FloatMatrix
    second: FloatMatrix


@kernel
def new_outer(n: int, n_labels: int) -> OuterScores:
    """Charts for a sentence of up to `n` words."""
    n_cells = n * (n + 1) // 2
    return OuterScores(np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)))


@kernel
def _take_best_parent(half: FloatVector, part: FloatVector, rule: FloatMatrix, outer: FloatVector) -> None:
    """outer[p] = max(outer[p], max over l of half[l] + part[l] + rule[p, l])."""
    for child in range(len(outer)):
        best, rules = outer[child], rule[child]
        for label in range(len(half)):
            best = max(best, half[label] + part[label] + rules[label])
        outer[child] = best


@kernel
def _raise(row: FloatVector, above: FloatVector, beside: FloatVector) -> None:
    """row[l] = max(row[l], above[l] + beside[l])."""
    for label in range(len(row)):
        new, old = above[label] + beside[label], row[label]
        row[label] = new if new > old else old


@kernel
def outside(n: int, parts: TreeParts, filled: TreeParts, outer: OuterScores) -> None:
    """Fill in the outer scores from long spans to short ones.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores
    filled : the same after `cky.fill`
    outer : the output
    """
    n_cells, n_labels = n * (n + 1) // 2, parts.span.shape[1]
    for chart in outer:
        chart[:n_cells] = -np.inf
    outer.nodes[cell(0, n)] = 0.0
    above = np.empty(n_labels)
    for j in range(n, 0, -1):
        for i in range(j):
            at = cell(i, j)
            row = outer.nodes[at]
            if j < n:
                _take_best_parent(outer.first[at], parts.left[at], parts.left_rule, row)
            if i > 0:
                _take_best_parent(outer.second[at], parts.right[at], parts.right_rule, row)
            for label in range(n_labels):
                above[label] = row[label] + parts.span[at, label]
            for k in range(i + 1, j):
                one, other = cell(i, k), cell(k, j)
                _raise(outer.first[one], above, filled.right[other])
                _raise(outer.second[other], above, filled.left[one])


@kernel
def _best_parent(half: FloatVector, part: FloatVector, rules: FloatVector) -> tuple[int, float]:
    """The label l that maximises half[l] + part[l] + rules[l], and the maximum."""
    best, score = 0, -np.inf
    for label in range(len(half)):
        new = half[label] + part[label] + rules[label]
        if new > score:
            best, score = label, new
    return best, score


@kernel
def _climb(
    n: int, i: int, j: int, label: int, parts: TreeParts, filled: TreeParts, outer: OuterScores, path: IntMatrix
) -> int:
    """Write the nodes above (i, j, label) to `path`, from this node up to the top; return how many there are."""
    size = 0
    while True:
        path[size, 0], path[size, 1], path[size, 2] = i, j, label
        size += 1
        if j - i == n:
            return size
        at, parent, is_left = cell(i, j), 0, False
        score = -np.inf
        if j < n:
            parent, score = _best_parent(outer.first[at], parts.left[at], parts.left_rule[label])
            is_left = True
        if i > 0:
            other, other_score = _best_parent(outer.second[at], parts.right[at], parts.right_rule[label])
            if other_score > score or j == n:
                parent, is_left = other, False
        begin, end, score = i, j, -np.inf
        if is_left:
            for u in range(j + 1, n + 1):
                above = outer.nodes[cell(i, u), parent] + parts.span[cell(i, u), parent]
                new = above + filled.right[cell(j, u), parent]
                if new > score or end == j:
                    end, score = u, new
        else:
            for t in range(i):
                above = outer.nodes[cell(t, j), parent] + parts.span[cell(t, j), parent]
                new = above + filled.left[cell(t, i), parent]
                if new > score or begin == i:
                    begin, score = t, new
        i, j, label = begin, end, parent


@kernel
def tree_through(
    n: int,
    i: int,
    j: int,
    label: int,
    split: int,
    parts: TreeParts,
    filled: TreeParts,
    outer: OuterScores,
    marks: Marks,
    nodes: IntMatrix,
) -> None:
    """Write the best tree with the node (i, j, label), split at `split`; 0 for where it is best.

    `marks` count for the halves of this node alone, and only if the split is given.
    """
    n_labels, unmarked = filled.span.shape[1], no_marks()
    path, scores = np.empty((n, 3), dtype=np.int32), np.empty(max(n, n_labels))
    size = _climb(n, i, j, label, parts, filled, outer, path)
    nodes[0] = path[size - 1]
    r = 0
    for step in range(size - 1, 0, -1):
        begin, end, above = path[step, 0], path[step, 1], path[step, 2]
        child, is_left = path[step - 1, 2], path[step - 1, 0] == begin
        k = path[step - 1, 1] if is_left else path[step - 1, 0]
        right = r + 2 * (k - begin)
        if is_left:
            right_scores(begin, k, end, above, child, filled, unmarked, scores)
            put_halves(nodes, r, k, child, highest(scores[:n_labels]))
            unfold(filled, unmarked, nodes, right, r + 2 * (end - begin) - 1, scores)
            r += 1
        else:
            left_scores(begin, k, end, above, filled, unmarked, scores)
            put_halves(nodes, r, k, highest(scores[:n_labels]), child)
            unfold(filled, unmarked, nodes, r + 1, right, scores)
            r = right
    if split == 0:
        unfold(filled, unmarked, nodes, r, r + 2 * (j - i) - 1, scores)
    else:
        left_scores(i, split, j, label, filled, marks, scores)
        left = highest(scores[:n_labels])
        right_scores(i, split, j, label, left, filled, marks, scores)
        put_halves(nodes, r, split, left, highest(scores[:n_labels]))
        unfold(filled, unmarked, nodes, r + 1, r + 2 * (j - i) - 1, scores)
