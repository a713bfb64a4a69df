"""The best projective dependency tree with scores of adjacent siblings (McDonald & Pereira 2006), in O(n³).

    score(tree) = Σ_m scores[head(m), m] + sibling[head(m), s(m), m]

where s(m) is the sibling before m: the next modifier of head(m) on the same side and nearer to it; s(m) = head(m) if
there is none. As in `eisner`, but a word is attached to its head next to the sibling before it:

    arcs[h, m] = scores[h, m] + max( halves[m, h±1] + sibling[h, h, m],
                                     max over s between h and m of arcs[h, s] + facing(s, m) + sibling[h, s, m] )
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector
from widemargin.decoders.eisner import (
    Chart,
    attach_one,
    complete,
    farthest_child,
    inside,
    new_chart,
    pop,
    push,
    push_facing,
    push_root,
)


class SiblingChart(NamedTuple):
    """Scratch space: that of `eisner`, and between[i, j] = between[j, i] = facing(i, j)."""

    chart: Chart
    between: FloatMatrix


@kernel
def new_sibling_chart(n: int) -> SiblingChart:
    """Scratch space for sentences of up to `n` words."""
    return SiblingChart(new_chart(n), np.empty((n + 1, n + 1)))


@kernel
def _attached(chart: Chart, between: FloatMatrix, sibling: FloatMatrix, i: int, j: int) -> tuple[float, float]:
    """arcs[i, j] and arcs[j, i], without the scores of the arcs; −inf for the root, which hangs on nothing."""
    arcs_i, arcs_j = chart.arcs[i], chart.arcs[j]
    facing_i, facing_j = between[i], between[j]
    after_i, after_j = sibling[i], sibling[j]
    onward = chart.halves[j, i + 1] + after_i[i, j]
    back = chart.halves[i, j - 1] + after_j[j, i] if i > 0 else -np.inf
    for number in range(i + 1, j):
        s = np.uint64(number)
        a = arcs_i[s] + facing_j[s] + after_i[s, np.uint64(j)]
        onward = a if a > onward else onward
        if i > 0:
            b = arcs_j[s] + facing_i[s] + after_j[s, np.uint64(i)]
            back = b if b > back else back
    return onward, back


@kernel
def _fill(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, chart: Chart, between: FloatMatrix) -> None:
    """Fill in all tables."""
    n = len(scores) - 1
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = 0.0
        for i in range(j - 1, 0 if single_root else -1, -1):
            facing, right, left = inside(chart, i, j)
            between[i, j] = between[j, i] = facing
            onward, back = _attached(chart, between, sibling, i, j)
            back = scores[j, i] + back if i > 0 else -np.inf
            complete(chart, i, j, right, left, scores[i, j] + onward, back)
    if single_root:
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m] + sibling[0, 0, m]
        attach_one(chart, n)


@kernel
def _sibling_before(chart: Chart, between: FloatMatrix, sibling: FloatMatrix, head: int, m: int) -> int:
    """The s that attains arcs[head, m], the nearest to the head in a tie."""
    step = 1 if m > head else -1
    before, best = head, chart.halves[m, head + step] + sibling[head, head, m]
    for s in range(head + step, m, step):
        score = chart.arcs[head, s] + between[m, s] + sibling[head, s, m]
        if score > best:
            before, best = s, score
    return before


@kernel
def siblings(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, heads: IntVector, c: SiblingChart) -> float:
    """Write the heads of the best tree and return its score.

    The result is always a projective tree, of score −inf if there is no other.

    Parameters
    ----------
    scores, single_root, heads : as in `eisner`
    sibling : (n + 1, n + 1, n + 1) array of heads × siblings before × modifiers, read only where the sibling is the
        head or lies between head and modifier; −inf forbids a pair
    c : scratch space for n words or more
    """
    n, chart, between = len(heads), c.chart, c.between
    _fill(scores, sibling, single_root, chart, between)
    push_root(chart, n)
    while chart.n_pending[0] > 0:
        head, end = pop(chart)
        child = farthest_child(chart, head, end)
        push(chart, child, end)
        while child != head:
            heads[child - 1] = head
            before = head if head == 0 and single_root else _sibling_before(chart, between, sibling, head, child)
            if before != head:
                push_facing(chart, before, child)
            else:
                push(chart, child, head + 1 if child > head else head - 1)
            child = before
    return chart.halves[0, n]


@kernel
def sibling_of(heads: IntVector, out: IntVector) -> None:
    """Write s(m) to out[m − 1] for every word m of a tree, projective or not."""
    for m in range(1, len(heads) + 1):
        head = heads[m - 1]
        step = 1 if head > m else -1
        s = m + step
        while s != head and heads[s - 1] != head:
            s += step
        out[m - 1] = s
