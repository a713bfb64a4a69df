"""Forward–backward over a batch of chains, in probability space.

    α_0 = begin · e_0 / c_0,   α_t = (α_t-1 T) · e_t / c_t,   β_n-1 = end / c_n,   β_t-1 = T (e_t · β_t) / c_t

with e, T, begin and end the exponentials of the scores, each divided by the largest of its row or table, and c_t such
that Σ_l α_t[l] = 1 and Σ_l α_n-1[l] β_n-1[l] = 1. Then (Rabiner 1989, §V.A)

    p(y_t = l) = α_t[l] β_t[l],   p(y_t-1 = k, y_t = l) = α_t-1[k] T[k, l] e_t[l] β_t[l] / c_t,   log Z = Σ log c_t

plus the logarithms of the divisors. A number that underflows is at most 10⁻³⁰⁰, and some β multiplies it in a
probability. So the sums of a sequence are right if no β is large; otherwise `decoders.semimarkov_sums` computes them
again from logarithms. NumPy exponentiates a whole batch at once, because its exponentials are vectorised.
"""

from itertools import pairwise
from math import inf, log, nan

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.scores import extend_sums
from widemargin.structures.chain import segmented_of, tables_of
from widemargin.structures.flat import Counts, Scores, longest_of, some
from widemargin.structures.parts import Sums

LARGEST = 1e270  # of β
SMALLEST = 1e-300  # of c, so that 1 / c is finite


def chain_sums(scores: Scores, n_labels: int) -> Sums:
    """log Z of each sequence, the probabilities of labels and pairs, and those of first and last labels.

    Pairs that all positions share are summed over the positions of each sequence.
    """
    n, at_ends = len(scores.sizes), len(scores.shared) - 2 * n_labels
    by_position = at_ends == 0
    # Entries that belong to no sequence must be zero.
    n_own = scores.sizes.sum() * (n_labels * (1 + n_labels) if by_position else n_labels)
    room = np.empty if n_own == len(scores.own) and not by_position else np.zeros
    shared = np.zeros((n, len(scores.shared)))
    log_z, counts = np.empty(n), Counts(scores.starts, scores.sizes, room(len(scores.own)), shared)
    factors, tops = room(len(scores.own)), np.empty(n)
    _shift(scores, n_labels, factors, tops)
    np.exp(factors, out=factors)
    common, ends = scores.shared.copy(), (0, at_ends, at_ends + n_labels, len(scores.shared))
    once = np.ones(n)
    for (first, end), times in zip(pairwise(ends), (scores.sizes - 1.0, once, once), strict=True):
        top = common[first:end].max(initial=-inf)
        top = top if top > -inf else 0.0  # if all are forbidden
        common[first:end] = np.exp(common[first:end] - top)
        tops += top * times
    exponentials = Scores(scores.starts, scores.sizes, factors, common)
    with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are computed again
        _sums(exponentials, n_labels, tops, log_z, counts)
    again = np.flatnonzero(np.isnan(log_z))
    if len(again):
        from widemargin.decoders.semimarkov_sums import new_segment_sums
        from widemargin.structures.segment_searches import segment_sums  # rarely needed

        one = some(scores, again)
        part, found = Counts(one.starts, one.sizes, counts.own, shared[again]), np.empty(len(again))
        segment_sums(one, 1, n_labels, new_segment_sums(int(one.sizes.max()), n_labels), found, part)
        log_z[again], shared[again] = found, part.shared
    return Sums(log_z, counts)


@kernel
def _shift_row(row: FloatVector, shifted: FloatVector) -> float:
    """Subtract the largest score, and return it; 0 where all are forbidden."""
    top = -np.inf
    for score in row:
        top = score if score > top else top
    top = 0.0 if top == -np.inf else top
    for label in range(len(row)):
        shifted[label] = row[label] - top
    return top


@kernel
def _shift(scores: Scores, n_labels: int, shifted: FloatVector, tops: FloatVector) -> None:
    """Subtract the largest score of each row of labels and of each table of pairs; `tops` gets their sums."""
    by_position, n_pairs = len(scores.shared) == 2 * n_labels, n_labels * n_labels
    for k in range(len(scores.sizes)):
        n, at, tops[k] = scores.sizes[k], scores.starts[k], 0.0
        for begin in range(at, at + n * n_labels, n_labels):
            tops[k] += _shift_row(scores.own[begin : begin + n_labels], shifted[begin : begin + n_labels])
        for t in range(1, n if by_position else 0):  # nothing leads into the first position
            begin = at + n * n_labels + t * n_pairs
            tops[k] += _shift_row(scores.own[begin : begin + n_pairs], shifted[begin : begin + n_pairs])


@kernel
def _scale(row: FloatVector) -> float:
    """Divide by the sum, unless it is 0, and return it."""
    total = 0.0
    for value in row:
        total += value
    factor = 1.0 / total if total > 0.0 else 0.0
    for label in range(len(row)):
        row[label] *= factor
    return total


@kernel
def _forward(
    factors: FloatMatrix, tables: FloatMatrix, begin: FloatVector, alpha: FloatMatrix, c: FloatVector
) -> float:
    """Fill in α and c; return Σ log c, or NaN if some c is too small."""
    n, n_labels = factors.shape
    for label in range(n_labels):
        alpha[0, label] = begin[label] * factors[0, label]
    c[0] = _scale(alpha[0])
    total = log(c[0]) if c[0] > SMALLEST else nan
    for t in range(1, n):
        row = alpha[t]
        extend_sums(alpha[t - 1], tables[0 if len(tables) == 1 else t], row)
        for label in range(n_labels):
            row[label] *= factors[t, label]
        c[t] = _scale(row)
        if not c[t] > SMALLEST:
            return nan
        total += log(c[t])
    return total


@kernel
def _backward(
    factors: FloatMatrix, tables: FloatMatrix, end: FloatVector, alpha: FloatMatrix, c: FloatVector, beta: FloatMatrix
) -> tuple[float, float]:
    """Fill in β, and in `factors` e_t β_t / c_t; return c_n and the largest β, infinite if c_n is too small.

    The tables are transposed: from labels to those before.
    """
    # e_t β_t / c_t overwrites e_t, since nothing else reads e_t again; pairs then need only α_t-1 and this product.
    n, n_labels = factors.shape
    mass, largest = 0.0, 0.0
    for label in range(n_labels):
        mass += alpha[n - 1, label] * end[label]
    if not mass > SMALLEST:
        return mass, inf
    for label in range(n_labels):
        beta[n - 1, label] = end[label] / mass
    for t in range(n - 1, 0, -1):
        factor = 1.0 / c[t]
        row, arrival = beta[t], factors[t]
        for label in range(n_labels):
            arrival[label] *= row[label] * factor
        extend_sums(arrival, tables[0 if len(tables) == 1 else t], beta[t - 1])
    for t in range(n):
        for label in range(n_labels):
            largest = beta[t, label] if beta[t, label] > largest else largest
    return mass, largest


@kernel
def _add_pairs(alpha: FloatMatrix, arrivals: FloatMatrix, table: FloatMatrix, counts: FloatMatrix) -> None:
    """counts[k, l] = T[k, l] Σ_{t>0} α_t-1[k] arrivals_t[l], four t at a time; t past the end count as zero."""
    n, n_labels = alpha.shape
    for k in range(n_labels):
        for label in range(n_labels):
            counts[k, label] = 0.0
    last = n - 1
    for t in range(1, n, 4):
        t1, t2, t3 = min(t + 1, last), min(t + 2, last), min(t + 3, last)
        d0, d1, d2, d3 = arrivals[t], arrivals[t1], arrivals[t2], arrivals[t3]
        for k in range(n_labels):
            a0 = alpha[t - 1, k]
            a1 = alpha[t1 - 1, k] if t + 1 < n else 0.0
            a2 = alpha[t2 - 1, k] if t + 2 < n else 0.0
            a3 = alpha[t3 - 1, k] if t + 3 < n else 0.0
            row = counts[k]
            for label in range(n_labels):
                row[label] += (a0 * d0[label] + a1 * d1[label]) + (a2 * d2[label] + a3 * d3[label])
    for k in range(n_labels):
        for label in range(n_labels):
            counts[k, label] *= table[k, label]


@kernel
def _sums(exponentials: Scores, n_labels: int, tops: FloatVector, log_z: FloatVector, counts: Counts) -> None:
    """The sums of every sequence; log Z is NaN if they must be computed from logarithms. Overwrites `own`."""
    longest, by_position = longest_of(counts.sizes), len(exponentials.shared) == 2 * n_labels
    alpha, beta, c = np.empty((longest, n_labels)), np.empty((longest, n_labels)), np.empty(longest)
    turned = np.empty((0, n_labels, n_labels))
    for k in range(len(counts.sizes)):
        n, log_z[k] = counts.sizes[k], 0.0
        if n == 0:
            continue
        one = segmented_of(exponentials, k, 1, n_labels)
        found = tables_of(counts.own, counts.shared[k], counts.starts[k], n, 1, n_labels)
        own, pairs, labels = one.segment.reshape(n, n_labels), found.transition, found.segment.reshape(n, n_labels)
        log_z[k] = tops[k] + _forward(own, one.transition, one.begin, alpha, c)
        if np.isnan(log_z[k]):
            continue
        if by_position or len(turned) == 0:
            turned = np.ascontiguousarray(one.transition.transpose(0, 2, 1))
        mass, largest = _backward(own, turned, one.end, alpha, c, beta)
        if not largest < LARGEST:
            log_z[k] = nan
            continue
        log_z[k] += log(mass)
        if by_position:
            for t in range(1, n):
                _add_pairs(alpha[t - 1 : t + 1], own[t - 1 : t + 1], one.transition[t], pairs[t])
        else:
            _add_pairs(alpha[:n], own, one.transition[0], pairs[0])
        for t in range(n):
            row = labels[t]
            for label in range(n_labels):
                row[label] = alpha[t, label] * beta[t, label]
            _scale(row)  # the sum is 1 up to rounding; a label without alternative has a probability of exactly 1
        for label in range(n_labels):
            found.begin[label], found.end[label] = labels[0, label], labels[n - 1, label]
