"""Sums of exponentials, and draws in proportion to them, from logarithms: no scores make them overflow."""

from math import exp, inf, log, log1p

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector

NEGLIGIBLE = 1e-280


@kernel
def exponentials(scores: FloatVector, out: FloatVector) -> float:
    """out = exp(scores − top), where top is the largest score, or 0 if all are −inf; return top."""
    top = -inf
    for score in scores:
        top = max(top, score)
    if top == -inf:
        top = 0.0
    for k in range(len(scores)):
        out[k] = exp(scores[k] - top)
    return top


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
def log_sum(terms: FloatVector) -> float:
    """log Σ exp(term); overwrites `terms`."""
    top, total = exponentials(terms, terms), 0.0
    for value in terms:
        total += value
    return top + log(total) if total > 0.0 else -inf


@kernel
def log_add(one: float, other: float) -> float:
    """log(exp(one) + exp(other))."""
    high, low = max(one, other), min(one, other)
    # A term below exp(−40) of the sum is lost to rounding anyway. This also avoids −inf minus −inf.
    return high + log1p(exp(low - high)) if low > high - 40.0 else high


@kernel
def to_shares(scores: FloatVector, shares: FloatVector) -> float:
    """Write the probabilities, in proportion to exp(score), zeros if all are forbidden; return log Σ exp(score)."""
    top, total = exponentials(scores, shares), 0.0
    for share in shares:
        total += share
    for k in range(len(shares)):
        shares[k] = shares[k] / total if total > 0.0 else 0.0
    return top + log(total) if total > 0.0 else -inf


@kernel
def draw_one(terms: FloatVector, uniform: float) -> int:
    """A place drawn in proportion to exp(term); the last possible place if rounding leaves no other."""
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
