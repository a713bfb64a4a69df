"""The best projective dependency tree with scores of adjacent siblings (McDonald & Pereira 2006), in O(n³).

    score(tree) = Σ_m scores[head(m), m] + sibling[head(m), s(m), m]

where s(m) is the word that head(m) has on the same side as m and just before it, nearer to the head; s(m) = head(m) if
there is none. As in `eisner`, but a word is attached to its head at the side of the sibling before it:

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
    """Scratch space: that of `eisner`, and facing(i, j) in both directions."""

    chart: Chart
    facing: FloatMatrix


@kernel
def new_sibling_chart(n: int) -> SiblingChart:
    """Scratch space for sentences of up to `n` words."""
    return SiblingChart(new_chart(n), np.empty((n + 1, n + 1)))


@kernel
def _attach(c: SiblingChart, sibling: FloatMatrix, head: int, m: int) -> tuple[int, float]:
    """The sibling before m with which arcs[head, m] is reached, the nearest to the head, and that maximum."""
    step = 1 if m > head else -1
    arcs, facing, pairs = c.chart.arcs[head], c.facing[m], sibling[head]
    before, best = head, c.chart.halves[m, head + step] + pairs[head, m]
    for s in range(head + step, m, step):
        score = arcs[s] + facing[s] + pairs[s, m]
        if score > best:
            before, best = s, score
    return before, best


@kernel
def _fill(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, c: SiblingChart) -> None:
    """Make all tables."""
    n = len(scores) - 1
    c.chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        c.chart.halves[j, j] = 0.0
        for i in range(j - 1, 0 if single_root else -1, -1):
            facing, right, left = inside(c.chart, i, j)
            c.facing[i, j] = c.facing[j, i] = facing
            onward = scores[i, j] + _attach(c, sibling, i, j)[1]
            back = scores[j, i] + _attach(c, sibling, j, i)[1] if i > 0 else -np.inf
            complete(c.chart, i, j, right, left, onward, back)
    if single_root:
        for m in range(1, n + 1):
            c.chart.arcs[0, m] = scores[0, m] + sibling[0, 0, m]
        attach_one(c.chart, n)


@kernel
def siblings(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, heads: IntVector, c: SiblingChart) -> float:
    """Write the heads of the best tree and return its score.

    What is written is a projective tree in any case, though one of score −inf where there is no other.

    Parameters
    ----------
    scores, single_root, heads : as in `eisner`
    sibling : (n + 1, n + 1, n + 1) array of heads × siblings before × modifiers, looked at only where the sibling is
        the head or lies between head and modifier; −inf forbids a pair
    c : scratch space for n words or more
    """
    n, chart = len(heads), c.chart
    _fill(scores, sibling, single_root, c)
    push_root(chart, n)
    while chart.n_pending[0] > 0:
        head, end = pop(chart)
        child = farthest_child(chart, head, end)
        push(chart, child, end)
        while child != head:
            heads[child - 1] = head
            before = head if head == 0 and single_root else _attach(c, sibling, head, child)[0]
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
