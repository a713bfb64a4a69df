"""The parts of labelled binary trees over a sentence, as `cky` and the modules after it score them.

A node is a span i … j with a label. Its two children are its *halves*: one from i to k, the other from k to j. Charts
have a row for every span, and a column for every label.

A *production* is a binary node with its split and the labels of both children, which no half knows. One production of
every span may be *marked*, and scores something extra.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector


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
    """The marked productions.

    `rows` holds for each cell the number of its production, −1 for none; it is empty if none is marked at all.
    `productions` has the columns split, label, left child's label and right child's label; `extra` is what they score.
    """

    rows: IntVector
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
def tree_score(nodes: IntMatrix, parts: TreeParts) -> float:
    """The score of a tree, without marks."""
    total = 0.0
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        total += parts.span[cell(i, j), label]
        if j - i > 1:
            k = nodes[r + 1, 1]
            left, right = nodes[r + 1, 2], nodes[r + 2 * (k - i), 2]
            total += parts.left[cell(i, k), label] + parts.left_rule[left, label]
            total += parts.right[cell(k, j), label] + parts.right_rule[right, label]
    return total


@kernel
def no_marks() -> Marks:
    """No production is marked."""
    return Marks(np.empty(0, dtype=np.int32), np.empty((0, 4), dtype=np.int32), np.empty(0))


@kernel
def mark_tree(nodes: IntMatrix, extra: FloatVector) -> Marks:
    """Mark all productions of a tree; `extra` has a score for each label of their nodes."""
    n = nodes[0, 1]
    rows, productions = np.full(n * (n + 1) // 2, -1, dtype=np.int32), np.empty((n - 1, 4), dtype=np.int32)
    scores, m = np.empty(n - 1), 0
    for r in range(len(nodes)):
        i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
        if j - i > 1:
            k, left = nodes[r + 1, 1], nodes[r + 1, 2]
            rows[cell(i, j)] = m
            productions[m, 0], productions[m, 1] = k, label
            productions[m, 2], productions[m, 3] = left, nodes[r + 2 * (k - i), 2]
            scores[m] = extra[label]
            m += 1
    return Marks(rows, productions, scores)


@kernel
def mark_of(i: int, j: int, marks: Marks) -> int:
    """The number of the marked production of this span, −1 if there is none."""
    return marks.rows[cell(i, j)] if len(marks.rows) > 0 else -1
