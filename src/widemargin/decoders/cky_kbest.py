"""The k best labelled binary trees of a sentence, exactly (Lawler 1972, on the chart of `cky`).

A tree is a sequence of decisions: the label on top, then for each binary node, in preorder, where it is split, the
label of its left half, and that of its right half. The chart knows what every decision is worth with the best of all
that may follow, so no tree is decoded twice.

The trees not found yet are split into disjoint classes (tree, d). They share the decisions of `tree` before d. At d,
they decide in a way that comes after that of `tree`, with ways sorted from best to worst. Afterwards, they are free.
The best of a class takes the next best way at d, and loses the difference in worth. A found tree leaves the classes
from its own d on. Candidates behind k others are never needed.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector
from widemargin.decoders.charts import Marks, TreeParts, cell
from widemargin.decoders.cky import fill, left_scores, put_halves, right_scores, split_scores, unfold
from widemargin.decoders.highest import highest

TOP, SPLIT, LEFT, RIGHT = range(4)
"""Kinds of decisions: that at node r has the number 3 r + kind, and the top label 0."""


class Candidates(NamedTuple):
    """Trees by their scores, best first: from which tree they come, which decision they change, and to what."""

    totals: FloatVector
    origins: IntVector
    decisions: IntVector
    choices: IntVector


@kernel
def _kind(decision: int) -> int:
    return TOP if decision == 0 else (decision - 1) % 3 + 1


@kernel
def _ways(decision: int, nodes: IntMatrix, filled: TreeParts, marks: Marks, scores: FloatVector) -> tuple[int, int]:
    """Write what all ways to decide are worth; return how many there are, and which one the tree takes."""
    kind, n_labels = _kind(decision), filled.span.shape[1]
    if kind == TOP:
        top = filled.span[cell(0, nodes[0, 1])]
        for label in range(n_labels):
            scores[label] = top[label]
        return n_labels, nodes[0, 2]
    r = (decision - 1) // 3
    i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
    k, left = nodes[r + 1, 1], nodes[r + 1, 2]
    if kind == SPLIT:
        split_scores(i, j, label, filled, marks, scores)
        return j - i - 1, k - i - 1
    if kind == LEFT:
        left_scores(i, k, j, label, filled, marks, scores)
        return n_labels, left
    right_scores(i, k, j, label, left, filled, marks, scores)
    return n_labels, nodes[r + 2 * (k - i), 2]


@kernel
def _next(scores: FloatVector, n: int, chosen: int) -> int:
    """The best of the ways that come after `chosen`: worse, or as good with a higher number; −1 if there is none."""
    following = -1
    for way in range(n):
        after = scores[way] < scores[chosen] or (scores[way] == scores[chosen] and way > chosen)
        if after and (following < 0 or scores[way] > scores[following]):
            following = way
    return following


@kernel
def _enter(found: int, total: float, origin: int, decision: int, choice: int, candidates: Candidates) -> None:
    """Enter a candidate behind all that are as good, and drop the last."""
    place = len(candidates.totals)
    while place > found and total > candidates.totals[place - 1]:
        place -= 1
        if place + 1 < len(candidates.totals):
            for row in (candidates.origins, candidates.decisions, candidates.choices):
                row[place + 1] = row[place]
            candidates.totals[place + 1] = candidates.totals[place]
    if place < len(candidates.totals):
        candidates.totals[place], candidates.origins[place] = total, origin
        candidates.decisions[place], candidates.choices[place] = decision, choice


@kernel
def _change(decision: int, choice: int, nodes: IntMatrix, filled: TreeParts, marks: Marks, scores: FloatVector) -> None:
    """Decide otherwise, and everything that depends on it as well as can be."""
    kind, n_labels = _kind(decision), filled.span.shape[1]
    if kind == TOP:
        nodes[0, 2] = choice
        unfold(filled, marks, nodes, 0, len(nodes), scores)
        return
    r = (decision - 1) // 3
    i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
    k, left, right = nodes[r + 1, 1], nodes[r + 1, 2], choice
    first = r + 1
    if kind == SPLIT:
        k = i + 1 + choice
        left_scores(i, k, j, label, filled, marks, scores)
        left = highest(scores[:n_labels])
    if kind == LEFT:
        left = choice
    if kind == RIGHT:
        first = r + 2 * (k - i)
    else:
        right_scores(i, k, j, label, left, filled, marks, scores)
        right = highest(scores[:n_labels])
    put_halves(nodes, r, k, left, right)
    unfold(filled, marks, nodes, first, r + 2 * (j - i) - 1, scores)


@kernel
def cky_kbest(n: int, parts: TreeParts, marks: Marks, trees: IntMatrix, totals: FloatVector) -> int:
    """Write the best trees to `trees`, best first, and return their number, at most k.

    The first is the tree that `best_tree` finds. Trees that score −inf are left out; if all do, one is written.

    Parameters
    ----------
    n, parts, marks : as in `best_tree`; the charts are overwritten
    trees : (k, 2 n − 1, 3) output: the nodes of each tree
    totals : (k,) output: their scores
    """
    fill(n, parts, marks)
    k, top, scores = len(totals), parts.span[cell(0, n)], np.empty(max(n, parts.span.shape[1]))
    candidates = Candidates(
        totals, np.zeros(k, dtype=np.int32), np.zeros(k, dtype=np.int32), np.zeros(k, dtype=np.int32)
    )
    totals[:] = -np.inf
    best = highest(top)
    totals[0], candidates.choices[0] = top[best], best
    trees[0, 0, 0], trees[0, 0, 1] = 0, n
    found = 0
    while True:
        nodes, decision = trees[found], candidates.decisions[found]
        if found > 0:
            nodes[:] = trees[candidates.origins[found]]
        _change(decision, candidates.choices[found], nodes, parts, marks, scores)
        found += 1
        if found == k:
            break
        for other in range(decision, 3 * len(nodes) + 1):
            r = (other - 1) // 3
            if other > 0 and nodes[r, 1] - nodes[r, 0] == 1:
                continue  # words decide nothing
            n_ways, chosen = _ways(other, nodes, parts, marks, scores)
            following = _next(scores, n_ways, chosen)
            if following >= 0 and scores[following] > -np.inf:
                total = totals[found - 1] + (scores[following] - scores[chosen])
                _enter(found, total, found - 1, other, following, candidates)
        if totals[found] == -np.inf:
            break
    return found
