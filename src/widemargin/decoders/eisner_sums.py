"""Sums over all projective dependency trees (inside–outside for Eisner's algorithm), in O(n³).

    p(tree) = exp(score(tree)) / Z,   Z = Σ exp(score(tree)),   with score(tree) as in `eisner`

gives log Z, the probability of every arc and, if siblings are scored, that of every arc with its sibling. Inside, the
tables are those of `eisner` with log Σ exp in place of max. Every tree has one derivation, so none is counted twice.
Outside, the recursion is differentiated backwards: the derivative of log Z by an entry is the probability of the half
trees that it sums over. An entry x = log Σ_k exp(t_k) passes the share exp(t_k − x) of its derivative on to the entries
in the term t_k. All shares are between 0 and 1, so scores may have any size.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix
from widemargin.decoders.eisner import Chart, inside, new_chart
from widemargin.decoders.scores import log_add


class SumChart(NamedTuple):
    """Scratch space: `chart` holds logarithms of sums.

    `halves` and `between` hold the derivatives of log Z by the same entries of the chart.
    """

    chart: Chart
    halves: FloatMatrix
    between: FloatMatrix


def new_sum_chart(n: int) -> SumChart:
    """Scratch space for sentences of up to `n` words."""
    return SumChart(new_chart(n), np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1)))


@kernel
def _log(top: float, total: float) -> float:
    return top + log(total) if total > 0.0 else -inf


@kernel
def _sums(chart: Chart, i: int, j: int) -> tuple[float, float, float]:
    """facing(i, j), and the sums for halves[i, j] and halves[j, i] without their terms k = j and k = i."""
    facing, right, left = inside(chart, i, j)
    facing, right, left = max(facing, -1e300), max(right, -1e300), max(left, -1e300)
    from_i, from_j = chart.halves[i], chart.halves[j]
    to_i, to_j = chart.ended[i], chart.ended[j]
    arcs_i, arcs_j = chart.arcs[i], chart.arcs[j]
    between, onward, back = exp(from_j[i + 1] - facing), 0.0, 0.0
    for k in range(i + 1, j):
        between += exp(from_i[k] + from_j[k + 1] - facing)
        onward += exp(arcs_i[k] + to_j[k] - right)
        back += exp(arcs_j[k] + to_i[k] - left)
    return _log(facing, between), _log(right, onward), _log(left, back)


@kernel
def _attached(chart: Chart, sibling: FloatMatrix, h: int, m: int) -> float:
    """arcs[h, m] without the score of the arc."""
    arcs, facing, pairs = chart.arcs[h], chart.between[m], sibling[h]
    step = 1 if m > h else -1
    alone = chart.halves[m, h + step] + pairs[h, m]
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
def _sum_inside(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, chart: Chart) -> float:
    """Fill in the tables, and return log Z; if `single_root`, arcs[0, m] sums over all trees with the root word m."""
    # From short spans to long ones: i descends, so all spans inside i … j are known.
    n, second = len(scores) - 1, len(sibling) > 0
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = chart.ended[j, j] = 0.0
        for i in range(j - 1, 0 if single_root else -1, -1):
            facing, right, left = _sums(chart, i, j)
            chart.between[i, j] = chart.between[j, i] = facing
            onward = scores[i, j] + (_attached(chart, sibling, i, j) if second else facing)
            back = -inf
            if i > 0:
                back = scores[j, i] + (_attached(chart, sibling, j, i) if second else facing)
            chart.arcs[i, j], chart.arcs[j, i] = onward, back
            chart.halves[i, j] = chart.ended[j, i] = log_add(right, onward)
            chart.halves[j, i] = chart.ended[i, j] = log_add(left, back)
    if not single_root:
        return chart.halves[0, n]
    log_z = -inf
    for m in range(1, n + 1):
        own = scores[0, m] + (sibling[0, 0, m] if second else 0.0)
        chart.arcs[0, m] = own + (chart.halves[m, 1] + chart.halves[m, n])
        log_z = log_add(log_z, chart.arcs[0, m])
    return log_z


@kernel
def _outside_half(sums: SumChart, head: int, end: int, arcs: FloatMatrix) -> None:
    """Pass the derivative by halves[head, end] on to the arcs of its farthest children and to their halves."""
    chart, given, total = sums.chart, sums.halves[head, end], sums.chart.halves[head, end]
    if given == 0.0:
        return
    first, last = (head + 1, end + 1) if end > head else (end, head)
    for k in range(first, last):
        share = given * exp(chart.arcs[head, k] + chart.ended[end, k] - total) if k != end else 0.0
        arcs[head, k] += share
        sums.halves[k, end] += share
    arcs[head, end] += given * exp(chart.arcs[head, end] - total)


@kernel
def _outside_facing(sums: SumChart, i: int, j: int, given: float) -> None:
    """Pass the derivative `given` by facing(i, j) on to the halves that face each other."""
    chart, total = sums.chart, sums.chart.between[i, j]
    if given == 0.0:
        return
    for k in range(i, j):
        share = given * exp(chart.halves[i, k] + chart.halves[j, k + 1] - total)
        sums.halves[i, k] += share
        sums.halves[j, k + 1] += share


@kernel
def _outside_arc(
    sums: SumChart, scores: FloatMatrix, sibling: FloatMatrix, h: int, m: int, arcs: FloatMatrix, pairs: FloatMatrix
) -> None:
    """Pass the derivative by arcs[h, m] on to the siblings before m, and to the half trees between them."""
    chart, given = sums.chart, arcs[h, m]
    if given == 0.0:
        return
    total, step = chart.arcs[h, m] - scores[h, m], 1 if m > h else -1
    share = given * exp(chart.halves[m, h + step] + sibling[h, h, m] - total)
    pairs[h, h, m] = share
    sums.halves[m, h + step] += share
    for s in range(min(h, m) + 1, max(h, m)):
        share = given * exp(chart.arcs[h, s] + chart.between[m, s] + sibling[h, s, m] - total)
        pairs[h, s, m] = share
        arcs[h, s] += share
        sums.between[m, s] += share


@kernel
def eisner_sums(
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
    scores, sibling, single_root : as in `eisner`
    sums : scratch space for n words or more
    arcs : (n + 1, n + 1) output, the probability that h is the head of m; zero in column 0 and on the diagonal
    pairs : output of the shape of `sibling`, the probability that h is the head of m, and s its sibling before m; zero
        elsewhere
    """
    # Long spans first: the derivative by an entry is complete once all entries that contain it have passed theirs on.
    n, second = len(scores) - 1, len(sibling) > 0
    log_z = _sum_inside(scores, sibling, single_root, sums.chart)
    pairs[:] = arcs[:] = sums.halves[: n + 1, : n + 1] = sums.between[: n + 1, : n + 1] = 0.0
    if log_z == -inf:
        return log_z
    if not single_root:
        sums.halves[0, n] = 1.0
    for m in range(1, n + 1 if single_root else 0):
        arcs[0, m] = exp(sums.chart.arcs[0, m] - log_z)
        sums.halves[m, 1] += arcs[0, m]
        sums.halves[m, n] += arcs[0, m]
        if second:
            pairs[0, 0, m] = arcs[0, m]
    for j in range(n, 0, -1):
        for i in range(1 if single_root else 0, j):
            _outside_half(sums, i, j, arcs)
            _outside_half(sums, j, i, arcs)
            given = arcs[i, j] + arcs[j, i]
            if second:
                _outside_arc(sums, scores, sibling, i, j, arcs, pairs)
                _outside_arc(sums, scores, sibling, j, i, arcs, pairs)
                given = sums.between[i, j] + sums.between[j, i]
            _outside_facing(sums, i, j, given)
    return log_z
