"""The best projective dependency tree (Eisner 1996), in O(n³).

    score(tree) = Σ_m scores[head(m), m]     over words m = 1 … n; head 0 is the artificial root, left of all words

A tree is projective if every word between m and head(m) descends from head(m). For i ≤ j let

    right[i, j]   the best half tree over i … j whose head is i
    left[i, j]    the best half tree over i … j whose head is j
    splits[i, j]  max over i ≤ k < j of right[i, k] + left[k+1, j]
    arcs[m, h]    splits between m and h, plus scores[h, m]: the best way to attach m to h

    right[i, j] = max over i < k ≤ j of arcs[k, i] + right[k, j]
    left[i, j]  = max over i ≤ k < j of left[i, k] + arcs[k, j]

Rows are made from the last to the first, and whatever becomes known at [i, k] is at once passed on to all [i, j] with
j > k: each of the three maxima then runs over contiguous rows, which vectorises. No back pointers are kept, since
finding the maxima again along the best tree takes O(n²) in all.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntMatrix, IntVector


class Chart(NamedTuple):
    """Scratch space: half trees as above, and those that are still to be written, as rows (head, end)."""

    right: FloatMatrix
    left: FloatMatrix
    splits: FloatMatrix
    arcs: FloatMatrix
    pending: IntMatrix


@kernel
def new_chart(n: int) -> Chart:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    return Chart(
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, 2), dtype=np.int32),
    )


@kernel
def begin_row(chart: Chart, i: int, n: int) -> None:
    """Make row i of the chart of a sentence of n words, in which nothing is attached to i yet."""
    right, left, splits = chart.right[i], chart.left[i], chart.splits[i]
    for j in range(i + 1, n + 1):
        right[j] = left[j] = -np.inf
        splits[j] = chart.left[i + 1, j]
    right[i] = left[i] = 0.0


@kernel
def attach(chart: Chart, i: int, k: int, n: int, onward: float, back: float) -> None:
    """Complete [i, k], given the best ways to attach k to i (`onward`) and i to k (`back`), and pass it on."""
    right, left, splits = chart.right[i], chart.left[i], chart.splits[i]
    chart.arcs[k, i], chart.arcs[i, k] = onward, back
    r, t = max(right[k], onward), max(left[k], back)
    right[k], left[k] = r, t
    if k == n:
        return
    next_left, next_right, arcs = chart.left[k + 1], chart.right[k], chart.arcs[k]
    for number in range(k + 1, n + 1):
        j = np.uint64(number)
        a, b, c = r + next_left[j], onward + next_right[j], t + arcs[j]
        splits[j] = a if a > splits[j] else splits[j]
        right[j] = b if b > right[j] else right[j]
        left[j] = c if c > left[j] else left[j]


@kernel
def best_split(chart: Chart, i: int, j: int) -> int:
    """The k at which splits[i, j] is reached: the lowest there is."""
    best = i
    for k in range(i + 1, j):
        if chart.right[i, k] + chart.left[k + 1, j] > chart.right[i, best] + chart.left[best + 1, j]:
            best = k
    return best


@kernel
def farthest_child(chart: Chart, head: int, end: int) -> int:
    """The last word attached to the head of a half tree that ends at `end`, the lowest of equally good ones."""
    if head < end:
        best = head + 1
        for k in range(head + 2, end + 1):
            if chart.arcs[k, head] + chart.right[k, end] > chart.arcs[best, head] + chart.right[best, end]:
                best = k
    else:
        best = end
        for k in range(end + 1, head):
            if chart.left[end, k] + chart.arcs[k, head] > chart.left[end, best] + chart.arcs[best, head]:
                best = k
    return best


@kernel
def push(chart: Chart, count: int, head: int, end: int) -> int:
    """Remember a half tree that is more than its head, to be written; return how many there are then."""
    if head == end:
        return count
    chart.pending[count, 0], chart.pending[count, 1] = head, end
    return count + 1


@kernel
def push_between(chart: Chart, count: int, one: int, other: int) -> int:
    """Remember the two best half trees that face each other between two heads."""
    i, j = min(one, other), max(one, other)
    k = best_split(chart, i, j)
    return push(chart, push(chart, count, i, k), j, k + 1)


@kernel
def eisner(scores: FloatMatrix, single_root: bool, heads: IntVector, chart: Chart) -> float:
    """Write the heads of the best tree and return its score.

    What is written is a projective tree in any case, though one of score −inf where there is no other.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are not
        looked at
    single_root : whether exactly one word is attached to the root, instead of one or more
    heads : (n,) output; entry m − 1 is the head of the word m
    chart : scratch space for n words or more
    """
    n = len(heads)
    for i in range(n, -1, -1):
        begin_row(chart, i, n)
        for k in range(i + 1, n + 1):
            between = chart.splits[i, k]
            if i > 0:
                attach(chart, i, k, n, scores[i, k] + between, scores[k, i] + between)
            elif single_root:
                chart.arcs[k, 0] = scores[0, k] + between
            else:
                attach(chart, i, k, n, scores[0, k] + between, -np.inf)
    child = farthest_child(chart, 0, n)
    total = chart.arcs[child, 0] + chart.right[child, n]
    count = push(chart, 0, 0, n)
    while count > 0:
        head, end = chart.pending[count - 1]
        child = farthest_child(chart, head, end)
        heads[child - 1] = head
        count = push_between(chart, push(chart, count - 1, child, end), head, child)
    return total
