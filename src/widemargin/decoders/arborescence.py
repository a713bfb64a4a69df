"""Dependency trees, projective or not: the best, and sums over all of them.

    score(tree) = Σ_m scores[head(m), m]     over words m = 1 … n; head 0 is the artificial root

**The best tree**, the maximum spanning arborescence, takes O(n²) (Tarjan 1977). A path is grown backwards: its last
group of words, at first a single word, takes the best arc that enters it from elsewhere. If the arc comes from the root
or from a finished group, the path is finished. If it comes from a group that is on no path yet, that group is next. If
it comes from a group on the path, the groups from there on form a cycle and become one group. An arc that enters this
group replaces the cycle's own arc into the same member:

    arrivals[group, x] = max over members g of arrivals[g, x] − arrivals[g, the tail that g took]

for each word x outside; ends[group, x] is the word that the best of these arcs leads to. There are at most 2n groups,
and each costs O(n). At the end the groups are opened, last formed first. The arc that enters a group ends at one word,
and replaces the arcs of all smaller groups that contain this word (Camerini, Fratta & Maffioli 1979).

If only one word may be attached to the root, trees are compared first by the number of words at the root, then by
score. So a group takes an arc from the root only if no other arc enters it. Such a group is never part of a cycle, so
nothing is subtracted for these arcs. A large penalty instead would lose precision to rounding.

**Sums over all trees** (the matrix-tree theorem; Koo et al. 2007) take O(n³).

    p(tree) = exp(score(tree)) / Z,   Z = Σ exp(score(tree))

gives log Z and the probability of every arc. Z is a determinant. Gaussian elimination of a word k is, with
A[h, m] = exp(scores[h, m]) and D_k the sum of A[h, k] over the remaining heads h,

    Z = D_k · Z',     Z' the same without k, where   A'[h, m] = A[h, m] + A[h, k] A[k, m] / D_k

for all other h and m: an arc from k comes from k's head instead. There are no subtractions (Grassmann, Taksar &
Heyman 1985), so all numbers can be kept as logarithms, and scores may have any size.

The probabilities are the derivatives of log Z by the scores, passed backwards through the elimination. The derivative
by log A'[h, m] is divided between A[h, m] and the arcs through k, in proportion to their shares of A'[h, m]:

    through[h, m] = derivative[h, m] · A[h, k] A[k, m] / (D_k A'[h, m])
    derivative[k, m] = Σ_h through[h, m]
    derivative[h, k] = Σ_m through[h, m] + (1 − Σ_h,m through[h, m]) A[h, k] / D_k

Neither the derivative by A'[h, m] itself nor A[h, k] changes once a word is eliminated, so the way back needs only the
table that the elimination leaves.

If only one word may be attached to the root, D_k leaves out the root unless k is the last word. So a word that no other
word can be the head of is eliminated last; if there are two such words, no tree has a single root.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.scores import log_add


class Contraction(NamedTuple):
    """Scratch space; words are the groups 1 … n, and groups formed by contraction come after them.

    arrivals, ends : (≥ n + 1, ≥ n + 1) arrays, of rows × tails; −inf if the tail is inside the group
    group : for each word, the largest group it belongs to
    row : for each group, the row of `arrivals` and `ends` it uses
    parent : for each group, the group it has become part of; 0 if none
    tail, end : for each group, the arc that enters it
    place : for each group, 0 before it is on the path, then its place there from 1 on, −1 once the path is finished
    """

    arrivals: FloatMatrix
    ends: LongMatrix
    group: LongVector
    row: LongVector
    parent: LongVector
    tail: LongVector
    end: LongVector
    place: LongVector


def new_contraction(n: int) -> Contraction:
    """Scratch space for sentences of up to `n` words."""
    ends, group = np.empty((n + 1, n + 1), dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    return Contraction(np.empty(ends.shape), ends, group, *np.empty((5, 2 * n + 2), dtype=np.int64))


@kernel
def _begin(scores: FloatMatrix, c: Contraction) -> None:
    """Make every word a group of its own, on no path."""
    n = len(scores) - 1
    for m in range(1, n + 1):
        for x in range(n + 1):
            c.arrivals[m, x] = scores[x, m]
            c.ends[m, x] = m
        c.arrivals[m, m] = -np.inf
        c.group[m] = c.row[m] = m
    for g in range(2 * n + 1):
        c.parent[g] = c.place[g] = 0
    c.group[0] = 0
    c.place[0] = -1


@kernel
def _best_tail(c: Contraction, g: int, n: int, single_root: bool, rooted: bool) -> int:
    """The word that the best arc into group g comes from, the lowest in a tie; 0 if all arcs are forbidden.

    If the single root is already `rooted`, any word outside of the group is better than 0.
    """
    row = c.arrivals[c.row[g]]
    best, score = 0, -np.inf
    for x in range(1 if single_root else 0, n + 1):
        if row[x] > score:
            best, score = x, row[x]
    if best == 0 and single_root and rooted:
        best = 1
        while c.group[best] == g:
            best += 1
    return best


@kernel
def _merge(c: Contraction, first: int, formed: int, n: int) -> None:
    """Merge the groups on the path from `first` on, which are a cycle, into the group `formed`."""
    into = c.row[first]
    best, best_ends = c.arrivals[into], c.ends[into]
    g = first
    while c.parent[g] == 0:
        c.parent[g] = formed
        row, ends = c.arrivals[c.row[g]], c.ends[c.row[g]]
        # A forbidden arc is on a cycle only if every tree has one. Then any tree is as good, but no score may be NaN.
        taken = row[c.tail[g]] if row[c.tail[g]] > -np.inf else 0.0
        for x in range(n + 1):
            score, old = row[x] - taken, best[x]
            better = g == first or score > old
            best_ends[x] = ends[x] if better else best_ends[x]
            best[x] = score if better else old
        g = c.group[c.tail[g]]
    for x in range(1, n + 1):
        if c.place[c.group[x]] >= c.place[first]:
            c.group[x] = formed
            best[x] = -np.inf
    c.row[formed], c.place[formed] = into, c.place[first]


@kernel
def arborescence(scores: FloatMatrix, single_root: bool, heads: IntVector, c: Contraction) -> float:
    """Write the heads of the best tree and return its score.

    The result is always a tree, of score −inf if there is no other.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are
        ignored
    single_root : whether exactly one word is attached to the root, instead of one or more
    heads : (n,) output; entry m − 1 is the head of the word m
    c : scratch space for n words or more
    """
    # Places tell a cycle (> 0) from a finished path (−1). Each step places or forms a group: at most 2n steps in all.
    n = len(heads)
    _begin(scores, c)
    groups, rooted = n, False
    for word in range(1, n + 1):
        g = c.group[word]
        place = 0
        while c.place[g] >= 0:
            if c.place[g] > 0:
                place = c.place[g]
                groups += 1
                _merge(c, g, groups, n)
                g = groups
            else:
                place += 1
                c.place[g] = place
            tail = _best_tail(c, g, n, single_root, rooted)
            rooted = rooted or tail == 0
            c.tail[g], c.end[g] = tail, c.ends[c.row[g], tail]
            g = c.group[tail]
        g = c.group[word]
        while c.place[g] > 0:
            c.place[g] = -1
            g = c.group[c.tail[g]]
    # Open the groups, last formed first; a group that the arc into a larger one enters loses its own arc.
    for g in range(groups, 0, -1):
        if c.place[g] != 0:
            inner = c.end[g]
            heads[inner - 1] = c.tail[g]
            while inner != g:
                c.place[inner] = 0
                inner = c.parent[inner]
    total = 0.0
    for m in range(1, n + 1):
        total += scores[heads[m - 1], m]
    return total


class Elimination(NamedTuple):
    """Scratch space: logarithms of A[modifier, head], rows by modifier; the order of the words, the root last."""

    table: FloatMatrix
    derivatives: FloatMatrix
    order: LongVector


def new_elimination(n: int) -> Elimination:
    """Scratch space for sentences of up to `n` words."""
    size = n + 1
    return Elimination(np.empty((size, size)), np.empty((size, size)), np.empty(size, dtype=np.int64))


@kernel
def _next_word(c: Elimination, step: int, n: int, single_root: bool) -> float:
    """Move a word that has a remaining head to the place `step`; return log D_k, −inf if no word has one.

    The words from `step` on remain.
    """
    # Any order gives the same Z, but with a single root a word whose only remaining head is the root must be the last.
    last = step == n - 1
    heads = n + 1 if last or not single_root else n
    for place in range(step, n):
        k = c.order[place]
        row, top = c.table[k], -inf
        for p in range(step, heads):
            if p != place:
                top = max(top, row[c.order[p]])
        if top == -inf:
            continue
        total = 0.0
        for p in range(step, heads):
            total += exp(row[c.order[p]] - top) if p != place else 0.0
        c.order[place], c.order[step] = c.order[step], k
        return top + log(total)
    return -inf


@kernel
def _eliminate(c: Elimination, step: int, n: int, log_d: float) -> None:
    """Replace arcs from the word at `step` by arcs from its heads."""
    k = c.order[step]
    c.table[k, k] = log_d
    for p in range(step + 1, n):
        m = c.order[p]
        row, heads, share = c.table[m], c.table[k], c.table[m, k] - log_d
        if share == -inf:
            continue
        for q in range(step + 1, n + 1):
            if p != q:
                h = c.order[q]
                row[h] = log_add(row[h], heads[h] + share)


@kernel
def _pass_back(c: Elimination, step: int, n: int, single_root: bool) -> None:
    """Pass the derivatives by the remaining arcs on to the arcs of the word at `step`."""
    # derivatives[m, h] is by the logarithm of the final A'[h, m]; `matrix_tree` multiplies by A / A' once, at the end.
    k = c.order[step]
    heads, given, through_all = c.table[k], c.derivatives[k], 0.0
    for p in range(step + 1, n):
        m = c.order[p]
        row, derivatives, share, through = c.table[m], c.derivatives[m], c.table[m, k] - heads[k], 0.0
        if share == -inf:
            continue
        for q in range(step + 1, n + 1):
            h = c.order[q]
            if p != q and derivatives[h] != 0.0:
                part = derivatives[h] * exp(heads[h] + share - row[h])
                given[h] += part
                through += part
        derivatives[k] = through
        through_all += through
    for q in range(step + 1, n + 1 if step == n - 1 or not single_root else n):
        h = c.order[q]
        given[h] += (1.0 - through_all) * exp(heads[h] - heads[k])


@kernel
def matrix_tree(scores: FloatMatrix, single_root: bool, c: Elimination, arcs: FloatMatrix) -> float:
    """Write the probabilities of all arcs to `arcs` and return log Z; −inf and zeros if no tree is possible.

    Parameters
    ----------
    scores : (n + 1, n + 1) array, n ≥ 1, of heads × modifiers; −inf forbids an arc; column 0 and the diagonal are
        ignored
    single_root : whether exactly one word is attached to the root, instead of one or more
    c : scratch space for n words or more
    arcs : (n + 1, n + 1) output, the probability that h is the head of m; zero in column 0 and on the diagonal
    """
    # Rows go by modifier, since elimination reads and updates all heads of one modifier at a time.
    n = len(scores) - 1
    for m in range(n + 1):
        c.order[m] = m + 1 if m < n else 0
        for h in range(n + 1):
            c.table[m, h] = scores[h, m] if m > 0 and h != m else -inf
            c.derivatives[m, h] = arcs[h, m] = 0.0
    log_z = 0.0
    for step in range(n):
        log_d = _next_word(c, step, n, single_root)
        if log_d == -inf:
            return -inf
        log_z += log_d
        _eliminate(c, step, n, log_d)
    for step in range(n - 1, -1, -1):
        _pass_back(c, step, n, single_root)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m and c.derivatives[m, h] > 0.0:
                arcs[h, m] = min(c.derivatives[m, h] * exp(scores[h, m] - c.table[m, h]), 1.0)
    return log_z
