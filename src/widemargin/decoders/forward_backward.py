"""Sums over all label sequences of a first-order chain (forward–backward).

    p(y) = exp(score(y)) / Z,   Z = Σ_y exp(score(y)),   with score(y) as in `viterbi`

gives log Z, p(y_t = l) and p(y_t-1 = k, y_t = l). The sums run in probability space: each row of either pass is divided
by its largest entry, and logarithms are taken of the divisors only, so a position costs three products with a table of
exponentials. An entry that underflows is less than 10⁻³⁰⁰ of its row; its share of Z is at most that, divided by

    (the least divisor of a row) · (the least Σ_l forward[t, l] backward[t, l])

If this is not negligible, because constraints forbid all but unlikely sequences, the sums are computed again from
logarithms, cell by cell.
"""

from math import exp, inf, log, nan
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector

NEGLIGIBLE = 1e-280


class Transitions(NamedTuple):
    """Transition scores with their exponentials, which `exponentiate` computes.

    Each is a (≥ n, L, L) array whose entry [t] leads from t − 1 to t, or (1, L, L) when all positions share one table.
    """

    scores: FloatMatrix
    factors: FloatMatrix
    tops: FloatVector


@kernel
def new_transitions(scores: FloatMatrix) -> Transitions:
    """Room for the exponentials of `scores`."""
    return Transitions(scores, np.empty(scores.shape), np.empty(len(scores)))


@kernel
def exponentiate(transitions: Transitions, t: int) -> None:
    """Compute factors[t] = exp(scores[t] − tops[t]) from scores[t]."""
    size = transitions.scores.shape[1] * transitions.scores.shape[2]
    scores, factors = transitions.scores[t].reshape(size), transitions.factors[t].reshape(size)
    transitions.tops[t] = exponentials(scores, factors)


@kernel
def exponentials(scores: FloatVector, out: FloatVector) -> float:
    """out = exp(scores − top), top being the largest score, or 0 where all are −inf; return top."""
    top = -inf
    for score in scores:
        top = max(top, score)
    if top == -inf:
        top = 0.0
    for k in range(len(scores)):
        out[k] = exp(scores[k] - top)
    return top


@kernel
def _normalise(row: FloatVector) -> float:
    """Divide by the largest entry and return it; a row of zeros stays as it is."""
    top = 0.0
    for value in row:
        top = max(top, value)
    if top > 0.0:
        for k in range(len(row)):
            row[k] /= top
    return top


@kernel
def _dot(one: FloatVector, other: FloatVector) -> float:
    total = 0.0
    for k in range(len(one)):
        total += one[k] * other[k]
    return total


@kernel
def extend_sums(last: FloatVector, table: FloatMatrix, row: FloatVector) -> None:
    """row[l] = Σ_k last[k] table[k, l], four rows of the table at a time: `row` is stored a quarter as often."""
    n = len(row)
    for label in range(n):
        row[label] = 0.0
    k = 0
    while k + 4 <= n:
        s0, s1, s2, s3 = last[k], last[k + 1], last[k + 2], last[k + 3]
        t0, t1, t2, t3 = table[k], table[k + 1], table[k + 2], table[k + 3]
        for label in range(n):
            row[label] += (s0 * t0[label] + s1 * t1[label]) + (s2 * t2[label] + s3 * t3[label])
        k += 4
    while k < n:
        s0, t0 = last[k], table[k]
        for label in range(n):
            row[label] += s0 * t0[label]
        k += 1


@kernel
def _forward(
    emission: FloatMatrix,
    transitions: Transitions,
    begin: FloatVector,
    forward: FloatMatrix,
    factors: FloatMatrix,
) -> tuple[float, float]:
    """Fill `forward` and the exponentials of `emission`; return the sum of all logarithms and the least divisor."""
    n, n_labels = emission.shape
    shared = transitions.scores.shape[0] == 1
    for label in range(n_labels):
        forward[0, label] = begin[label] + emission[0, label]
    total, least = exponentials(forward[0], forward[0]), 1.0
    for t in range(1, n):
        table = 0 if shared else t
        total += transitions.tops[table] + exponentials(emission[t], factors[t])
        extend_sums(forward[t - 1], transitions.factors[table], forward[t])
        for label in range(n_labels):
            forward[t, label] *= factors[t, label]
        divisor = _normalise(forward[t])
        if divisor < NEGLIGIBLE:
            return total, 0.0
        total += log(divisor)
        least = min(least, divisor)
    return total, least


@kernel
def _clear(tables: FloatMatrix) -> None:
    for t in range(tables.shape[0]):
        for k in range(tables.shape[1]):
            for label in range(tables.shape[2]):
                tables[t, k, label] = 0.0


@kernel
def _by_scaling(
    emission: FloatMatrix,
    transitions: Transitions,
    begin: FloatVector,
    end: FloatVector,
    forward: FloatMatrix,
    backward: FloatMatrix,
    labels: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Like `forward_backward`, but returns NaN if more than a negligible part underflows."""
    n, n_labels = emission.shape
    shared = transitions.scores.shape[0] == 1
    # Until the backward pass gets there, `labels` holds the exponentials of the emission scores.
    total, least = _forward(emission, transitions, begin, forward, labels)
    if least < NEGLIGIBLE:
        return nan  # the rest of `forward` is not filled in
    total += exponentials(end, backward[n - 1])
    mass = _dot(forward[n - 1], backward[n - 1])
    if least * mass < NEGLIGIBLE:
        return nan
    total += log(mass)
    for t in range(n - 1, 0, -1):
        table = 0 if shared else t
        factors, sums, arrival = transitions.factors[table], pairs[table], backward[t]
        for label in range(n_labels):
            posterior = forward[t, label] * arrival[label] / mass
            arrival[label] *= labels[t, label]
            labels[t, label] = posterior
        for k in range(n_labels):
            backward[t - 1, k] = _dot(factors[k], arrival)
        divisor = _normalise(backward[t - 1])
        least = min(least, divisor)
        mass = _dot(forward[t - 1], backward[t - 1])
        if least * mass < NEGLIGIBLE:
            return nan
        for k in range(n_labels):
            share = forward[t - 1, k] / (divisor * mass)
            for label in range(n_labels):
                sums[k, label] += share * arrival[label]
    for label in range(n_labels):
        labels[0, label] = forward[0, label] * backward[0, label] / mass
    for table in range(0 if shared else 1, len(pairs)):
        for k in range(n_labels):
            for label in range(n_labels):
                pairs[table, k, label] *= transitions.factors[table, k, label]
    return total


@kernel
def log_sum(terms: FloatVector) -> float:
    """log Σ exp(term), which overwrites `terms`."""
    top, total = exponentials(terms, terms), 0.0
    for value in terms:
        total += value
    return top + log(total) if total > 0.0 else -inf


@kernel
def _by_logarithms(
    emission: FloatMatrix,
    scores: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    forward: FloatMatrix,
    backward: FloatMatrix,
    labels: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Like `forward_backward`, for any scores; `forward` and `backward` hold logarithms."""
    n, n_labels = emission.shape
    shared = scores.shape[0] == 1
    terms = np.empty(n_labels)
    for label in range(n_labels):
        forward[0, label] = begin[label] + emission[0, label]
        backward[n - 1, label] = end[label]
    for t in range(1, n):
        for label in range(n_labels):
            for k in range(n_labels):
                terms[k] = forward[t - 1, k] + scores[0 if shared else t, k, label]
            forward[t, label] = emission[t, label] + log_sum(terms)
    for label in range(n_labels):
        terms[label] = forward[n - 1, label] + end[label]
    total = log_sum(terms)
    # If no sequence is possible, all posteriors are zero.
    scale = total if total > -inf else 0.0
    for t in range(n - 1, -1, -1):
        for label in range(n_labels):
            labels[t, label] = exp(forward[t, label] + backward[t, label] - scale)
        for k in range(n_labels if t > 0 else 0):
            table = 0 if shared else t
            for label in range(n_labels):
                terms[label] = scores[table, k, label] + emission[t, label] + backward[t, label]
                pairs[table, k, label] += exp(forward[t - 1, k] + terms[label] - scale)
            backward[t - 1, k] = log_sum(terms)
    return total


@kernel
def forward_backward(
    emission: FloatMatrix,
    transitions: Transitions,
    begin: FloatVector,
    end: FloatVector,
    forward: FloatMatrix,
    backward: FloatMatrix,
    labels: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Write the posteriors to `labels` and `pairs` and return log Z; scores may be −inf.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    transitions : exponentiated at every t; if there is a table for each t, t = 0 is not needed
    begin, end : (L,) arrays
    forward, backward : (≥ n, L) scratch arrays
    labels : (n, L) output, p(y_t = l)
    pairs : (n, L, L) output, p(y_t-1 = k, y_t = l), zero at t = 0; or (1, L, L), the sum over all t, if positions
        share a table
    """
    _clear(pairs)
    total = _by_scaling(emission, transitions, begin, end, forward, backward, labels, pairs)
    if np.isnan(total):
        _clear(pairs)
        total = _by_logarithms(emission, transitions.scores, begin, end, forward, backward, labels, pairs)
    return total
