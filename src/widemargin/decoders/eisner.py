"""The best projective dependency tree (Eisner 1996), in O(n³).

    score(tree) = Σ_m scores[head(m), m]     over words m = 1 … n; head 0 is the artificial root, left of all words

A tree is projective if every word between m and head(m) descends from head(m). With i < j, in either direction:

    halves[h, e]  the best half tree whose head is h and that reaches from there to e; halves[h, h] = 0
    facing(i, j)  max over i ≤ k < j of halves[i, k] + halves[j, k+1]
    arcs[h, m]    facing(h, m) + scores[h, m]: the best way to attach m to h
    halves[i, j]  max over i < k ≤ j of arcs[i, k] + halves[k, j]
    halves[j, i]  max over i ≤ k < j of arcs[j, k] + halves[k, i]

Halves are kept by ends as well, ended[e, h] = halves[h, e], so that all three maxima run along rows, in one loop whose
three chains of comparisons overlap. No back pointers are kept, since finding the maxima again along the best tree takes
O(n²) in all.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntMatrix, IntVector


class Chart(NamedTuple):
    """Scratch space: the tables above, and the half trees that are still to be written, as rows (head, end)."""

    halves: FloatMatrix
    ended: FloatMatrix
    arcs: FloatMatrix
    pending: IntMatrix


@kernel
def new_chart(n: int) -> Chart:
    """Scratch space for sentences of up to `n` words."""
    shape = (n + 1, n + 1)
    return Chart(np.empty(shape), np.empty(shape), np.empty(shape), np.empty((n + 1, 2), dtype=np.int32))


@kernel
def inside(chart: Chart, i: int, j: int) -> tuple[float, float, float]:
    """facing(i, j), and the maxima for halves[i, j] and halves[j, i] without what k = j and k = i contribute."""
    from_i, from_j = chart.halves[i], chart.halves[j]
    to_i, to_j = chart.ended[i], chart.ended[j]
    arcs_i, arcs_j = chart.arcs[i], chart.arcs[j]
    facing, right, left = from_j[i + 1], -np.inf, -np.inf
    for number in range(i + 1, j):
        k = np.uint64(number)
        a, b, c = from_i[k] + from_j[np.uint64(number + 1)], arcs_i[k] + to_j[k], arcs_j[k] + to_i[k]
        facing = a if a > facing else facing
        right = b if b > right else right
        left = c if c > left else left
    return facing, right, left


@kernel
def complete(chart: Chart, i: int, j: int, right: float, left: float, onward: float, back: float) -> None:
    """Enter the best ways to attach j to i (`onward`) and i to j (`back`), and the halves, given their other maxima."""
    chart.arcs[i, j], chart.arcs[j, i] = onward, back
    chart.halves[i, j] = chart.ended[j, i] = onward if onward > right else right
    chart.halves[j, i] = chart.ended[i, j] = back if back > left else left


@kernel
def root_only(chart: Chart, scores: FloatMatrix) -> None:
    """Enter the ways to attach each word to the root alone."""
    chart.halves[0, 0] = 0.0
    for m in range(1, len(scores)):
        chart.arcs[0, m] = scores[0, m] + chart.halves[m, 1]
        chart.halves[0, m] = -np.inf


@kernel
def farthest_child(chart: Chart, head: int, end: int) -> int:
    """The word attached last to the head of the best half tree that reaches to `end`: the nearest there is."""
    step = 1 if end > head else -1
    best = head + step
    for k in range(best, end + step, step):
        if chart.arcs[head, k] + chart.halves[k, end] > chart.arcs[head, best] + chart.halves[best, end]:
            best = k
    return best


@kernel
def push(chart: Chart, count: int, head: int, end: int) -> int:
    """Put a half tree that is more than its head to those to be written; return how many there are then."""
    if head == end:
        return count
    chart.pending[count, 0], chart.pending[count, 1] = head, end
    return count + 1


@kernel
def push_facing(chart: Chart, count: int, one: int, other: int) -> int:
    """The same with the two best half trees that face each other between two heads."""
    i, j = min(one, other), max(one, other)
    best = i
    for k in range(i + 1, j):
        if chart.halves[i, k] + chart.halves[j, k + 1] > chart.halves[i, best] + chart.halves[j, best + 1]:
            best = k
    return push(chart, push(chart, count, i, best), j, best + 1)


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
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = 0.0
        for i in range(j - 1, 0 if single_root else -1, -1):
            facing, right, left = inside(chart, i, j)
            back = scores[j, i] + facing if i > 0 else -np.inf
            complete(chart, i, j, right, left, scores[i, j] + facing, back)
    if single_root:
        root_only(chart, scores)
    child = farthest_child(chart, 0, n)
    total = chart.arcs[0, child] + chart.halves[child, n]
    count = push(chart, 0, 0, n)
    while count > 0:
        head, end = chart.pending[count - 1]
        child = farthest_child(chart, head, end)
        heads[child - 1] = head
        count = push_facing(chart, push(chart, count - 1, child, end), head, child)
    return total
