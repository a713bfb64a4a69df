"""Sums over all projective dependency trees with scores of adjacent siblings, in O(n³).

    p(tree) = exp(score(tree)) / Z,   Z = Σ exp(score(tree)),   with score(tree) as in `siblings`

gives log Z, the probability of every arc, and that of every arc with its sibling. Inside and outside are those of
`eisner_sums`, except that a word is attached next to the sibling before it:

    arcs[h, m] = scores[h, m] + log( exp(halves[m, h±1] + sibling[h, h, m])
                                     + Σ_s exp(arcs[h, s] + facing(s, m) + sibling[h, s, m]) )
"""

from math import exp, inf, log

from widemargin._jit import kernel
from widemargin._types import FloatMatrix
from widemargin.decoders.eisner_sums import (
    SumChart,
    begin_outside,
    outside_facing,
    outside_half,
    sum_complete,
    sum_inside,
    sum_roots,
)


@kernel
def _attached(sums: SumChart, sibling: FloatMatrix, h: int, m: int) -> float:
    """arcs[h, m] without the score of the arc."""
    arcs, facing, pairs = sums.chart.arcs[h], sums.facing[m], sibling[h]
    step = 1 if m > h else -1
    alone = sums.chart.halves[m, h + step] + pairs[h, m]
    top = alone
    for s in range(min(h, m) + 1, max(h, m)):
        top = max(top, arcs[s] + facing[s] + pairs[s, m])
    if top == -inf:
        return -inf
    total = exp(alone - top)
    for s in range(min(h, m) + 1, max(h, m)):
        total += exp(arcs[s] + facing[s] + pairs[s, m] - top)
    return top + log(total)


@kernel
def _outside_arc(
    sums: SumChart, scores: FloatMatrix, sibling: FloatMatrix, h: int, m: int, arcs: FloatMatrix, pairs: FloatMatrix
) -> None:
    """Pass the derivative by arcs[h, m] on to the siblings before m, and to what is between them."""
    chart, given = sums.chart, arcs[h, m]
    if given == 0.0:
        return
    total, step = chart.arcs[h, m] - scores[h, m], 1 if m > h else -1
    share = given * exp(chart.halves[m, h + step] + sibling[h, h, m] - total)
    pairs[h, h, m] = share
    sums.halves[m, h + step] += share
    for s in range(min(h, m) + 1, max(h, m)):
        share = given * exp(chart.arcs[h, s] + sums.facing[m, s] + sibling[h, s, m] - total)
        pairs[h, s, m] = share
        arcs[h, s] += share
        sums.between[m, s] += share


@kernel
def sibling_sums(
    scores: FloatMatrix,
    sibling: FloatMatrix,
    single_root: bool,
    sums: SumChart,
    arcs: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Write probabilities to `arcs` and `pairs` and return log Z; −inf and zeros if no tree is possible.

    Parameters
    ----------
    scores, single_root, sums, arcs : as in `eisner_sums`
    sibling : (n + 1, n + 1, n + 1) array of heads × siblings before × modifiers, read only where the sibling is the
        head or lies between head and modifier; −inf forbids a pair
    pairs : output of the same shape, the probability that s is the sibling before m at the head h; zero elsewhere
    """
    n, chart = len(scores) - 1, sums.chart
    lowest = 1 if single_root else 0
    pairs[:] = 0.0
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = chart.ended[j, j] = 0.0
        for i in range(j - 1, lowest - 1, -1):
            facing, right, left = sum_inside(chart, i, j)
            sums.facing[i, j] = sums.facing[j, i] = facing
            onward = scores[i, j] + _attached(sums, sibling, i, j)
            back = scores[j, i] + _attached(sums, sibling, j, i) if i > 0 else -inf
            sum_complete(chart, i, j, right, left, onward, back)
    if single_root:
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m] + sibling[0, 0, m]
    log_z = sum_roots(chart, n) if single_root else chart.halves[0, n]
    begin_outside(sums, n, log_z, single_root, arcs)
    for m in range(1, n + 1):
        pairs[0, 0, m] = arcs[0, m]
    for j in range(n, 0, -1):
        for i in range(lowest, j):
            outside_half(sums, i, j, arcs)
            outside_half(sums, j, i, arcs)
            _outside_arc(sums, scores, sibling, i, j, arcs, pairs)
            _outside_arc(sums, scores, sibling, j, i, arcs, pairs)
            outside_facing(sums, i, j, sums.between[i, j] + sums.between[j, i])
    return log_z
