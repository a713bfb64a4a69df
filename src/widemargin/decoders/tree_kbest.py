"""The k best labelled dependency trees, exactly (Lawler 1972).

    score(tree) = Σ_m labelled[head(m), m, label(m)]  (+ the scores of siblings and grandparents in `eisner`)

The trees not found yet are split into disjoint classes, and the best tree of each class is known. The class (tree, j)
holds the trees that share the arcs of `tree` at all words before j, and whose arc at j differs from that of every found
tree that also shares these arcs. The best of the classes' best trees is the next one found. The rest of its class
(tree, j) splits into (tree, j), (tree, j + 1), …, (tree, n): one decode each, with the arcs outside the class
forbidden.

Found trees and candidates (the best trees of the classes) share one list of k rows, since a candidate behind k others
is never needed. An arc with its label is written as the code head · L + label.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.arborescence import Contraction, arborescence, new_contraction
from widemargin.decoders.eisner import Chart, eisner, grandsiblings, new_chart

PROJECTIVE, NON_PROJECTIVE, SIBLINGS, GRANDSIBLINGS = 0, 1, 2, 3


class TreeScratch(NamedTuple):
    """Scratch space for all decoders."""

    chart: Chart
    contraction: Contraction


NO_CHART, NO_CONTRACTION = new_chart(0), new_contraction(0)  # of decoders that are not called: no thread writes there


def new_tree_scratch(n: int, kind: int) -> TreeScratch:
    """Scratch space for sentences of up to `n` words."""
    if kind == NON_PROJECTIVE:
        return TreeScratch(NO_CHART, new_contraction(n))
    return TreeScratch(new_chart(n, kind == GRANDSIBLINGS), NO_CONTRACTION)


@kernel
def decode_tree(
    kind: int,
    scores: FloatMatrix,
    sibling: FloatMatrix,
    grand: FloatMatrix,
    single_root: bool,
    heads: IntVector,
    scratch: TreeScratch,
) -> float:
    """Write the heads of the best tree and return its score, with the decoder of this kind.

    `sibling` is read for SIBLINGS and GRANDSIBLINGS only, `grand` for the latter; otherwise the shape may be (0, 0, 0).
    """
    if kind == NON_PROJECTIVE:
        return arborescence(scores, single_root, heads, scratch.contraction)
    if kind == GRANDSIBLINGS:
        return grandsiblings(scores, sibling, grand, single_root, heads, scratch.chart)
    return eisner(scores, sibling if kind == SIBLINGS else sibling[:0], single_root, heads, scratch.chart)


@kernel
def _choose_labels(
    labelled: FloatMatrix, m: int, found: IntMatrix, by_code: FloatVector, scores: FloatMatrix, labels: IntMatrix
) -> None:
    """Write the best label of each head's arc to m, and its score, to column m of `labels` and `scores`.

    If a `found` tree agrees with the last one before m, its arc at m is left out.
    """
    # Only one labelled arc is forbidden, not the head: its next best label stays possible.
    size, n_labels = len(labelled), labelled.shape[2]
    for head in range(size):
        for label in range(n_labels):
            by_code[head * n_labels + label] = labelled[head, m, label]
    last = len(found) - 1
    for tree in range(len(found)):
        before = 0
        while before < m - 1 and found[tree, before] == found[last, before]:
            before += 1
        if before == m - 1:
            by_code[found[tree, before]] = -np.inf
    for head in range(size):
        best = head * n_labels
        for code in range(best + 1, best + n_labels):
            if by_code[code] > by_code[best]:
                best = code
        scores[head, m], labels[head, m] = by_code[best], best - head * n_labels


@kernel
def _fix(labelled: FloatMatrix, m: int, code: int, scores: FloatMatrix, labels: IntMatrix) -> None:
    """Forbid all arcs to m except the one with this code."""
    for head in range(len(labelled)):
        scores[head, m] = -np.inf
    head, label = code // labelled.shape[2], code % labelled.shape[2]
    scores[head, m], labels[head, m] = labelled[head, m, label], label


@kernel
def _make_room(total: float, totals: FloatVector, firsts: IntVector, codes: IntMatrix) -> int:
    """Shift all worse rows down by one, dropping the last; return the free row, or `len(totals)` if none is worse."""
    place = len(totals)
    while place > 0 and total > totals[place - 1]:
        place -= 1
        if place + 1 < len(totals):
            totals[place + 1], firsts[place + 1] = totals[place], firsts[place]
            for t in range(codes.shape[1]):
                codes[place + 1, t] = codes[place, t]
    return place


@kernel
def _write(heads: IntVector, labels: IntMatrix, n_labels: int, codes: IntVector) -> None:
    """Write the codes of a tree's arcs."""
    for t in range(len(heads)):
        codes[t] = heads[t] * n_labels + labels[heads[t], t + 1]


@kernel
def tree_kbest(
    kind: int,
    labelled: FloatMatrix,
    sibling: FloatMatrix,
    grand: FloatMatrix,
    single_root: bool,
    codes: IntMatrix,
    totals: FloatVector,
    scratch: TreeScratch,
) -> int:
    """Write the best trees to the rows of `codes`, best first, and return their number, at most k.

    The first is the tree that `decode_tree` finds. Trees that score −inf are left out; if all do, one is written.

    Parameters
    ----------
    kind, sibling, grand, single_root, scratch : as in `decode_tree`
    labelled : (n + 1, n + 1, L) array, n ≥ 1, of heads × modifiers × labels; −inf forbids an arc with a label
    codes : (k, n) output
    totals : (k,) output: the scores
    """
    # j ascends, and the arc at j is fixed after its decode: the next class needs two new columns of scores, no copy.
    k, n = codes.shape
    size, n_labels = len(labelled), labelled.shape[2]
    scores, labels = np.empty((size, size)), np.empty((size, size), dtype=np.int32)
    free_scores, free_labels = np.empty((size, size)), np.empty((size, size), dtype=np.int32)
    by_code, heads, firsts = np.empty(size * n_labels), np.empty(n, dtype=np.int32), np.ones(k, dtype=np.int32)
    for m in range(1, n + 1):
        _choose_labels(labelled, m, codes[:0], by_code, free_scores, free_labels)
    for row in range(k):
        totals[row] = -np.inf
    totals[0] = decode_tree(kind, free_scores, sibling, grand, single_root, heads, scratch)
    _write(heads, free_labels, n_labels, codes[0])

    found = 1
    while found < k:
        tree, first = codes[found - 1], firsts[found - 1]
        for m in range(1, n + 1):
            for head in range(size):
                scores[head, m], labels[head, m] = free_scores[head, m], free_labels[head, m]
            if m < first:
                _fix(labelled, m, tree[m - 1], scores, labels)
        for j in range(first, n + 1):
            _choose_labels(labelled, j, codes[:found], by_code, scores, labels)
            total = decode_tree(kind, scores, sibling, grand, single_root, heads, scratch)
            place = found + _make_room(total, totals[found:], firsts[found:], codes[found:])
            if place < k:
                totals[place], firsts[place] = total, j
                _write(heads, labels, n_labels, codes[place])
            _fix(labelled, j, tree[j - 1], scores, labels)
        if totals[found] == -np.inf:
            break
        found += 1
    return found
