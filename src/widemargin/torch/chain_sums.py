"""Forward–backward over a batch of chains that share one table of transitions, in probability space.

    α_0 = begin · e_0 / c_0,   α_t = (α_t-1 T) · e_t / c_t,   β_n-1 = end / c_n,   β_t-1 = T (e_t · β_t) / c_t

with e, T, begin and end the exponentials of the scores, each divided by the largest of its row or table, and c_t such
that Σ_l α_t[l] = 1 and Σ_l α_n-1[l] β_n-1[l] = 1. Then (Rabiner 1989, §V.A)

    p(y_t = l) = α_t[l] β_t[l],   p(y_t-1 = k, y_t = l) = α_t-1[k] T[k, l] e_t[l] β_t[l] / c_t,   log Z = Σ log c_t

plus the divisors. What underflows on the way, at most 10⁻³⁰⁰, is multiplied by some β in a probability. So the sums of
a sequence are right if no β is large; otherwise `decoders.forward_backward` computes them again, from logarithms if it
must. The exponentials of a whole batch are NumPy's, which are vectorised.
"""

from math import inf, log, nan

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.decoders.forward_backward import extend_sums
from widemargin.torch import chain_kernels
from widemargin.torch.chain_kernels import ChainParts

LARGEST = 1e270  # of β
SMALLEST = 1e-300  # of c, so that 1 / c is finite


def chain_sums(parts: ChainParts, lengths: LongVector, out: FloatVector, labels: AnyArray, pairs: AnyArray) -> None:
    """Write log Z of each sequence, and the posteriors of labels, (B, T, L), and of pairs, (B, 1, L, L) or by token."""
    if parts.transitions.shape[1] > 1:
        chain_kernels.sums(parts, lengths, out, labels, pairs)
        return
    factors, tops = np.empty(parts.emissions.shape), np.empty(len(lengths))
    _shift(parts.emissions, lengths, factors, tops)
    np.exp(factors, out=factors)
    table, top = _exponentials(parts.transitions[0, 0])
    begin, begin_top = _exponentials(parts.begin)
    end, end_top = _exponentials(parts.end)
    tops += begin_top + end_top + top * (lengths - 1)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is computed again
        _sums(factors, tops, lengths, table, begin, end, out, labels, pairs)
    for b in np.flatnonzero(np.isnan(out)):
        one = slice(b, b + 1)
        again = parts._replace(emissions=parts.emissions[one])
        chain_kernels.sums(again, lengths[one], out[one], labels[one], pairs[one])


def _exponentials(scores: AnyArray) -> tuple[AnyArray, float]:
    """exp(score − the largest), and the largest; where all are forbidden, zeros and 0."""
    top = float(scores.max())
    top = top if top > -np.inf else 0.0
    return np.exp(scores.astype(np.float64) - top), top


@kernel
def _shift(emissions: AnyArray, lengths: LongVector, shifted: FloatMatrix, tops: FloatVector) -> None:
    """Subtract the largest score of each row, and sum these up; rows of padding become 0."""
    longest, n_labels = emissions.shape[1:]
    for b in range(len(lengths)):
        tops[b] = 0.0
        for t in range(longest):
            top = -np.inf
            for label in range(n_labels):
                score = emissions[b, t, label]
                top = score if score > top else top
            if t >= lengths[b] or top == -np.inf:
                top = 0.0
            tops[b] += top
            for label in range(n_labels):
                shifted[b, t, label] = emissions[b, t, label] - top if t < lengths[b] else 0.0


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
def _forward(factors: FloatMatrix, table: FloatMatrix, begin: FloatVector, alpha: FloatMatrix, c: FloatVector) -> float:
    """Fill in α and c; return Σ log c, or NaN if some c is too small."""
    n, n_labels = factors.shape
    for label in range(n_labels):
        alpha[0, label] = begin[label] * factors[0, label]
    c[0] = _scale(alpha[0])
    total = log(c[0]) if c[0] > SMALLEST else nan
    for t in range(1, n):
        row = alpha[t]
        extend_sums(alpha[t - 1], table, row)
        for label in range(n_labels):
            row[label] *= factors[t, label]
        c[t] = _scale(row)
        if not c[t] > SMALLEST:
            return nan
        total += log(c[t])
    return total


@kernel
def _backward(
    factors: FloatMatrix,
    transposed: FloatMatrix,
    end: FloatVector,
    alpha: FloatMatrix,
    c: FloatVector,
    beta: FloatMatrix,
) -> tuple[float, float]:
    """Fill in β, and in `factors` e_t β_t / c_t; return c_n and the largest β, infinite if c_n is too small."""
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
        extend_sums(arrival, transposed, beta[t - 1])
    for t in range(n):
        for label in range(n_labels):
            largest = beta[t, label] if beta[t, label] > largest else largest
    return mass, largest


@kernel
def _add_pairs(alpha: FloatMatrix, arrivals: FloatMatrix, counts: FloatMatrix) -> None:
    """counts[k, l] = Σ_{t>0} α_t-1[k] arrivals_t[l], four t at a time; t past the end count as zero."""
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


@kernel
def _sums(
    factors: FloatMatrix,
    tops: FloatVector,
    lengths: LongVector,
    table: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    out: FloatVector,
    labels: AnyArray,
    pairs: AnyArray,
) -> None:
    """The sums of every sequence; NaN in `out` where they must be computed in another way. Overwrites `factors`."""
    longest, n_labels = factors.shape[1:]
    alpha, beta, c = np.empty((longest, n_labels)), np.empty((longest, n_labels)), np.empty(longest)
    transposed, counts = np.empty((n_labels, n_labels)), np.empty((n_labels, n_labels))
    for k in range(n_labels):
        for label in range(n_labels):
            transposed[label, k] = table[k, label]
    for b in range(len(lengths)):
        n = lengths[b]
        out[b] = 0.0
        if n == 0:
            continue
        out[b] = tops[b] + _forward(factors[b, :n], table, begin, alpha, c)
        if np.isnan(out[b]):
            continue
        mass, largest = _backward(factors[b, :n], transposed, end, alpha, c, beta)
        if not largest < LARGEST:
            out[b] = nan
            continue
        out[b] += log(mass)
        _add_pairs(alpha[:n], factors[b, :n], counts)
        for k in range(n_labels):
            for label in range(n_labels):
                pairs[b, 0, k, label] = counts[k, label] * table[k, label]
        for t in range(n):
            for label in range(n_labels):
                labels[b, t, label] = alpha[t, label] * beta[t, label]
