"""Sums over all labelled binary trees of a sentence (inside–outside), with the scores of `cky`.

    p(tree) = exp(score(tree)) / Z,   Z = Σ over trees of exp(score(tree))

`cky_inside` sums from short spans to long ones. *Outside* is the adjoint of that: the derivative of log Z by the score
of a part is the probability, or for a rule the expected number, of that part. Each sum hands its own derivative down to
its terms, in proportion to their shares.
"""

from math import exp, inf

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.charts import Marks, TreeParts, cell, mark_of, no_marks
from widemargin.decoders.cky_inside import (
    LOG_SMALLEST,
    InsideScores,
    Rules,
    Tables,
    exponentiated,
    inside_sums,
    marked_splits,
    right_change,
)
from widemargin.decoders.log_sums import exponentials

NEGLIGIBLE = 1e-30
"""Less probable spans are left out of the outside pass. In a trained model, these are most spans."""


@kernel
def _matters(probabilities: FloatVector) -> bool:
    largest = 0.0
    for p in probabilities:
        largest = max(largest, p)
    return largest > NEGLIGIBLE


@kernel
def _share_children(
    inside: FloatVector,
    rules: Rules,
    part: FloatVector,
    half: FloatVector,
    halves: FloatVector,
    nodes: FloatVector,
    counts: FloatMatrix,
    weights: FloatVector,
    ratios: FloatVector,
) -> None:
    """Hand the probabilities `halves` of a half down to the labels of the child, and to the `counts` of rules."""
    n_labels = len(half)
    top = exponentials(inside, weights)
    for label in range(n_labels):
        ratios[label] = 0.0
        if halves[label] > 0.0:
            total = half[label] - part[label]
            beside = total - top - rules.tops[label]
            if beside > LOG_SMALLEST:
                ratios[label] = halves[label] * exp(-beside)
            else:
                for child in range(n_labels):
                    share = halves[label] * exp(inside[child] + rules.scores[child, label] - total)
                    nodes[child] += share
                    counts[child, label] += share
    for child in range(n_labels):
        weight, factors, row = weights[child], rules.factors[child], counts[child]
        if weight > 0.0:
            share = 0.0
            for label in range(n_labels):
                share += ratios[label] * factors[label]
            nodes[child] += weight * share
            for label in range(n_labels):
                row[label] += weight * (ratios[label] * factors[label])


@kernel
def _share_splits(
    i: int,
    j: int,
    part: FloatVector,
    nodes: FloatVector,
    scratch: InsideScores,
    halves: TreeParts,
    marked: int,
    totals: FloatVector,
) -> None:
    """Hand the probabilities `nodes` of the labels of i … j down to the halves of its splits; not that of `marked`."""
    n_labels = len(nodes)
    row = scratch.inside[cell(i, j)]
    for label in range(n_labels):
        totals[label] = row[label] - part[label] if nodes[label] > 0.0 and label != marked else inf
    for k in range(i + 1, j):
        one, other = scratch.first[cell(i, k)], scratch.second[cell(k, j)]
        lefts, rights = halves.left[cell(i, k)], halves.right[cell(k, j)]
        for label in range(n_labels):
            share = nodes[label] * exp(one[label] + other[label] - totals[label])
            lefts[label] += share
            rights[label] += share


@kernel
def _share_labels(
    share: float,
    inside: FloatVector,
    rules: Rules,
    parent: int,
    child: int,
    extra: float,
    nodes: FloatVector,
    counts: FloatMatrix,
    terms: FloatVector,
) -> float:
    """Hand `share` down to the labels of one half, of which `child` scores `extra` more; return what it gets."""
    total = 0.0
    for label in range(len(inside)):
        terms[label] = inside[label] + rules.scores[label, parent]
    terms[child] += extra
    exponentials(terms, terms)
    for label in range(len(inside)):
        total += terms[label]
    for label in range(len(inside)):
        part = share * terms[label] / total
        nodes[label] += part
        counts[label, parent] += part
    return share * terms[child] / total


@kernel
def _share_marked(
    i: int,
    j: int,
    mark: int,
    parts: TreeParts,
    tables: Tables,
    marks: Marks,
    scratch: InsideScores,
    posteriors: TreeParts,
    by_themselves: FloatMatrix,
    terms: FloatVector,
) -> None:
    """Hand the probability of the marked label of i … j down to the halves of its splits.

    Halves of the marked split do not share theirs like others of the same kind. What they get goes right to their
    labels, and for the halves themselves to `by_themselves`.
    """
    marked, label, left = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 2]
    node = posteriors.span[cell(i, j), label]
    if node == 0.0:
        return
    splits = marked_splits(i, j, mark, tables, scratch, marks, terms)
    total = scratch.inside[cell(i, j), label] - parts.span[cell(i, j), label]
    for k in range(i + 1, j):
        share = node * exp(splits[k - i - 1] - total)
        one, other = cell(i, k), cell(k, j)
        if k != marked:
            posteriors.left[one, label] += share
            posteriors.right[other, label] += share
        elif share > 0.0:
            change = right_change(j, mark, tables, scratch, marks, terms)
            inside, nodes, counts = scratch.inside[one], posteriors.span[one], posteriors.left_rule
            both = _share_labels(share, inside, tables.left, label, left, change, nodes, counts, terms)
            posteriors.right[other, label] += max(share - both, 0.0)
            by_themselves[mark, 0], by_themselves[mark, 1] = share, both
            inside, nodes, counts = scratch.inside[other], posteriors.span[other], posteriors.right_rule
            right, extra = marks.productions[mark, 3], marks.extra[mark]
            if both > 0.0:
                _share_labels(both, inside, tables.right, label, right, extra, nodes, counts, terms)


@kernel
def marked_inside_outside(
    n: int, parts: TreeParts, marks: Marks, posteriors: TreeParts, scratch: InsideScores
) -> float:
    """Write the probability of every part, of rules the expected number, to `posteriors`, and return log Z.

    Scores may be −inf; if no tree is possible, log Z = −inf, and everything else is 0.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores, which are only read
    marks : the marked productions
    posteriors : the output, of the same shapes as `parts`
    scratch : from `new_inside`, for at least `n` words
    """
    n_cells, n_labels = n * (n + 1) // 2, parts.span.shape[1]
    tables = Tables(exponentiated(parts.left_rule), exponentiated(parts.right_rule))
    total = inside_sums(n, parts, tables, marks, scratch)
    posteriors.span[:n_cells], posteriors.left[:n_cells], posteriors.right[:n_cells] = 0.0, 0.0, 0.0
    posteriors.left_rule[:], posteriors.right_rule[:] = 0.0, 0.0
    if total == -inf:
        return total
    nodes, row = posteriors.span, scratch.inside[cell(0, n)]
    for label in range(n_labels):
        nodes[cell(0, n), label] = exp(row[label] - total)
    one, other, by_themselves = np.empty(n_labels), np.empty(n_labels), np.zeros((len(marks.extra), 2))
    for j in range(n, 0, -1):
        for i in range(j):
            at, mark = cell(i, j), mark_of(i, j, marks)
            row = scratch.inside[at]
            if j < n and _matters(posteriors.left[at]):
                halves, half, counts = posteriors.left[at], scratch.first[at], posteriors.left_rule
                _share_children(row, tables.left, parts.left[at], half, halves, nodes[at], counts, one, other)
            if i > 0 and _matters(posteriors.right[at]):
                halves, half, counts = posteriors.right[at], scratch.second[at], posteriors.right_rule
                _share_children(row, tables.right, parts.right[at], half, halves, nodes[at], counts, one, other)
            label = marks.productions[mark, 1] if mark >= 0 else -1
            if j - i > 1 and _matters(nodes[at]):
                _share_splits(i, j, parts.span[at], nodes[at], scratch, posteriors, label, one)
            if mark >= 0:
                _share_marked(i, j, mark, parts, tables, marks, scratch, posteriors, by_themselves, one)
    _add_halves(n, marks, by_themselves, posteriors)
    return total


@kernel
def _add_halves(n: int, marks: Marks, by_themselves: FloatMatrix, posteriors: TreeParts) -> None:
    """Add the probabilities of the halves of marked splits."""
    for j in range(2, n + 1):
        for i in range(j - 1):
            mark = mark_of(i, j, marks)
            if mark >= 0:
                k, label = marks.productions[mark, 0], marks.productions[mark, 1]
                posteriors.left[cell(i, k), label] += by_themselves[mark, 0]
                posteriors.right[cell(k, j), label] += by_themselves[mark, 1]


@kernel
def inside_outside(n: int, parts: TreeParts, posteriors: TreeParts, scratch: InsideScores) -> float:
    """The same without marked productions."""
    return marked_inside_outside(n, parts, no_marks(), posteriors, scratch)
