"""Sums over all dependency trees, projective or not (the matrix-tree theorem; Koo et al. 2007), in O(n³).

    p(tree) = exp(score(tree)) / Z,   Z = Σ exp(score(tree)),   with score(tree) as in `arborescence`

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
from widemargin._types import FloatMatrix, LongVector
from widemargin.decoders.log_sums import log_add


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
