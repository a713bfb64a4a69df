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
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector, LongMatrix, LongVector


class Chart(NamedTuple):
    """Scratch space: the tables above, with between[i, j] = between[j, i] = facing(i, j) if siblings are scored.

    `pending` holds the half trees still to be written, as rows (head, end), and `n_pending` their number.
    """

    halves: FloatMatrix
    ended: FloatMatrix
    arcs: FloatMatrix
    between: FloatMatrix
    pending: LongMatrix
    n_pending: LongVector


@kernel
def new_chart(n: int) -> Chart:
    """Scratch space for sentences of up to `n` words."""
    shape = n + 1, n + 1
    pending = np.empty((n + 1, 2), dtype=np.int64)
    return Chart(
        np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), pending, np.empty(1, dtype=np.int64)
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
def _fill(scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, chart: Chart) -> None:
    """Fill in all tables."""
    # A single root has one child, so its half tree joins that child's two halves after all others are known.
    n, second = len(scores) - 1, len(sibling) > 0
    chart.halves[0, 0] = 0.0
    for j in range(1, n + 1):
        chart.halves[j, j] = 0.0
        for i in range(j - 1, 0 if single_root else -1, -1):
            facing, right, left = inside(chart, i, j)
            onward = back = facing
            if second:
                chart.between[i, j] = chart.between[j, i] = facing
                onward, back = _attached(chart, sibling, i, j)
            onward, back = scores[i, j] + onward, scores[j, i] + back if i > 0 else -np.inf
            chart.arcs[i, j], chart.arcs[j, i] = onward, back
            chart.halves[i, j] = chart.ended[j, i] = onward if onward > right else right
            chart.halves[j, i] = chart.ended[i, j] = back if back > left else left
    if single_root:
        for m in range(1, n):
            chart.halves[0, m] = -np.inf
        chart.halves[0, n] = -np.inf
        for m in range(1, n + 1):
            chart.arcs[0, m] = scores[0, m] + (sibling[0, 0, m] if second else 0.0) + chart.halves[m, 1]
            chart.halves[0, n] = max(chart.halves[0, n], chart.arcs[0, m] + chart.halves[m, n])


@kernel
def _farthest_child(chart: Chart, head: int, end: int) -> int:
    """The word attached last to the head of the best half tree that reaches to `end`, the nearest in a tie."""
    step = 1 if end > head else -1
    best = head + step
    for k in range(best, end + step, step):
        if chart.arcs[head, k] + chart.halves[k, end] > chart.arcs[head, best] + chart.halves[best, end]:
            best = k
    return best


@kernel
def _push(chart: Chart, head: int, end: int) -> None:
    """Add a half tree to those to be written, unless it is only its head."""
    if head != end:
        count = chart.n_pending[0]
        chart.pending[count, 0], chart.pending[count, 1] = head, end
        chart.n_pending[0] = count + 1


@kernel
def _push_facing(chart: Chart, one: int, other: int) -> None:
    """Add the two best half trees that face each other between two heads."""
    i, j = min(one, other), max(one, other)
    best = i
    for k in range(i + 1, j):
        if chart.halves[i, k] + chart.halves[j, k + 1] > chart.halves[i, best] + chart.halves[j, best + 1]:
            best = k
    _push(chart, i, best)
    _push(chart, j, best + 1)


@kernel
def _sibling_before(chart: Chart, sibling: FloatMatrix, head: int, m: int) -> int:
    """The s that attains arcs[head, m], the nearest to the head in a tie."""
    step = 1 if m > head else -1
    before, best = head, chart.halves[m, head + step] + sibling[head, head, m]
    for s in range(head + step, m, step):
        score = chart.arcs[head, s] + chart.between[m, s] + sibling[head, s, m]
        if score > best:
            before, best = s, score
    return before


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
    # With scores of siblings, the inner loop goes from child to child towards the head. Without, it stops after one:
    # the head's shorter half tree holds its nearer children.
    n, second = len(heads), len(sibling) > 0
    _fill(scores, sibling, single_root, chart)
    chart.n_pending[0] = 0
    _push(chart, 0, n)
    while chart.n_pending[0] > 0:
        chart.n_pending[0] -= 1
        head, end = chart.pending[chart.n_pending[0]]
        child = _farthest_child(chart, head, end)
        _push(chart, child, end)
        while child != head:
            heads[child - 1], before = head, head
            if second and not (head == 0 and single_root):
                before = _sibling_before(chart, sibling, head, child)
            if second and before == head:
                _push(chart, child, head + 1 if child > head else head - 1)
            else:
                _push_facing(chart, before, child)
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
