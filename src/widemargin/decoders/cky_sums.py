"""Sums over all labelled binary trees of a sentence (inside–outside), with the scores of `cky`.

    p(tree) = exp(score(tree)) / Z,   Z = Σ over trees of exp(score(tree))

*Inside*, the maxima of `cky` become logarithms of sums:

    first[i, k, l]  = left[i, k, l]  + log Σ_p exp(inside[i, k, p] + left_rule[p, l])
    second[k, j, l] = right[k, j, l] + log Σ_q exp(inside[k, j, q] + right_rule[q, l])
    inside[i, j, l] = span[i, j, l]  + log Σ_k exp(first[i, k, l] + second[k, j, l])

*Outside* is the adjoint of this: the derivative of log Z by the score of a part is the probability, or for a rule the
expected number, of that part. Each sum hands its own derivative down to its terms, in proportion to their shares.

The charts hold logarithms. A sum over the labels of a child is a product with a table of exponentials, each divided by
the largest of its column. Where the largest terms underflow there, it is summed again from logarithms.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.charts import TreeParts, cell
from widemargin.decoders.forward_backward import exponentials, log_sum

SMALLEST = 1e-280
LOG_SMALLEST = log(SMALLEST)
"""Sums of products below this may have lost terms that underflowed."""


class Rules(NamedTuple):
    """Scores of rules, factors[p, l] = exp(scores[p, l] − tops[l]), and tops[l], the largest score of each column."""

    scores: FloatMatrix
    factors: FloatMatrix
    tops: FloatVector


class InsideScores(NamedTuple):
    """Scratch charts of the same shape as `TreeParts.span`."""

    inside: FloatMatrix
    first: FloatMatrix
    second: FloatMatrix


@kernel
def new_inside(n: int, n_labels: int) -> InsideScores:
    """Scratch charts for a sentence of up to `n` words."""
    n_cells = n * (n + 1) // 2
    return InsideScores(np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)))


@kernel
def _exponentiated(scores: FloatMatrix) -> Rules:
    n_labels = len(scores)
    factors, tops = np.empty((n_labels, n_labels)), np.empty(n_labels)
    for label in range(n_labels):
        top = -inf
        for child in range(n_labels):
            top = max(top, scores[child, label])
        tops[label] = top if top > -inf else 0.0
    for child in range(n_labels):
        for label in range(n_labels):
            factors[child, label] = exp(scores[child, label] - tops[label])
    return Rules(scores, factors, tops)


@kernel
def _sum_children(
    inside: FloatVector, rules: Rules, part: FloatVector, half: FloatVector, weights: FloatVector
) -> None:
    """half[l] = part[l] + log Σ_p exp(inside[p] + rules[p, l])."""
    n_labels = len(half)
    top = exponentials(inside, weights)
    for label in range(n_labels):
        half[label] = 0.0
    for child in range(n_labels):
        weight, factors = weights[child], rules.factors[child]
        if weight > 0.0:
            for label in range(n_labels):
                half[label] += weight * factors[label]
    for label in range(n_labels):
        if half[label] > SMALLEST:
            half[label] = part[label] + top + rules.tops[label] + log(half[label])
        else:
            for child in range(n_labels):
                weights[child] = inside[child] + rules.scores[child, label]
            half[label] = part[label] + log_sum(weights)


@kernel
def _sum_splits(
    i: int, j: int, first: FloatMatrix, second: FloatMatrix, row: FloatVector, tops: FloatVector, sums: FloatVector
) -> None:
    """row[l] += log Σ_k exp(first[i, k, l] + second[k, j, l])."""
    n_labels = len(row)
    for label in range(n_labels):
        tops[label], sums[label] = -inf, 0.0
    for k in range(i + 1, j):
        one, other = first[cell(i, k)], second[cell(k, j)]
        for label in range(n_labels):
            new, old = one[label] + other[label], tops[label]
            tops[label] = new if new > old else old
    for label in range(n_labels):
        tops[label] = tops[label] if tops[label] > -inf else 0.0
    for k in range(i + 1, j):
        one, other = first[cell(i, k)], second[cell(k, j)]
        for label in range(n_labels):
            sums[label] += exp(one[label] + other[label] - tops[label])
    for label in range(n_labels):
        row[label] += tops[label] + log(sums[label]) if sums[label] > 0.0 else -inf


@kernel
def _inside(n: int, parts: TreeParts, left_rules: Rules, right_rules: Rules, scratch: InsideScores) -> float:
    """Fill in the charts from short spans to long ones, and return log Z."""
    inside, first, second = scratch
    n_labels = inside.shape[1]
    tops, sums = np.empty(n_labels), np.empty(n_labels)
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            at = cell(i, j)
            row = inside[at]
            for label in range(n_labels):
                row[label] = parts.span[at, label]
            if j - i > 1:
                _sum_splits(i, j, first, second, row, tops, sums)
            # What begins with the first word is no right half, and what ends with the last is no left one.
            if j < n:
                _sum_children(row, left_rules, parts.left[at], first[at], tops)
            if i > 0:
                _sum_children(row, right_rules, parts.right[at], second[at], tops)
    for label in range(n_labels):
        tops[label] = inside[cell(0, n), label]
    return log_sum(tops)


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
    totals: FloatVector,
) -> None:
    """Hand the probabilities `nodes` of the labels of i … j down to the halves of its splits."""
    n_labels = len(nodes)
    row = scratch.inside[cell(i, j)]
    for label in range(n_labels):
        totals[label] = row[label] - part[label] if nodes[label] > 0.0 else inf
    for k in range(i + 1, j):
        one, other = scratch.first[cell(i, k)], scratch.second[cell(k, j)]
        lefts, rights = halves.left[cell(i, k)], halves.right[cell(k, j)]
        for label in range(n_labels):
            share = nodes[label] * exp(one[label] + other[label] - totals[label])
            lefts[label] += share
            rights[label] += share


@kernel
def inside_outside(n: int, parts: TreeParts, posteriors: TreeParts, scratch: InsideScores) -> float:
    """Write the probability of every part, of rules the expected number, to `posteriors`, and return log Z.

    Scores may be −inf; if no tree is possible, log Z = −inf, and everything else is 0.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores, which are only read
    posteriors : the output, of the same shapes
    scratch : from `new_inside`, for at least `n` words
    """
    n_cells, n_labels = n * (n + 1) // 2, parts.span.shape[1]
    left_rules, right_rules = _exponentiated(parts.left_rule), _exponentiated(parts.right_rule)
    total = _inside(n, parts, left_rules, right_rules, scratch)
    posteriors.span[:n_cells], posteriors.left[:n_cells], posteriors.right[:n_cells] = 0.0, 0.0, 0.0
    posteriors.left_rule[:], posteriors.right_rule[:] = 0.0, 0.0
    if total == -inf:
        return total
    nodes, row = posteriors.span, scratch.inside[cell(0, n)]
    for label in range(n_labels):
        nodes[cell(0, n), label] = exp(row[label] - total)
    one, other = np.empty(n_labels), np.empty(n_labels)
    for j in range(n, 0, -1):
        for i in range(j):
            at = cell(i, j)
            row = scratch.inside[at]
            if j < n:
                halves, half, counts = posteriors.left[at], scratch.first[at], posteriors.left_rule
                _share_children(row, left_rules, parts.left[at], half, halves, nodes[at], counts, one, other)
            if i > 0:
                halves, half, counts = posteriors.right[at], scratch.second[at], posteriors.right_rule
                _share_children(row, right_rules, parts.right[at], half, halves, nodes[at], counts, one, other)
            _share_splits(i, j, parts.span[at], nodes[at], scratch, posteriors, one)
    return total
