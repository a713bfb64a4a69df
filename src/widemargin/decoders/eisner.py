"""The best projective dependency tree (Eisner 1996), in O(n³).

    score(tree) = Σ_m scores[head(m), m]     over words m = 1 … n; head 0 is the artificial root, left of all words

A tree is projective if every word between m and head(m) descends from head(m). With i < j, in either direction:

    halves[h, e]  the best half tree with head h that reaches from h to e; halves[h, h] = 0
    facing(i, j)  max over i ≤ k < j of halves[i, k] + halves[j, k+1]
    arcs[h, m]    facing(h, m) + scores[h, m]: the best way to attach m to h
    halves[i, j]  max over i < k ≤ j of arcs[i, k] + halves[k, j]
    halves[j, i]  max over i ≤ k < j of arcs[j, k] + halves[k, i]

Halves are stored by their ends as well, ended[e, h] = halves[h, e], so that all three maxima run along rows, in one
loop whose three chains of comparisons overlap. No back pointers are kept, since finding the maxima again along the best
tree takes only O(n²) in all.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector, LongMatrix, LongVector


class Chart(NamedTuple):
    """Scratch space: the tables above, the half trees still to be written, as rows (head, end), and their number."""

    halves: FloatMatrix
    ended: FloatMatrix
    arcs: FloatMatrix
    pending: LongMatrix
    n_pending: LongVector


@kernel
def new_chart(n: int) -> Chart:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    return Chart(
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((size, 2), dtype=np.int64),
        np.empty(1, dtype=np.int64),
    )


@kernel
def inside(chart: Chart, i: int, j: int) -> tuple[float, float, float]:
    """facing(i, j), and the maxima for halves[i, j] and halves[j, i] without their terms k = j and k = i."""
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
def attach_one(chart: Chart, n: int) -> None:
    """Complete the tables for a root with one word only; `arcs[0]` holds the scores of the root's arcs."""
    chart.halves[0, 0], chart.halves[0, n] = 0.0, -np.inf
    for m in range(1, n + 1):
        chart.arcs[0, m] += chart.halves[m, 1]
        chart.halves[0, n] = max(chart.halves[0, n], chart.arcs[0, m] + chart.halves[m, n])
    for m in range(1, n):
        chart.halves[0, m] = -np.inf


@kernel
def farthest_child(chart: Chart, head: int, end: int) -> int:
    """The word attached last to the head of the best half tree that reaches to `end`, the nearest in a tie."""
    step = 1 if end > head else -1
    best = head + step
    for k in range(best, end + step, step):
        if chart.arcs[head, k] + chart.halves[k, end] > chart.arcs[head, best] + chart.halves[best, end]:
            best = k
    return best


@kernel
def push(chart: Chart, head: int, end: int) -> None:
    """Add a half tree to those to be written, if it is more than its head."""
    if head != end:
        count = chart.n_pending[0]
        chart.pending[count, 0], chart.pending[count, 1] = head, end
        chart.n_pending[0] = count + 1


@kernel
def push_facing(chart: Chart, one: int, other: int) -> None:
    """Add the two best half trees that face each other between two heads."""
    i, j = min(one, other), max(one, other)
    best = i
    for k in range(i + 1, j):
        if chart.halves[i, k] + chart.halves[j, k + 1] > chart.halves[i, best] + chart.halves[j, best + 1]:
            best = k
    push(chart, i, best)
    push(chart, j, best + 1)


@kernel
def push_root(chart: Chart, n: int) -> None:
    """Make the whole tree the only one to be written."""
    chart.pending[0, 0], chart.pending[0, 1] = 0, n
    chart.n_pending[0] = 1


@kernel
def pop(chart: Chart) -> tuple[int, int]:
    """Take out the half tree to be written next; return its head and end."""
    count = chart.n_pending[0] - 1
    chart.n_pending[0] = count
    return chart.pending[count, 0], chart.pending[count, 1]


@kernel
def eisner(scores: FloatMatrix, single_root: bool, heads: IntVector, chart: Chart) -> float:
    """Write the heads of the best tree and return its score.

    The result is always a projective tree, of score −inf if there is no other.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are
        ignored
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
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m]
        attach_one(chart, n)
    push_root(chart, n)
    while chart.n_pending[0] > 0:
        head, end = pop(chart)
        child = farthest_child(chart, head, end)
        heads[child - 1] = head
        push(chart, child, end)
        push_facing(chart, head, child)
    return chart.halves[0, n]
