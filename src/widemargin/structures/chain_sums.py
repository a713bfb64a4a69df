"""Forward–backward over a batch of chains, in probability space.

    α_0 = begin · e_0 / c_0,   α_t = (α_t-1 T) · e_t / c_t,   β_n-1 = end / c_n,   β_t-1 = T (e_t · β_t) / c_t

with e, T, begin and end the exponentials of the scores, each divided by the largest of its row or table, and c_t such
that Σ_l α_t[l] = 1 and Σ_l α_n-1[l] β_n-1[l] = 1. Then (Rabiner 1989, §V.A)

    p(y_t = l) = α_t[l] β_t[l],   p(y_t-1 = k, y_t = l) = α_t-1[k] T[k, l] e_t[l] β_t[l] / c_t,   log Z = Σ log c_t

plus the divisors. What underflows on the way, at most 10⁻³⁰⁰, is multiplied by some β in a probability. So the sums of
a sequence are right if no β is large; otherwise `decoders.forward_backward` computes them again from logarithms. The
exponentials of a whole batch are NumPy's, which are vectorised.
"""

from math import inf, log, nan

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix
from widemargin.decoders.forward_backward import exponentials, extend_sums, forward_backward, log_sum
from widemargin.structures.chain import ChainScores, longest_of, rows_of, tables_of

LARGEST = 1e270  # of β
SMALLEST = 1e-300  # of c, so that 1 / c is finite


def chain_sums(scores: ChainScores, *, by_position: bool) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
    """log Z of each sequence, the probabilities of labels, a row per position, and those of pairs.

    Pairs have a table per sequence, summed over its positions; one per position, if these differ.
    """
    n, (rows, n_labels) = len(scores.sizes), scores.emission.shape
    # Rows of padding belong to no sequence.
    room = np.empty if scores.sizes.sum() == rows else np.zeros
    log_z, labels = np.empty(n), room((rows, n_labels))
    pairs = np.zeros((rows, n_labels, n_labels)) if by_position else np.empty((n, n_labels, n_labels))
    factors, tops = room((rows, n_labels)), np.empty(n)
    _shift(scores, factors, tops)
    np.exp(factors, out=factors)
    if by_position:
        tables = np.zeros(scores.transition.shape)
        _shift_tables(scores, tables, tops)
        np.exp(tables, out=tables)
    else:
        table, top = _exponentials(scores.transition[0])
        tables, tops = table[None], tops + top * (scores.sizes - 1)
    begin, begin_top = _exponentials(scores.begin)
    end, end_top = _exponentials(scores.end)
    tops += begin_top + end_top
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is computed again
        _sums(scores, factors, tops, tables, by_position, begin, end, log_z, labels, pairs)
    for k in np.flatnonzero(np.isnan(log_z)).tolist():
        log_z[k] = _by_logarithms(scores, by_position, k, labels, pairs)
    return log_z, labels, pairs


def _exponentials(scores: AnyArray) -> tuple[AnyArray, float]:
    """exp(score − the largest), and the largest; where all are forbidden, zeros and 0."""
    top = float(scores.max())
    top = top if top > -np.inf else 0.0
    return np.exp(scores - top), top


@kernel
def _by_logarithms(scores: ChainScores, by_position: bool, k: int, labels: FloatMatrix, pairs: FloatMatrix) -> float:
    """The sums of sequence k with any scores."""
    first, n, n_labels = scores.starts[k], scores.sizes[k], len(scores.begin)
    begin, end = (first, first + n) if by_position else (k, k + 1)
    forward, backward = np.empty((n, n_labels)), np.empty((n, n_labels))
    return forward_backward(
        rows_of(scores, k),
        tables_of(scores, k),
        scores.begin,
        scores.end,
        forward,
        backward,
        labels[first : first + n],
        pairs[begin:end],
    )


@kernel
def _shift_tables(scores: ChainScores, shifted: FloatMatrix, tops: FloatVector) -> None:
    """Subtract the largest score of each table that a sequence uses, and add these up."""
    for k in range(len(scores.sizes)):
        for row in range(scores.starts[k] + 1, scores.starts[k] + scores.sizes[k]):
            table, top = scores.transition[row], -np.inf
            for p in range(table.shape[0]):
                for label in range(table.shape[1]):
                    top = table[p, label] if table[p, label] > top else top
            if top == -np.inf:
                top = 0.0
            tops[k] += top
            for p in range(table.shape[0]):
                for label in range(table.shape[1]):
                    shifted[row, p, label] = table[p, label] - top


@kernel
def _shift(scores: ChainScores, shifted: FloatMatrix, tops: FloatVector) -> None:
    """Subtract the largest score of each row, and sum these up for each sequence."""
    n_labels = len(scores.begin)
    for k in range(len(scores.sizes)):
        tops[k] = 0.0
        for row in range(scores.starts[k], scores.starts[k] + scores.sizes[k]):
            top = -np.inf
            for label in range(n_labels):
                score = scores.emission[row, label]
                top = score if score > top else top
            if top == -np.inf:
                top = 0.0
            tops[k] += top
            for label in range(n_labels):
                shifted[row, label] = scores.emission[row, label] - top


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
def _transposed(tables: FloatMatrix) -> FloatMatrix:
    turned = np.empty(tables.shape)
    for t in range(tables.shape[0]):
        for k in range(tables.shape[1]):
            for label in range(tables.shape[2]):
                turned[t, label, k] = tables[t, k, label]
    return turned


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
    scores: ChainScores,
    factors: FloatMatrix,
    tops: FloatVector,
    tables: FloatMatrix,
    by_position: bool,
    begin: FloatVector,
    end: FloatVector,
    log_z: FloatVector,
    labels: FloatMatrix,
    pairs: FloatMatrix,
) -> None:
    """The sums of every sequence; log Z is NaN where they must be computed in another way. Overwrites `factors`."""
    longest, n_labels = longest_of(scores.sizes), len(begin)
    alpha, beta, c = np.empty((longest, n_labels)), np.empty((longest, n_labels)), np.empty(longest)
    turned = _transposed(tables)
    for b in range(len(scores.sizes)):
        first, n = scores.starts[b], scores.sizes[b]
        log_z[b] = 0.0
        if n == 0:
            if not by_position:
                pairs[b] = 0.0
            continue
        own, low, high = factors[first : first + n], first if by_position else 0, first + n if by_position else 1
        log_z[b] = tops[b] + _forward(own, tables[low:high], begin, alpha, c)
        if np.isnan(log_z[b]):
            continue
        mass, largest = _backward(own, turned[low:high], end, alpha, c, beta)
        if not largest < LARGEST:
            log_z[b] = nan
            continue
        log_z[b] += log(mass)
        if by_position:
            for t in range(1, n):
                _add_pairs(alpha[t - 1 : t + 1], own[t - 1 : t + 1], pairs[first + t])
                _times(tables[first + t], pairs[first + t])
        else:
            _add_pairs(alpha[:n], own, pairs[b])
            _times(tables[0], pairs[b])
        for t in range(n):
            row = labels[first + t]
            for label in range(n_labels):
                row[label] = alpha[t, label] * beta[t, label]
            _scale(
                row
            )  # the sum is 1 up to rounding; a label without an alternative has a probability of 1 to the last bit


@kernel
def _times(table: FloatMatrix, counts: FloatMatrix) -> None:
    for k in range(table.shape[0]):
        for label in range(table.shape[1]):
            counts[k, label] *= table[k, label]


@kernel
def _draw(terms: FloatVector, uniform: float) -> int:
    """A place drawn with the probabilities exp(term), up to a factor; the last possible one where rounding decides."""
    total, last = 0.0, 0
    top = exponentials(terms, terms)
    for k in range(len(terms)):
        total += terms[k]
        last = k if terms[k] > 0.0 or top == -inf else last
    threshold, total = uniform * total, 0.0
    for k in range(len(terms)):
        total += terms[k]
        if total > threshold:
            return k
    return last


@kernel
def sample_chains(scores: ChainScores, uniforms: FloatMatrix, outputs: IntMatrix) -> None:
    """Write a draw of every sequence to each row of `outputs`: a forward pass, then labels from the last to the first.

    `uniforms`, of the same shape, holds a random number between 0 and 1 for each label to be drawn.
    """
    longest, n_labels, write = longest_of(scores.sizes), len(scores.begin), 0
    forward, terms = np.empty((longest, n_labels)), np.empty(n_labels)
    for k in range(len(scores.sizes)):
        n, rows, tables = scores.sizes[k], rows_of(scores, k), tables_of(scores, k)
        for t in range(n):
            for label in range(n_labels):
                forward[t, label] = scores.begin[label]
                if t > 0:
                    for p in range(n_labels):
                        terms[p] = forward[t - 1, p] + tables[0 if len(tables) == 1 else t, p, label]
                    forward[t, label] = log_sum(terms)
                forward[t, label] += rows[t, label]
        for draw in range(len(outputs)):
            for t in range(n - 1, -1, -1):
                for label in range(n_labels):
                    after = scores.end[label]
                    if t < n - 1:
                        after = tables[0 if len(tables) == 1 else t + 1, label, outputs[draw, write + t + 1]]
                    terms[label] = forward[t, label] + after
                outputs[draw, write + t] = _draw(terms, uniforms[draw, write + t])
        write += n
