"""The best projective dependency tree (Eisner 1996), also with scores of adjacent siblings (McDonald & Pereira 2006).

    score(tree) = Σ_m scores[head(m), m] [+ sibling[head(m), s(m), m]]

over words m = 1 … n; head 0 is the artificial root, left of all words. s(m) is the sibling before m: among the
modifiers of head(m) between head(m) and m the one nearest to m; s(m) = head(m) if there is none.

A tree is projective if every word between m and head(m) descends from head(m). With i < j, in either direction:

    halves[h, e]  the best half tree with head h that reaches from h to e; halves[h, h] = 0
    facing(i, j)  max over i ≤ k < j of halves[i, k] + halves[j, k+1]
    arcs[h, m]    facing(h, m) + scores[h, m]: the best way to attach m to h
    halves[i, j]  max over i < k ≤ j of arcs[i, k] + halves[k, j]
    halves[j, i]  max over i ≤ k < j of arcs[j, k] + halves[k, i]

If siblings are scored, a word is attached to its head next to the sibling before it:

    arcs[h, m] = scores[h, m] + max( halves[m, h±1] + sibling[h, h, m],
                                     max over s between h and m of arcs[h, s] + facing(s, m) + sibling[h, s, m] )

Everything takes O(n³). Halves are also stored by their ends, ended[e, h] = halves[h, e], so that all three maxima run
along rows, in one loop whose three chains of comparisons overlap. No back pointers are kept, since finding the maxima
again along the best tree takes only O(n²) in all.

**Grandparents.** With the scores of chains of two arcs as well,

    score(tree) = … + Σ_(m not at the root) grand[h(m), m, h(h(m))]

every table that goes by a head h also goes by the head g of h (Model 1 of Koo & Collins 2010), in O(n⁴):

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
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix


class Chart(NamedTuple):
    """Scratch space: the tables above, with between[i, j] = between[j, i] = facing(i, j) if siblings are scored.

    `grand` has room for the tables with grandparents, and `pending` for the half trees still to be written.
    """

    halves: FloatMatrix
    ended: FloatMatrix
    arcs: FloatMatrix
    between: FloatMatrix
    grand: FloatVector
    pending: LongMatrix


def new_chart(n: int, grandparents: bool = False) -> Chart:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    halves, ended, arcs, between = np.empty((4, size, size))
    grand = np.empty(3 * size**3 if grandparents else 0)
    return Chart(halves, ended, arcs, between, grand, np.empty((size, 3), dtype=np.int64))


class Tables(NamedTuple):
    """The tables by grandparents; if these have no scores, there is only g = 0. `between` may lack i > j."""

    halves: FloatMatrix
    between: FloatMatrix
    arcs: FloatMatrix


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
def _attached(chart: Chart, sibling: FloatMatrix, i: int, j: int) -> tuple[float, float]:
    """arcs[i, j] and arcs[j, i], without the scores of the arcs; −inf for the root, which has no head."""
    arcs_i, arcs_j = chart.arcs[i], chart.arcs[j]
    facing_i, facing_j = chart.between[i], chart.between[j]
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
def _enter(
    chart: Chart, scores: FloatMatrix, i: int, j: int, onward: float, back: float, right: float, left: float
) -> None:
    """Fill in the tables for i and j: the best ways to attach j to i, `onward`, and i to j, without their scores."""
    onward, back = scores[i, j] + onward, scores[j, i] + back if i > 0 else -np.inf
    chart.arcs[i, j], chart.arcs[j, i] = onward, back
    chart.halves[i, j] = chart.ended[j, i] = onward if onward > right else right
    chart.halves[j, i] = chart.ended[i, j] = back if back > left else left


@kernel
def _fill(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, chart: Chart) -> None:
    """Fill in all tables."""
    # A single root has one child, so its half tree joins that child's two halves after all others are known.
    n, second, last = len(scores) - 1, len(sibling) > 0, 0 if single_root else -1
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = 0.0
        # Two loops: with one, the branch for siblings would take a fifth of the time of trees without them.
        if not second:
            for i in range(j - 1, last, -1):
                facing, right, left = inside(chart, i, j)
                _enter(chart, scores, i, j, facing, facing, right, left)
            continue
        for i in range(j - 1, last, -1):
            facing, right, left = inside(chart, i, j)
            chart.between[i, j] = chart.between[j, i] = facing
            onward, back = _attached(chart, sibling, i, j)
            _enter(chart, scores, i, j, onward, back, right, left)
    if single_root:
        for m in range(1, n):
            chart.halves[0, m] = -np.inf
        chart.halves[0, n] = -np.inf
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m] + (sibling[0, 0, m] if second else 0.0) + chart.halves[m, 1]
            chart.halves[0, n] = max(chart.halves[0, n], chart.arcs[0, m] + chart.halves[m, n])


@kernel
def _farthest_child(tables: Tables, h: int, e: int, g: int, below: int) -> int:
    """The word attached last to h in its best half tree that reaches to e, the nearest in a tie."""
    step = 1 if e > h else -1
    child = h + step
    best = tables.arcs[h, child, g] + tables.halves[child, e, below]
    for k in range(child + step, e + step, step):
        score = tables.arcs[h, k, g] + tables.halves[k, e, below]
        if score > best:
            child, best = k, score
    return child


@kernel
def _sibling_before(tables: Tables, sibling: FloatMatrix, h: int, m: int, g: int, below: int) -> int:
    """The s that attains arcs[h, m, g], the nearest to the head in a tie."""
    step = 1 if m > h else -1
    before, best = h, tables.halves[m, h + step, below] + sibling[h, h, m]
    for s in range(h + step, m, step):
        score = tables.arcs[h, s, g] + tables.between[min(s, m), max(s, m), below] + sibling[h, s, m]
        if score > best:
            before, best = s, score
    return before


@kernel
def _push(pending: LongMatrix, count: int, h: int, e: int, g: int) -> int:
    """Add a half tree to those to be written, unless it is only its head; return how many there are."""
    if h == e:
        return count
    pending[count, 0], pending[count, 1], pending[count, 2] = h, e, g
    return count + 1


@kernel
def _write_heads(
    tables: Tables, sibling: FloatMatrix, single_root: bool, heads: IntVector, pending: LongMatrix
) -> None:
    """Write the heads of the best tree, from the root down."""
    # With scores of siblings, the inner loop goes from child to child towards the head. Without, it stops after one:
    # the head's shorter half tree holds its nearer children. Each pending half tree carries its g: the same h and e
    # have different best half trees below different g.
    halves, second, by_grandparent = tables.halves, len(sibling) > 0, tables.halves.shape[2] > 1
    count = _push(pending, 0, 0, len(heads), 0)
    while count > 0:
        count -= 1
        h, e, g = pending[count]
        below = h if by_grandparent else 0
        child = _farthest_child(tables, h, e, g, below)
        count = _push(pending, count, child, e, below)
        while child != h:
            heads[child - 1], before = h, h
            if second and not (h == 0 and single_root):
                before = _sibling_before(tables, sibling, h, child, g, below)
            if second and before == h:
                count = _push(pending, count, child, h + 1 if child > h else h - 1, below)
            else:
                i, j = min(before, child), max(before, child)
                best, most = i, halves[i, i, below] + halves[j, i + 1, below]
                for k in range(i + 1, j):
                    gain = halves[i, k, below] + halves[j, k + 1, below]
                    if gain > most:
                        best, most = k, gain
                count = _push(pending, count, i, best, below)
                count = _push(pending, count, j, best + 1, below)
            child = before


@kernel
def eisner(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, heads: IntVector, chart: Chart) -> float:
    """Write the heads of the best tree and return its score.

    The result is always a projective tree, of score −inf if there is no other.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are
        ignored
    sibling : (n + 1, n + 1, n + 1) array of heads × siblings before × modifiers, read only where the sibling is the
        head or lies between head and modifier; −inf forbids a pair. (0, 0, 0) if siblings have no scores
    single_root : whether exactly one word is attached to the root, instead of one or more
    heads : (n,) output; entry m − 1 is the head of the word m
    chart : scratch space for n words or more
    """
    _fill(scores, sibling, single_root, chart)
    size = len(chart.halves)
    shape = size, size, 1
    tables = Tables(chart.halves.reshape(shape), chart.between.reshape(shape), chart.arcs.reshape(shape))
    _write_heads(tables, sibling, single_root, heads, chart.pending)
    return chart.halves[0, len(heads)]


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


@kernel
def _raise(best: FloatVector, row: FloatVector, more: float, i: int, j: int) -> None:
    """best[g] = max(best[g], row[g] + more) for every g outside of i … j."""
    for begin, end in ((0, i), (j + 1, len(best))):
        for number in range(begin, end):
            g = np.uint64(number)
            score = row[g] + more
            best[g] = score if score > best[g] else best[g]


@kernel
def _raise_both(best: FloatVector, one: FloatVector, other: FloatVector, i: int, j: int) -> None:
    """best[g] = max(best[g], one[g] + other[g]) for every g outside of i … j."""
    for begin, end in ((0, i), (j + 1, len(best))):
        for number in range(begin, end):
            g = np.uint64(number)
            score = one[g] + other[g]
            best[g] = score if score > best[g] else best[g]


@kernel
def _attach(tables: Tables, scores: FloatMatrix, sibling: FloatMatrix, grand: FloatMatrix, h: int, m: int) -> None:
    """Fill in arcs[h, m]."""
    halves, between, arcs = tables.halves, tables.between, tables.arcs
    i, j, step = min(h, m), max(h, m), 1 if m > h else -1
    best = arcs[h, m]
    best[:] = halves[m, h + step, h] + sibling[h, h, m]
    for s in range(i + 1, j):
        facing = between[s, m, h] if s < m else between[m, s, h]
        _raise(best, arcs[h, s], facing + sibling[h, s, m], i, j)
    of_arc, of_chains = scores[h, m], grand[h, m]
    for begin, end in ((0, i), (j + 1, len(best))):
        for g in range(begin, end):
            best[g] += of_arc + of_chains[g]


@kernel
def _reach(halves: FloatMatrix, arcs: FloatMatrix, h: int, e: int) -> None:
    """Fill in halves[h, e]."""
    i, j, step = min(h, e), max(h, e), 1 if e > h else -1
    best = halves[h, e]
    best[:] = -np.inf
    for k in range(h + step, e + step, step):
        _raise(best, arcs[h, k], halves[k, e, h], i, j)


@kernel
def grandsiblings(
    scores: FloatMatrix, sibling: FloatMatrix, grand: FloatMatrix, single_root: bool, heads: IntVector, chart: Chart
) -> float:
    """Write the heads of the best tree with scores of siblings and of grandparents, and return its score.

    Parameters
    ----------
    scores, sibling, single_root, heads, chart : as in `eisner`; the chart has room for grandparents
    grand : (n + 1, n + 1, n + 1) array of heads × modifiers × grandparents, read only where head and modifier are words
        and the grandparent is outside of them; −inf forbids a chain of two arcs
    """
    # Tables without gaps, whatever the room: those of short sentences stay in the processor's cache.
    n, size = len(heads), len(scores)
    halves, between, arcs = chart.grand[: 3 * size**3].reshape(3, size, size, size)
    tables = Tables(halves, between, arcs)
    for j in range(1, size):
        halves[j, j, :] = 0.0
        for i in range(j - 1, 0, -1):
            between[i, j, :] = -np.inf
            for k in range(i, j):
                _raise_both(between[i, j], halves[i, k], halves[j, k + 1], i, j)
            _attach(tables, scores, sibling, grand, i, j)
            _attach(tables, scores, sibling, grand, j, i)
            _reach(halves, arcs, i, j)
            _reach(halves, arcs, j, i)
    total = -np.inf
    for m in range(1, size):
        best = halves[m, 1, 0] + sibling[0, 0, m]
        for s in range(1, 1 if single_root else m):
            best = max(best, arcs[0, s, 0] + between[s, m, 0] + sibling[0, s, m])
        arcs[0, m, 0] = scores[0, m] + best
        total = max(total, arcs[0, m, 0] + halves[m, n, 0])
    _write_heads(tables, sibling, single_root, heads, chart.pending)
    return total
