"""The best labelled binary tree over a sentence (Cocke, Kasami, Younger), with scores of spans, halves and rules.

    score(tree) = Σ over nodes span[i, j, l] + Σ over binary nodes (i, k, j, l) with children labelled p and q of
                  left[i, k, l] + left_rule[p, l]  +  right[k, j, l] + right_rule[q, l]

A node is a span i … j with a label. A *half* is a child's span with the label of its parent. Every score of a split
belongs to one half or the other, so each half is maximised over the child's label once, in L² steps at most,

    first[i, k, l]  = left[i, k, l]  + max over p of best[i, k, p] + left_rule[p, l]
    second[k, j, l] = right[k, j, l] + max over q of best[k, j, q] + right_rule[q, l]
    best[i, j, l]   = span[i, j, l]  + max over k of first[i, k, l] + second[k, j, l]

and the loop over splits only adds two contiguous rows of labels: O(n² L² + n³ L). In practice far fewer than L² steps
are taken: bounds on the rules show that most labels of a child are best for no parent.

A span i … j is the row `cell(i, j)` of charts with n (n + 1) / 2 rows, and a column for every label. No back pointers
are kept: the maxima are found again on the way down. Trees are written as nodes in preorder: a node, its left half,
then its right half. A score of −inf forbids a part.

A *production* is a binary node with its split and the labels of both children, so it does not belong to one half. One
production of every span may be *marked* (`Marks`) and get an extra score. Then only its split and label are maximised
again.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, LongVector
from widemargin.decoders.scores import highest


class TreeParts(NamedTuple):
    """A number for every part of a tree: scores, or probabilities.

    `span`, `left` and `right` are (≥ n (n + 1) / 2, L) charts with rows as `cell` numbers them. `left_rule` and
    `right_rule` are (L, L) arrays, rows for the child's label and columns for its parent's.
    """

    span: FloatMatrix
    left: FloatMatrix
    right: FloatMatrix
    left_rule: FloatMatrix
    right_rule: FloatMatrix


class Charts(NamedTuple):
    """Numbers of nodes, of left halves and of right ones, in charts of the same shape as `TreeParts.span`."""

    nodes: FloatMatrix
    first: FloatMatrix
    second: FloatMatrix


class Marks(NamedTuple):
    """The marked productions, a row for every span as `cell` numbers them; no rows if none is marked at all.

    `productions` has the columns split, label, left child's label and right child's label. A split at 0 means that no
    production of this span is marked. `extra` has the extra scores of the marked productions.
    """

    productions: IntMatrix
    extra: FloatVector


@kernel
def cell(i: int, j: int) -> int:
    """The row of the span i … j, 0 ≤ i < j, in a chart; spans are sorted by end, then by beginning.

    >>> [cell(i, j) for j in range(1, 4) for i in range(j)]
    [0, 1, 2, 3, 4, 5]
    """
    return j * (j - 1) // 2 + i


def new_charts(n: int, n_labels: int) -> Charts:
    """Charts for a sentence of up to `n` words."""
    return Charts(*np.empty((3, n * (n + 1) // 2, n_labels)))


def new_parts(n: int, n_labels: int) -> TreeParts:
    """Room for the parts of a sentence of `n` words."""
    return TreeParts(*new_charts(n, n_labels), *np.empty((2, n_labels, n_labels)))


@kernel
def ends_of(at: int) -> tuple[int, int]:
    """The span that `cell` gives the number `at`.

    >>> [ends_of(at) for at in range(6)]
    [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    """
    j = int((1.0 + sqrt(1.0 + 8.0 * at)) / 2.0)
    if cell(0, j) > at:  # the root was rounded up
        j -= 1
    return at - cell(0, j), j


@kernel
def tree_score(nodes: IntMatrix, parts: TreeParts, marks: Marks) -> float:
    """The score of a tree."""
    total = 0.0
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        total += parts.span[cell(i, j), label]
        if j - i > 1:
            k = nodes[r + 1, 1]
            left, right = nodes[r + 1, 2], nodes[r + 2 * (k - i), 2]
            total += parts.left[cell(i, k), label] + parts.left_rule[left, label]
            total += parts.right[cell(k, j), label] + parts.right_rule[right, label]
            mark = mark_of(i, j, marks)
            if mark >= 0:
                marked = marks.productions[mark]
                if marked[0] == k and marked[1] == label and marked[2] == left and marked[3] == right:
                    total += marks.extra[mark]
    return total


@kernel
def wrong_node(trees: IntMatrix, lengths: LongVector, n_labels: int) -> tuple[int, int]:
    """The first tree and its row that is not its next node in preorder; (−1, −1) if there is none."""
    ends = np.empty(trees.shape[1] + 1, dtype=np.int64)  # of right children still to come
    for b in range(len(trees)):
        waiting, at, low, high = 0, 0, lengths[b], lengths[b]
        for r in range(2 * lengths[b] - 1):
            begin, end, label = trees[b, r, 0], trees[b, r, 1], trees[b, r, 2]
            if not (begin == at and low <= end <= high and 0 <= label < n_labels):
                return b, r
            if end - begin > 1:  # next is the left child
                ends[waiting] = end
                waiting += 1
                low, high = begin + 1, end - 1
            else:  # next is the right child of the last node that waits for one
                at = end
                waiting -= 1
                low = high = ends[waiting] if waiting >= 0 else -1
    return -1, -1


def no_marks() -> Marks:
    """No production is marked."""
    return Marks(np.empty((0, 4), dtype=np.int32), np.empty(0))


@kernel
def put_marks(nodes: IntMatrix, extra: FloatVector, marks: Marks) -> None:
    """Mark all productions of a tree; `extra` has an extra score for each label of a node."""
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if j - i > 1:
            k, at = nodes[r + 1, 1], cell(i, j)
            marks.productions[at, 0], marks.productions[at, 1] = k, label
            marks.productions[at, 2], marks.productions[at, 3] = nodes[r + 1, 2], nodes[r + 2 * (k - i), 2]
            marks.extra[at] = extra[label]


@kernel
def mark_of(i: int, j: int, marks: Marks) -> int:
    """The row of the marked production of this span, −1 if there is none."""
    at = cell(i, j)
    return at if len(marks.extra) > 0 and marks.productions[at, 0] > 0 else -1


ROUNDING = 1e-9
"""A bound of the relative rounding error of sums of a few scores."""


class Rules(NamedTuple):
    """The rules of halves on one side: `scores`[p, l], and the `least` and the `most` of every row."""

    scores: FloatMatrix
    least: FloatVector
    most: FloatVector


@kernel
def _bounded(scores: FloatMatrix) -> Rules:
    """Rules with their bounds."""
    least, most = np.full(len(scores), np.inf), np.full(len(scores), -np.inf)
    for child in range(len(scores)):
        for score in scores[child]:
            least[child] = min(least[child], score)
            most[child] = max(most[child], score)
    return Rules(scores, least, most)


@kernel
def _add_best_child(best: FloatVector, rules: Rules, row: FloatVector, best_child: FloatVector) -> None:
    """row[l] += max over p of best[p] + scores[p, l].

    Some child gives every parent at least `floor`. Children that give all parents less, which are most of them, are
    skipped; a margin for rounding keeps the maxima the same.
    """
    # The label of the parent is the inner loop: a row of rules is contiguous, and the loop vectorises.
    n_labels = len(row)
    for child in range(n_labels):
        best_child[child] = best[child] + rules.least[child]
    floor = best_child[highest(best_child)]
    floor -= ROUNDING * (1.0 + abs(floor))
    for label in range(n_labels):
        best_child[label] = -np.inf
    for child in range(n_labels):
        score, scores = best[child], rules.scores[child]
        if score > -np.inf and not score + rules.most[child] < floor:
            for label in range(n_labels):
                new, old = score + scores[label], best_child[label]
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
def _change(best: FloatVector, rule: FloatMatrix, parent: int, child: int, extra: float) -> float:
    """How much max over p of best[p] + rule[p, parent] changes if p = `child` scores `extra` more."""
    others = -np.inf
    for label in range(len(best)):
        if label != child:
            others = max(others, best[label] + rule[label, parent])
    own = best[child] + rule[child, parent]
    top = max(own, others)
    return max(own + extra, others) - top if top > -np.inf else 0.0


@kernel
def _right_change(j: int, mark: int, filled: TreeParts, marks: Marks) -> float:
    """How much the mark changes the best right half, if the left half is that of the marked production."""
    k, label, right = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 3]
    return _change(filled.span[cell(k, j)], filled.right_rule, label, right, marks.extra[mark])


@kernel
def split_scores(i: int, j: int, label: int, filled: TreeParts, marks: Marks, scores: FloatVector) -> None:
    """scores[k − i − 1] = first[i, k, label] + second[k, j, label], with the change that a marked production makes."""
    for k in range(i + 1, j):
        scores[k - i - 1] = filled.left[cell(i, k), label] + filled.right[cell(k, j), label]
    mark = mark_of(i, j, marks)
    if mark >= 0 and marks.productions[mark, 1] == label:
        k, left = marks.productions[mark, 0], marks.productions[mark, 2]
        change = _right_change(j, mark, filled, marks)
        scores[k - i - 1] += _change(filled.span[cell(i, k)], filled.left_rule, label, left, change)


@kernel
def half_scores(
    i: int, k: int, j: int, label: int, left: int, filled: TreeParts, marks: Marks, scores: FloatVector
) -> None:
    """The scores of each label of the left half i … k of a node i … j; if `left` ≥ 0, of the right half beside it."""
    is_left = left < 0
    best, rule = filled.span[cell(i, k) if is_left else cell(k, j)], filled.left_rule if is_left else filled.right_rule
    for child in range(len(best)):
        scores[child] = best[child] + rule[child, label]
    mark = mark_of(i, j, marks)
    if mark >= 0 and marks.productions[mark, 1] == label and marks.productions[mark, 0] == k:
        if is_left:
            scores[marks.productions[mark, 2]] += _right_change(j, mark, filled, marks)
        elif marks.productions[mark, 2] == left:
            scores[marks.productions[mark, 3]] += marks.extra[mark]


@kernel
def fill(n: int, parts: TreeParts, marks: Marks) -> None:
    """Turn `span` into best, `left` into first and `right` into second, all in place."""
    span, left, right = parts.span, parts.left, parts.right
    of_left, of_right = _bounded(parts.left_rule), _bounded(parts.right_rule)
    scratch, splits = np.empty(span.shape[1]), np.empty(n)
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            at = cell(i, j)
            mark = mark_of(i, j, marks)
            if j - i > 1:
                own = span[at, marks.productions[mark, 1]] if mark >= 0 else 0.0
                _add_best_split(i, j, left, right, span[at], scratch)
                if mark >= 0:
                    label = marks.productions[mark, 1]
                    split_scores(i, j, label, parts, marks, splits)
                    span[at, label] = own + splits[highest(splits[: j - i - 1])]
            # A span that begins with the first word is no right half, one that ends with the last word no left half.
            if i > 0:
                _add_best_child(span[at], of_right, right[at], scratch)
            if j < n:
                _add_best_child(span[at], of_left, left[at], scratch)


@kernel
def put_halves(nodes: IntMatrix, r: int, k: int, left: int, right: int) -> None:
    """Split node r at k into halves with these labels."""
    # A left half of m words takes the 2 m − 1 rows after its parent; the right half follows.
    i, j = nodes[r, 0], nodes[r, 1]
    one, other = r + 1, r + 2 * (k - i)
    nodes[one, 0], nodes[one, 1], nodes[one, 2] = i, k, left
    nodes[other, 0], nodes[other, 1], nodes[other, 2] = k, j, right


@kernel
def unfold(filled: TreeParts, marks: Marks, nodes: IntMatrix, first: int, last: int, scores: FloatVector) -> None:
    """Write the best halves of the nodes first … last − 1; `scores` is scratch for a number per word and per label."""
    n_labels = filled.span.shape[1]
    for r in range(first, last):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if j - i > 1:
            split_scores(i, j, label, filled, marks, scores)
            k = i + 1 + highest(scores[: j - i - 1])
            half_scores(i, k, j, label, -1, filled, marks, scores)
            left = highest(scores[:n_labels])
            half_scores(i, k, j, label, left, filled, marks, scores)
            put_halves(nodes, r, k, left, highest(scores[:n_labels]))


@kernel
def best_tree(n: int, parts: TreeParts, marks: Marks, nodes: IntMatrix) -> float:
    """Write the best tree to `nodes` and return its score; ties go to the lowest labels, then the lowest splits.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores; the charts are overwritten (`fill`)
    marks : the marked productions
    nodes : (2 n − 1, 3) output: begin, end and label of every node, in preorder
    """
    fill(n, parts, marks)
    top = parts.span[cell(0, n)]
    label = highest(top)
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, n, label
    unfold(parts, marks, nodes, 0, 2 * n - 1, np.empty(max(n, len(top))))
    return top[label]
