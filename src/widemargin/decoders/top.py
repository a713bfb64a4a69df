"""The highest of some scores, and the k best of many items, best first: by level, then by key, then by number.

A heap holds the k best so far, with the worst of them on top. Nearly all items lose against the top at once, so
choosing a few out of n costs little more than reading them. To choose many, sorting is cheaper.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector

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
