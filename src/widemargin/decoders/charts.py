"""The parts of labelled binary trees over a sentence, as `cky` and the modules after it score them.

A node is a span i … j with a label. Its two children are its *halves*: one from i to k, the other from k to j. Charts
have a row for every span, and a column for every label.

A *production* is a binary node with its split and the labels of both children, which no half knows. One production of
every span may be *marked*, and scores something extra.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix


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


class Marks(NamedTuple):
    """The marked productions, a row for every span as `cell` numbers them; no rows if none is marked at all.

    `productions` has the columns split, label, left child's label and right child's label. A split at 0 says that no
    production of this span is marked. `extra` is what the others score.
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


@kernel
def new_parts(n: int, n_labels: int) -> TreeParts:
    """Room for the parts of a sentence of `n` words."""
    n_cells = n * (n + 1) // 2
    return TreeParts(
        np.empty((n_cells, n_labels)),
        np.empty((n_cells, n_labels)),
        np.empty((n_cells, n_labels)),
        np.empty((n_labels, n_labels)),
        np.empty((n_labels, n_labels)),
    )


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
def wrong_node(nodes: IntMatrix, n: int, n_labels: int) -> int:
    """The first row that is not the next node of a tree over `n` words in preorder; −1 if there is none."""
    ends, waiting, at = np.empty(n + 1, dtype=np.int64), 0, 0  # ends of right children still to come
    low, high = n, n
    for r in range(2 * n - 1):
        begin, end, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if not (begin == at and low <= end <= high and 0 <= label < n_labels):
            return r
        if end - begin > 1:  # next is the left child
            ends[waiting] = end
            waiting += 1
            low, high = begin + 1, end - 1
        else:  # next is the right child of the last that waits for one
            at = end
            waiting -= 1
            low = high = ends[waiting] if waiting >= 0 else -1
    return -1


@kernel
def no_marks() -> Marks:
    """No production is marked."""
    return Marks(np.empty((0, 4), dtype=np.int32), np.empty(0))


@kernel
def put_marks(nodes: IntMatrix, extra: FloatVector, marks: Marks) -> None:
    """Mark all productions of a tree; `extra` has a score for each label of their nodes."""
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if j - i > 1:
            k, at = nodes[r + 1, 1], cell(i, j)
            marks.productions[at, 0], marks.productions[at, 1] = k, label
            marks.productions[at, 2], marks.productions[at, 3] = nodes[r + 1, 2], nodes[r + 2 * (k - i), 2]
            marks.extra[at] = extra[label]


@kernel
def mark_tree(nodes: IntMatrix, extra: FloatVector) -> Marks:
    """The productions of a tree, marked with these scores."""
    n_cells = cell(0, nodes[0, 1] + 1)
    marks = Marks(np.zeros((n_cells, 4), dtype=np.int32), np.zeros(n_cells))
    put_marks(nodes, extra, marks)
    return marks


@kernel
def mark_of(i: int, j: int, marks: Marks) -> int:
    """The row of the marked production of this span, −1 if there is none."""
    at = cell(i, j)
    return at if len(marks.extra) > 0 and marks.productions[at, 0] > 0 else -1
