"""Sums over all labelled binary trees of a sentence (inside–outside), with the scores of `cky`.

    p(tree) = exp(score(tree)) / Z,   Z = Σ over trees of exp(score(tree))

*Inside*, the maxima of `cky` become logarithms of sums:

    first[i, k, l]  = left[i, k, l]  + log Σ_p exp(inside[i, k, p] + left_rule[p, l])
    second[k, j, l] = right[k, j, l] + log Σ_q exp(inside[k, j, q] + right_rule[q, l])
    inside[i, j, l] = span[i, j, l]  + log Σ_k exp(first[i, k, l] + second[k, j, l])

A sum over the labels of a child is a product with a table of exponentials, each divided by the largest of its column.
If even the largest terms underflow, the sum is computed again from logarithms.

*Outside* is the adjoint of *inside*: the derivative of log Z by the score of a part is the probability of the part, or
the expected count of a rule. Each sum hands its own derivative down to its terms, in proportion to their shares.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.cky import Charts, Marks, TreeParts, cell, ends_of, mark_of
from widemargin.decoders.scores import SMALLEST, exponentials, log_add, log_sum

LOG_SMALLEST = log(SMALLEST)


class RuleSums(NamedTuple):
    """Scores of rules, factors[p, l] = exp(scores[p, l] − tops[l]), and tops[l], the largest score of each column."""

    scores: FloatMatrix
    factors: FloatMatrix
    tops: FloatVector


class ChartTables(NamedTuple):
    """The rules of left halves, and those of right ones."""

    left: RuleSums
    right: RuleSums


@kernel
def exponentiated(scores: FloatMatrix) -> RuleSums:
    """Rules with these scores."""
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
    return RuleSums(scores, factors, tops)


@kernel
def _sum_children(
    inside: FloatVector, rules: RuleSums, part: FloatVector, half: FloatVector, weights: FloatVector
) -> None:
    """half[l] = part[l] + log Σ_p exp(inside[p] + rules[p, l])."""
    # L exponentials and L² products instead of L² exponentials; only sums that underflow need the slow way.
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
    # Two passes over the splits, maxima first, so that no exponential overflows; labels are the contiguous inner loop.
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
def _change(inside: FloatVector, rules: RuleSums, parent: int, child: int, extra: float, terms: FloatVector) -> float:
    """How much log Σ_p exp(inside[p] + rules[p, parent]) changes if p = `child` scores `extra` more."""
    for label in range(len(inside)):
        terms[label] = inside[label] + rules.scores[label, parent]
    own, terms[child] = terms[child], -inf
    others = log_sum(terms[: len(inside)])
    total = log_add(own, others)
    return log_add(own + extra, others) - total if total > -inf else 0.0


@kernel
def right_change(j: int, mark: int, tables: ChartTables, scratch: Charts, marks: Marks, terms: FloatVector) -> float:
    """How much the mark changes the sum over right halves, if the left half is that of the marked production."""
    k, label, right = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 3]
    return _change(scratch.nodes[cell(k, j)], tables.right, label, right, marks.extra[mark], terms)


@kernel
def marked_splits(
    i: int, j: int, mark: int, tables: ChartTables, scratch: Charts, marks: Marks, terms: FloatVector
) -> FloatVector:
    """first[i, k, l] + second[k, j, l] for the marked label l and every k, with the change at the marked split."""
    marked, label, left = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 2]
    scores = np.empty(j - i - 1)
    for k in range(i + 1, j):
        scores[k - i - 1] = scratch.first[cell(i, k), label] + scratch.second[cell(k, j), label]
    change = right_change(j, mark, tables, scratch, marks, terms)
    scores[marked - i - 1] += _change(scratch.nodes[cell(i, marked)], tables.left, label, left, change, terms)
    return scores


@kernel
def inside_sums(n: int, parts: TreeParts, tables: ChartTables, marks: Marks, scratch: Charts) -> float:
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
                mark = mark_of(i, j, marks)
                if mark >= 0:
                    label = marks.productions[mark, 1]
                    splits = marked_splits(i, j, mark, tables, scratch, marks, tops)
                    row[label] = parts.span[at, label] + log_sum(splits)
            # A span that begins with the first word is no right half, one that ends with the last word no left half.
            if j < n:
                _sum_children(row, tables.left, parts.left[at], first[at], tops)
            if i > 0:
                _sum_children(row, tables.right, parts.right[at], second[at], tops)
    for label in range(n_labels):
        tops[label] = inside[cell(0, n), label]
    return log_sum(tops)


NEGLIGIBLE = 1e-30
"""Less probable spans are left out of the outside pass. In a trained model, these are most spans."""


@kernel
def _share_children(
    inside: FloatVector,
    rules: RuleSums,
    part: FloatVector,
    half: FloatVector,
    halves: FloatVector,
    nodes: FloatVector,
    counts: FloatMatrix,
    weights: FloatVector,
    ratios: FloatVector,
) -> None:
    """Hand the probabilities `halves` of a half down to the labels of the child, and to the `counts` of rules."""
    # As in `_sum_children`: exp(inside[p] + rules[p, l] − total) is weights[p] · factors[p, l] · ratio[l], unless the
    # sum underflowed.
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
    scratch: Charts,
    halves: TreeParts,
    marked: int,
    totals: FloatVector,
) -> None:
    """Hand the probabilities `nodes` of the labels of i … j down to the halves of its splits, except for `marked`."""
    # An infinite total makes the share of skipped labels zero, without a branch in the inner loop.
    n_labels = len(nodes)
    row = scratch.nodes[cell(i, j)]
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
    rules: RuleSums,
    parent: int,
    child: int,
    extra: float,
    nodes: FloatVector,
    counts: FloatMatrix,
    terms: FloatVector,
) -> float:
    """Hand `share` down to the labels of one half, where `child` scores `extra` more; return the share of `child`."""
    # The factors of `RuleSums` do not include `extra`, so the shares are computed from the scores.
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
    tables: ChartTables,
    marks: Marks,
    scratch: Charts,
    posteriors: TreeParts,
    by_themselves: FloatMatrix,
    terms: FloatVector,
) -> None:
    """Hand the probability of the marked label of i … j down to the halves of its splits.

    The extra score changes how the halves of the marked split divide their probability among labels. So their
    probability goes directly to these labels, and `by_themselves` keeps it for the halves themselves.
    """
    # The left label decides whether the right half gets the extra: only the share `both` of the marked left label does.
    marked, label, left = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 2]
    node = posteriors.span[cell(i, j), label]
    if node == 0.0:
        return
    splits = marked_splits(i, j, mark, tables, scratch, marks, terms)
    total = scratch.nodes[cell(i, j), label] - parts.span[cell(i, j), label]
    for k in range(i + 1, j):
        share = node * exp(splits[k - i - 1] - total)
        one, other = cell(i, k), cell(k, j)
        if k != marked:
            posteriors.left[one, label] += share
            posteriors.right[other, label] += share
        elif share > 0.0:
            change = right_change(j, mark, tables, scratch, marks, terms)
            inside, nodes, counts = scratch.nodes[one], posteriors.span[one], posteriors.left_rule
            both = _share_labels(share, inside, tables.left, label, left, change, nodes, counts, terms)
            posteriors.right[other, label] += max(share - both, 0.0)
            by_themselves[mark, 0], by_themselves[mark, 1] = share, both
            inside, nodes, counts = scratch.nodes[other], posteriors.span[other], posteriors.right_rule
            right, extra = marks.productions[mark, 3], marks.extra[mark]
            if both > 0.0:
                _share_labels(both, inside, tables.right, label, right, extra, nodes, counts, terms)


@kernel
def inside_outside(n: int, parts: TreeParts, marks: Marks, posteriors: TreeParts, scratch: Charts) -> float:
    """Write the probability of every part, or the expected count of a rule, to `posteriors`, and return log Z.

    Scores may be −inf; if no tree is possible, log Z = −inf, and everything else is 0.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores, which are only read
    marks : the marked productions
    posteriors : the output, of the same shapes as `parts`
    scratch : charts for at least `n` words
    """
    # Parents come before children, so all shares of a span have arrived before it hands them on.
    n_cells, n_labels = n * (n + 1) // 2, parts.span.shape[1]
    tables = ChartTables(exponentiated(parts.left_rule), exponentiated(parts.right_rule))
    total = inside_sums(n, parts, tables, marks, scratch)
    posteriors.span[:n_cells], posteriors.left[:n_cells], posteriors.right[:n_cells] = 0.0, 0.0, 0.0
    posteriors.left_rule[:], posteriors.right_rule[:] = 0.0, 0.0
    if total == -inf:
        return total
    nodes, row = posteriors.span, scratch.nodes[cell(0, n)]
    for label in range(n_labels):
        nodes[cell(0, n), label] = exp(row[label] - total)
    one, other, by_themselves = np.empty(n_labels), np.empty(n_labels), np.zeros((len(marks.extra), 2))
    for j in range(n, 0, -1):
        for i in range(j):
            at, mark = cell(i, j), mark_of(i, j, marks)
            row = scratch.nodes[at]
            if j < n and posteriors.left[at].max() > NEGLIGIBLE:
                halves, half, counts = posteriors.left[at], scratch.first[at], posteriors.left_rule
                _share_children(row, tables.left, parts.left[at], half, halves, nodes[at], counts, one, other)
            if i > 0 and posteriors.right[at].max() > NEGLIGIBLE:
                halves, half, counts = posteriors.right[at], scratch.second[at], posteriors.right_rule
                _share_children(row, tables.right, parts.right[at], half, halves, nodes[at], counts, one, other)
            label = marks.productions[mark, 1] if mark >= 0 else -1
            if j - i > 1 and nodes[at].max() > NEGLIGIBLE:
                _share_splits(i, j, parts.span[at], nodes[at], scratch, posteriors, label, one)
            if mark >= 0:
                _share_marked(i, j, mark, parts, tables, marks, scratch, posteriors, by_themselves, one)
    for at in range(n_cells if len(marks.extra) > 0 else 0):
        (i, j), k, label = ends_of(at), marks.productions[at, 0], marks.productions[at, 1]
        if k > 0:
            posteriors.left[cell(i, k), label] += by_themselves[at, 0]
            posteriors.right[cell(k, j), label] += by_themselves[at, 1]
    return total
