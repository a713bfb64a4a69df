"""Sums over all projective dependency trees (inside–outside for Eisner's algorithm), in O(n³).

    p(tree) = exp(score(tree)) / Z,   Z = Σ exp(score(tree)),   with score(tree) as in `eisner`

gives log Z and the probability of every arc. Inside, the tables are those of `eisner` with log Σ exp in place of max.
Every tree has one derivation, so nothing is counted twice. Outside, the recursion is differentiated backwards: the
derivative of log Z by an entry is the probability of the half trees that it sums over. An entry x = log Σ_k exp(t_k)
passes the share exp(t_k − x) of its derivative on to the parts of the term t_k. All shares are between 0 and 1, so
scores of any size will do.
"""

from math import exp, inf, log, log1p
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix
from widemargin.decoders.eisner import Chart, inside, new_chart


class SumChart(NamedTuple):
    """Scratch space: `chart` holds logarithms of sums, facing[i, j] those between i < j.

    `halves` and `between` hold the derivatives of log Z by chart.halves and by `facing`.
    """

    chart: Chart
    facing: FloatMatrix
    halves: FloatMatrix
    between: FloatMatrix


@kernel
def new_sum_chart(n: int) -> SumChart:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    return SumChart(new_chart(n), np.empty((size, size)), np.empty((size, size)), np.empty((size, size)))


@kernel
def log_add(one: float, other: float) -> float:
    """log(exp(one) + exp(other))."""
    high, low = max(one, other), min(one, other)
    # Less than exp(−40) of the sum would be lost to rounding. This also keeps −inf from −inf.
    return high + log1p(exp(low - high)) if low > high - 40.0 else high


@kernel
def _log(top: float, total: float) -> float:
    return top + log(total) if total > 0.0 else -inf


@kernel
def sum_inside(chart: Chart, i: int, j: int) -> tuple[float, float, float]:
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
def sum_complete(chart: Chart, i: int, j: int, right: float, left: float, onward: float, back: float) -> None:
    """Enter the sums for attaching j to i (`onward`) and i to j (`back`), and those of the halves."""
    chart.arcs[i, j], chart.arcs[j, i] = onward, back
    chart.halves[i, j] = chart.ended[j, i] = log_add(right, onward)
    chart.halves[j, i] = chart.ended[i, j] = log_add(left, back)


@kernel
def sum_roots(chart: Chart, n: int) -> float:
    """log Z of trees with one word at the root; the scores in arcs[0] become the sums of the trees with these arcs."""
    log_z = -inf
    for m in range(1, n + 1):
        chart.arcs[0, m] += chart.halves[m, 1] + chart.halves[m, n]
        log_z = log_add(log_z, chart.arcs[0, m])
    return log_z


@kernel
def begin_outside(sums: SumChart, n: int, log_z: float, single_root: bool, arcs: FloatMatrix) -> None:
    """Set all derivatives to zero but those that the root has by itself."""
    chart = sums.chart
    for h in range(n + 1):
        for m in range(n + 1):
            sums.halves[h, m] = sums.between[h, m] = arcs[h, m] = 0.0
    if log_z == -inf:
        return
    if not single_root:
        sums.halves[0, n] = 1.0
        return
    for m in range(1, n + 1):
        share = exp(chart.arcs[0, m] - log_z)
        arcs[0, m] = share
        sums.halves[m, 1] += share
        sums.halves[m, n] += share


@kernel
def outside_half(sums: SumChart, head: int, end: int, arcs: FloatMatrix) -> None:
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
def outside_facing(sums: SumChart, i: int, j: int, given: float) -> None:
    """Pass the derivative `given` by facing(i, j) on to the halves that face each other."""
    chart, total = sums.chart, sums.facing[i, j]
    if given == 0.0:
        return
    for k in range(i, j):
        share = given * exp(chart.halves[i, k] + chart.halves[j, k + 1] - total)
        sums.halves[i, k] += share
        sums.halves[j, k + 1] += share


@kernel
def eisner_sums(scores: FloatMatrix, single_root: bool, sums: SumChart, arcs: FloatMatrix) -> float:
    """Write the probabilities of all arcs to `arcs` and return log Z; −inf and zeros if no tree is possible.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are
        ignored
    single_root : whether exactly one word is attached to the root, instead of one or more
    sums : scratch space for n words or more
    arcs : (n + 1, n + 1) output, the probability that h is the head of m; zero in column 0 and on the diagonal
    """
    n, chart = len(scores) - 1, sums.chart
    lowest = 1 if single_root else 0
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = chart.ended[j, j] = 0.0
        for i in range(j - 1, lowest - 1, -1):
            facing, right, left = sum_inside(chart, i, j)
            sums.facing[i, j] = facing
            back = scores[j, i] + facing if i > 0 else -inf
            sum_complete(chart, i, j, right, left, scores[i, j] + facing, back)
    if single_root:
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m]
    log_z = sum_roots(chart, n) if single_root else chart.halves[0, n]
    begin_outside(sums, n, log_z, single_root, arcs)
    for j in range(n, 0, -1):
        for i in range(lowest, j):
            outside_half(sums, i, j, arcs)
            outside_half(sums, j, i, arcs)
            outside_facing(sums, i, j, arcs[i, j] + arcs[j, i])
    return log_z
