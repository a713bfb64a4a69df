"""Rows of scores: the highest, the k best, sums of exponentials, and draws in proportion to them.

The k best of many items come best first: by level, then by key, then by number. A heap holds the k best so far, with
the worst of them on top. Nearly all items lose against the top at once, so choosing a few out of n costs little more
than reading them. To choose many, sorting is cheaper.

Sums and draws start from logarithms, so no scores make them overflow.
"""

from math import exp, inf, log, log1p

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector

SMALLEST = 1e-280  # sums of products below this may have lost terms that underflowed

SORTED = 8
"""Sort all items if more than one in this many is wanted."""


@kernel
def _is_before(levels: IntVector, keys: FloatVector, a: int, b: int) -> bool:
    if levels[a] != levels[b]:
        return bool(levels[a] > levels[b])
    if keys[a] != keys[b]:
        return bool(keys[a] > keys[b])
    return a < b


@kernel
def _sift(levels: IntVector, keys: FloatVector, heap: IntVector, size: int, place: int, item: int) -> None:
    """Put `item` at this place of a heap of which all below is in order, or further down."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _is_before(levels, keys, heap[child], heap[child + 1]):
            child += 1
        if not _is_before(levels, keys, item, heap[child]):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item


@kernel
def top_k(levels: IntVector, keys: FloatVector, out: IntVector) -> None:
    """Fill `out` with the numbers of the len(out) best items, best first."""
    n, k = len(keys), len(out)
    if k * SORTED > n:
        order = np.argsort(-keys, kind="mergesort")
        order = order[np.argsort(-levels[order], kind="mergesort")]
        for r in range(k):
            out[r] = order[r]
        return
    for place in range(k - 1, -1, -1):
        out[place] = place
        _sift(levels, keys, out, k, place, place)
    for item in range(k, n if k > 0 else 0):
        if _is_before(levels, keys, item, out[0]):
            _sift(levels, keys, out, k, 0, item)
    for last in range(k - 1, 0, -1):
        worst = out[0]
        _sift(levels, keys, out, last, 0, out[last])
        out[last] = worst


@kernel
def highest(scores: FloatVector) -> int:
    """The place of the highest score, the first in a tie.

    >>> highest(np.array([0.0, 3.0, -np.inf, 3.0]))
    1
    """
    # Four chains of comparisons overlap. There are no branches that the processor could predict wrongly.
    n, a, b, c, d = len(scores), -np.inf, -np.inf, -np.inf, -np.inf
    for k in range(0, n - 3, 4):
        one, two = scores[np.uint64(k)], scores[np.uint64(k + 1)]
        three, four = scores[np.uint64(k + 2)], scores[np.uint64(k + 3)]
        a = one if one > a else a
        b = two if two > b else b
        c = three if three > c else c
        d = four if four > d else d
    for k in range(n // 4 * 4, n):
        a = scores[k] if scores[k] > a else a
    a, c = a if a > b else b, c if c > d else d
    top, place = a if a > c else c, n - 1
    for label in range(n):
        own = label if scores[np.uint64(label)] == top else n - 1
        place = own if own < place else place
    return place


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
