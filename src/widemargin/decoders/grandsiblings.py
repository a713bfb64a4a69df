"""The best projective dependency tree with scores of adjacent siblings and of grandparents, in O(n⁴).

    score(tree) = Σ_m scores[head(m), m] + sibling[head(m), s(m), m] + Σ_(m not at the root) grand[h(m), m, h(h(m))]

where s(m) is the sibling before m, as in `eisner`, and h(m) = head(m). The tables are those of Model 1 of Koo &
Collins (2010): each table of `eisner` that goes by a head h also goes by the head g of h.

    halves[h, e, g]   the best half tree from h to e with head h, whose own head is g; halves[h, h, g] = 0
    between[i, j, g]  max over i ≤ k < j of halves[i, k, g] + halves[j, k+1, g]: g is the head of i and of j
    arcs[h, m, g]     scores[h, m] + grand[h, m, g] + max( halves[m, h±1, h] + sibling[h, h, m],
                      max over s between h and m of arcs[h, s, g] + between[s, m, h] + sibling[h, s, m] )
    halves[h, e, g]   max over k from h±1 to e of arcs[h, k, g] + halves[k, e, h]

No g is ever between h and e, since such a tree would not be projective. All maxima are taken for all g at once, because
these lie side by side in memory. The root has no head; its arcs are arcs[0, m, 0], without a score of a grandparent.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector


class GrandTables(NamedTuple):
    """The tables above, for the words of one sentence; `between` is filled in for i < j."""

    halves: FloatMatrix
    between: FloatMatrix
    arcs: FloatMatrix


class GrandChart(NamedTuple):
    """Scratch space for the tables; the half trees still to be written, as rows (h, e, g); and their number."""

    room: FloatVector
    pending: LongMatrix
    n_pending: LongVector


@kernel
def new_grand_chart(n: int) -> GrandChart:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    return GrandChart(np.empty(3 * size**3), np.empty((size, 3), dtype=np.int64), np.empty(1, dtype=np.int64))


@kernel
def _tables(chart: GrandChart, n: int) -> GrandTables:
    """The tables of a sentence of n words, without gaps, so that short sentences stay in the processor's cache."""
    size = n + 1
    tables = chart.room[: 3 * size**3].reshape(3, size, size, size)
    return GrandTables(tables[0], tables[1], tables[2])


@kernel
def _raise(best: FloatVector, row: FloatVector, more: float, i: int, j: int) -> None:
    """best[g] = max(best[g], row[g] + more) for every g outside of i … j."""
    for number in range(i):
        g = np.uint64(number)
        score = row[g] + more
        best[g] = score if score > best[g] else best[g]
    for number in range(j + 1, len(best)):
        g = np.uint64(number)
        score = row[g] + more
        best[g] = score if score > best[g] else best[g]


@kernel
def _raise_both(best: FloatVector, one: FloatVector, other: FloatVector, i: int, j: int) -> None:
    """best[g] = max(best[g], one[g] + other[g]) for every g outside of i … j."""
    for number in range(i):
        g = np.uint64(number)
        score = one[g] + other[g]
        best[g] = score if score > best[g] else best[g]
    for number in range(j + 1, len(best)):
        g = np.uint64(number)
        score = one[g] + other[g]
        best[g] = score if score > best[g] else best[g]


@kernel
def _set(row: FloatVector, score: float) -> None:
    for g in range(len(row)):
        row[g] = score


@kernel
def _facing(halves: FloatMatrix, between: FloatMatrix, i: int, j: int) -> None:
    """Fill in between[i, j]."""
    best = between[i, j]
    _set(best, -np.inf)
    for k in range(i, j):
        _raise_both(best, halves[i, k], halves[j, k + 1], i, j)


@kernel
def _attach(tables: GrandTables, scores: FloatMatrix, sibling: FloatMatrix, grand: FloatMatrix, h: int, m: int) -> None:
    """Fill in arcs[h, m]."""
    halves, between, arcs = tables.halves, tables.between, tables.arcs
    i, j, step = min(h, m), max(h, m), 1 if m > h else -1
    best = arcs[h, m]
    _set(best, halves[m, h + step, h] + sibling[h, h, m])
    for s in range(i + 1, j):
        facing = between[s, m, h] if s < m else between[m, s, h]
        _raise(best, arcs[h, s], facing + sibling[h, s, m], i, j)
    of_arc, of_chains = scores[h, m], grand[h, m]
    for g in range(i):
        best[g] += of_arc + of_chains[g]
    for g in range(j + 1, len(best)):
        best[g] += of_arc + of_chains[g]


@kernel
def _reach(halves: FloatMatrix, arcs: FloatMatrix, h: int, e: int) -> None:
    """Fill in halves[h, e]."""
    i, j, step = min(h, e), max(h, e), 1 if e > h else -1
    best = halves[h, e]
    _set(best, -np.inf)
    for k in range(h + step, e + step, step):
        _raise(best, arcs[h, k], halves[k, e, h], i, j)


@kernel
def _fill(tables: GrandTables, scores: FloatMatrix, sibling: FloatMatrix, grand: FloatMatrix) -> None:
    """Fill in all tables of the words."""
    halves, between, arcs = tables.halves, tables.between, tables.arcs
    for j in range(1, len(scores)):
        _set(halves[j, j], 0.0)
        for i in range(j - 1, 0, -1):
            _facing(halves, between, i, j)
            _attach(tables, scores, sibling, grand, i, j)
            _attach(tables, scores, sibling, grand, j, i)
            _reach(halves, arcs, i, j)
            _reach(halves, arcs, j, i)


@kernel
def _attach_roots(tables: GrandTables, scores: FloatMatrix, sibling: FloatMatrix, single_root: bool) -> None:
    """Fill in the arcs of the root."""
    for m in range(1, len(scores)):
        best = tables.halves[m, 1, 0] + sibling[0, 0, m]
        for s in range(1, 1 if single_root else m):
            best = max(best, tables.arcs[0, s, 0] + tables.between[s, m, 0] + sibling[0, s, m])
        tables.arcs[0, m, 0] = scores[0, m] + best


@kernel
def _farthest_child(tables: GrandTables, h: int, e: int, g: int) -> int:
    """The word attached last to h in its best half tree that reaches to e, the nearest in a tie."""
    step = 1 if e > h else -1
    child = h + step
    best = tables.arcs[h, child, g] + tables.halves[child, e, h]
    for k in range(child + step, e + step, step):
        score = tables.arcs[h, k, g] + tables.halves[k, e, h]
        if score > best:
            child, best = k, score
    return child


@kernel
def _sibling_before(tables: GrandTables, sibling: FloatMatrix, h: int, m: int, g: int) -> int:
    """The s that attains arcs[h, m, g], the nearest to the head in a tie."""
    step = 1 if m > h else -1
    before, best = h, tables.halves[m, h + step, h] + sibling[h, h, m]
    for s in range(h + step, m, step):
        score = tables.arcs[h, s, g] + tables.between[min(s, m), max(s, m), h] + sibling[h, s, m]
        if score > best:
            before, best = s, score
    return before


@kernel
def _push(chart: GrandChart, h: int, e: int, g: int) -> None:
    """Add a half tree to those to be written, unless it is only its head."""
    if h != e:
        row = chart.pending[chart.n_pending[0]]
        row[0], row[1], row[2] = h, e, g
        chart.n_pending[0] += 1


@kernel
def _push_facing(chart: GrandChart, tables: GrandTables, one: int, other: int, g: int) -> None:
    """Add the two best half trees that face each other between two words with the head g."""
    i, j = min(one, other), max(one, other)
    best = i
    for k in range(i + 1, j):
        gain = tables.halves[i, k, g] + tables.halves[j, k + 1, g]
        if gain > tables.halves[i, best, g] + tables.halves[j, best + 1, g]:
            best = k
    _push(chart, i, best, g)
    _push(chart, j, best + 1, g)


@kernel
def grandsiblings(
    scores: FloatMatrix,
    sibling: FloatMatrix,
    grand: FloatMatrix,
    single_root: bool,
    heads: IntVector,
    chart: GrandChart,
) -> float:
    """Write the heads of the best tree and return its score.

    The result is always a projective tree, of score −inf if there is no other.

    Parameters
    ----------
    scores, sibling, single_root, heads : as in `eisner`
    grand : (n + 1, n + 1, n + 1) array of heads × modifiers × grandparents, read only where head and modifier are words
        and the grandparent is outside of them; −inf forbids a chain of two arcs
    chart : scratch space for n words or more
    """
    # Each pending half tree carries its g: the same h and e have different best half trees below different g.
    n = len(heads)
    tables = _tables(chart, n)
    _fill(tables, scores, sibling, grand)
    _attach_roots(tables, scores, sibling, single_root)
    chart.n_pending[0] = 0
    _push(chart, 0, n, 0)
    while chart.n_pending[0] > 0:
        chart.n_pending[0] -= 1
        h, e, g = chart.pending[chart.n_pending[0]]
        child = _farthest_child(tables, h, e, g)
        _push(chart, child, e, h)
        while child != h:
            heads[child - 1] = h
            before = h if h == 0 and single_root else _sibling_before(tables, sibling, h, child, g)
            if before != h:
                _push_facing(chart, tables, before, child, h)
            else:
                _push(chart, child, h + 1 if child > h else h - 1, h)
            child = before
    total = -np.inf
    for m in range(1, n + 1):
        total = max(total, tables.arcs[0, m, 0] + tables.halves[m, n, 0])
    return total
