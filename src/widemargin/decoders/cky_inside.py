"""The inside pass over all labelled binary trees of a sentence: the maxima of `cky` become logarithms of sums.

    first[i, k, l]  = left[i, k, l]  + log Σ_p exp(inside[i, k, p] + left_rule[p, l])
    second[k, j, l] = right[k, j, l] + log Σ_q exp(inside[k, j, q] + right_rule[q, l])
    inside[i, j, l] = span[i, j, l]  + log Σ_k exp(first[i, k, l] + second[k, j, l])

The charts hold logarithms. A sum over the labels of a child is a product with a table of exponentials, each divided by
the largest of its column. Where the largest terms underflow there, it is summed again from logarithms.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.charts import Marks, TreeParts, cell, mark_of
from widemargin.decoders.log_sums import exponentials, log_sum

SMALLEST = 1e-280
LOG_SMALLEST = log(SMALLEST)
"""Sums of products below this may have lost terms that underflowed."""


class Rules(NamedTuple):
    """Scores of rules, factors[p, l] = exp(scores[p, l] − tops[l]), and tops[l], the largest score of each column."""

    scores: FloatMatrix
    factors: FloatMatrix
    tops: FloatVector


class Tables(NamedTuple):
    """The rules of left halves, and those of right ones."""

    left: Rules
    right: Rules


class InsideScores(NamedTuple):
    """Charts of the same shape as `TreeParts.span`."""

    inside: FloatMatrix
    first: FloatMatrix
    second: FloatMatrix


@kernel
def new_inside(n: int, n_labels: int) -> InsideScores:
    """Scratch charts for a sentence of up to `n` words."""
    n_cells = n * (n + 1) // 2
    return InsideScores(np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)))


@kernel
def exponentiated(scores: FloatMatrix) -> Rules:
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
def _log_add(one: float, other: float) -> float:
    top = max(one, other)
    return top + log(exp(one - top) + exp(other - top)) if top > -inf else -inf


@kernel
def _change(inside: FloatVector, rules: Rules, parent: int, child: int, extra: float, terms: FloatVector) -> float:
    """How much log Σ_p exp(inside[p] + rules[p, parent]) changes if p = `child` scores `extra` more."""
    for label in range(len(inside)):
        terms[label] = inside[label] + rules.scores[label, parent]
    own, terms[child] = terms[child], -inf
    others = log_sum(terms[: len(inside)])
    total = _log_add(own, others)
    return _log_add(own + extra, others) - total if total > -inf else 0.0


@kernel
def right_change(j: int, mark: int, tables: Tables, scratch: InsideScores, marks: Marks, terms: FloatVector) -> float:
    """How much the sum over right halves changes by the mark, if the left half is as marked."""
    k, label, right = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 3]
    return _change(scratch.inside[cell(k, j)], tables.right, label, right, marks.extra[mark], terms)


@kernel
def marked_splits(
    i: int, j: int, mark: int, tables: Tables, scratch: InsideScores, marks: Marks, terms: FloatVector
) -> FloatVector:
    """first[i, k, l] + second[k, j, l] for every k, where l and one of the splits are marked."""
    marked, label, left = marks.productions[mark, 0], marks.productions[mark, 1], marks.productions[mark, 2]
    scores = np.empty(j - i - 1)
    for k in range(i + 1, j):
        scores[k - i - 1] = scratch.first[cell(i, k), label] + scratch.second[cell(k, j), label]
    change = right_change(j, mark, tables, scratch, marks, terms)
    scores[marked - i - 1] += _change(scratch.inside[cell(i, marked)], tables.left, label, left, change, terms)
    return scores


@kernel
def inside_sums(n: int, parts: TreeParts, tables: Tables, marks: Marks, scratch: InsideScores) -> float:
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
            # What begins with the first word is no right half, and what ends with the last is no left one.
            if j < n:
                _sum_children(row, tables.left, parts.left[at], first[at], tops)
            if i > 0:
                _sum_children(row, tables.right, parts.right[at], second[at], tops)
    for label in range(n_labels):
        tops[label] = inside[cell(0, n), label]
    return log_sum(tops)
