"""The k best labelled binary trees of a sentence, and the best one through every node, from the charts of `cky`.

**The k best** (Lawler 1972). A tree is a sequence of decisions: the label of the top node, then for each binary node,
in preorder, its split, the label of its left half, and that of its right half. The chart gives the score of every
choice followed by the best later decisions, so no tree is decoded twice.

The trees not found yet are split into disjoint classes (tree, d). They share the decisions of `tree` before d. At d,
they make a choice that comes after that of `tree`, with choices sorted from best to worst. Later decisions are free.
The best tree of a class takes the next best choice at d, and loses the difference of the two scores. Each found tree
adds the classes from its own d on. Candidates behind k others are never needed.

**Through a node.** Let the charts be filled. *Outside*, outer[i, j, l] is the best score of a tree with the node
(i, j, l), without the scores of this node and all nodes below. The outer score of a half also leaves out the half:

    outer_first[i, k, l]  = max over j of outer[i, j, l] + span[i, j, l] + second[k, j, l]
    outer_second[k, j, l] = max over i of outer[i, j, l] + span[i, j, l] + first[i, k, l]
    outer[i, j, p] = max over l of outer_first[i, j, l]  + left[i, j, l]  + left_rule[p, l],
                                   outer_second[i, j, l] + right[i, j, l] + right_rule[p, l]

The best tree with the node (i, j, l) split at k scores outer[i, j, l] + span[i, j, l] + first[i, k, l] +
second[k, j, l]. Climbing from the node to the top, which finds the maxima again, gives the nodes above it.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.cky import (
    Charts,
    Marks,
    TreeParts,
    cell,
    fill,
    half_scores,
    put_halves,
    split_scores,
    unfold,
)
from widemargin.decoders.scores import highest

TOP, SPLIT, LEFT, RIGHT = range(4)
"""Kinds of decisions: the decision of a kind at node r has the number 3 r + kind, the top label the number 0."""


class ChartCandidates(NamedTuple):
    """Trees by score, best first: the tree that each comes from, the decision that it changes, and the new choice."""

    totals: FloatVector
    origins: IntVector
    decisions: IntVector
    choices: IntVector


@kernel
def _ways(decision: int, nodes: IntMatrix, filled: TreeParts, marks: Marks, scores: FloatVector) -> tuple[int, int]:
    """Write the scores of all choices of a decision; return how many there are, and the tree's own choice."""
    n_labels, kind = filled.span.shape[1], (decision - 1) % 3 + 1
    if decision == TOP:
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
        half_scores(i, k, j, label, -1, filled, marks, scores)
        return n_labels, left
    half_scores(i, k, j, label, left, filled, marks, scores)
    return n_labels, nodes[r + 2 * (k - i), 2]


@kernel
def _next(scores: FloatVector, n: int, chosen: int) -> int:
    """The best choice after `chosen`: worse, or equally good with a higher number; −1 if there is none."""
    following = -1
    for way in range(n):
        after = scores[way] < scores[chosen] or (scores[way] == scores[chosen] and way > chosen)
        if after and (following < 0 or scores[way] > scores[following]):
            following = way
    return following


@kernel
def _enter(found: int, total: float, origin: int, decision: int, choice: int, candidates: ChartCandidates) -> None:
    """Insert a candidate behind all that are at least as good, and drop the last."""
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
    """Change a decision, and make the best decisions for everything that depends on it."""
    # Only nodes from `first` on are unfolded again: a new label on the right leaves the left half as it is.
    n_labels, kind = filled.span.shape[1], (decision - 1) % 3 + 1
    if decision == TOP:
        nodes[0, 2] = choice
        unfold(filled, marks, nodes, 0, len(nodes), scores)
        return
    r = (decision - 1) // 3
    i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
    k, left, right = nodes[r + 1, 1], nodes[r + 1, 2], choice
    first = r + 1
    if kind == SPLIT:
        k = i + 1 + choice
        half_scores(i, k, j, label, -1, filled, marks, scores)
        left = highest(scores[:n_labels])
    if kind == LEFT:
        left = choice
    if kind == RIGHT:
        first = r + 2 * (k - i)
    else:
        half_scores(i, k, j, label, left, filled, marks, scores)
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
    candidates = ChartCandidates(
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
                continue  # single words have no decisions
            n_ways, chosen = _ways(other, nodes, parts, marks, scores)
            following = _next(scores, n_ways, chosen)
            if following >= 0 and scores[following] > -np.inf:
                total = totals[found - 1] + (scores[following] - scores[chosen])
                _enter(found, total, found - 1, other, following, candidates)
        if totals[found] == -np.inf:
            break
    return found


@kernel
def _take_best_parent(half: FloatVector, part: FloatVector, rule: FloatMatrix, outer: FloatVector) -> None:
    """outer[p] = max(outer[p], max over l of half[l] + part[l] + rule[p, l])."""
    for child in range(len(outer)):
        best, rules = outer[child], rule[child]
        for label in range(len(half)):
            best = max(best, half[label] + part[label] + rules[label])
        outer[child] = best


@kernel
def _raise(row: FloatVector, above: FloatVector, beside: FloatVector) -> None:
    """row[l] = max(row[l], above[l] + beside[l])."""
    for label in range(len(row)):
        new, old = above[label] + beside[label], row[label]
        row[label] = new if new > old else old


@kernel
def outside(n: int, parts: TreeParts, filled: TreeParts, outer: Charts) -> None:
    """Fill in the outer scores from long spans to short ones.

    Parameters
    ----------
    n : the number of words, at least one
    parts : the scores
    filled : the same after `cky.fill`
    outer : the output
    """
    # Parents before children: every span that contains i … j ends later, or ends at j and begins earlier.
    n_cells, n_labels = n * (n + 1) // 2, parts.span.shape[1]
    for chart in outer:
        chart[:n_cells] = -np.inf
    outer.nodes[cell(0, n)] = 0.0
    above = np.empty(n_labels)
    for j in range(n, 0, -1):
        for i in range(j):
            at = cell(i, j)
            row = outer.nodes[at]
            if j < n:
                _take_best_parent(outer.first[at], parts.left[at], parts.left_rule, row)
            if i > 0:
                _take_best_parent(outer.second[at], parts.right[at], parts.right_rule, row)
            for label in range(n_labels):
                above[label] = row[label] + parts.span[at, label]
            for k in range(i + 1, j):
                one, other = cell(i, k), cell(k, j)
                _raise(outer.first[one], above, filled.right[other])
                _raise(outer.second[other], above, filled.left[one])


@kernel
def _best_parent(half: FloatVector, part: FloatVector, rules: FloatVector) -> tuple[int, float]:
    """The label l that maximises half[l] + part[l] + rules[l], and the maximum."""
    best, score = 0, -np.inf
    for label in range(len(half)):
        new = half[label] + part[label] + rules[label]
        if new > score:
            best, score = label, new
    return best, score


@kernel
def _climb(
    n: int, i: int, j: int, label: int, parts: TreeParts, filled: TreeParts, outer: Charts, path: IntMatrix
) -> int:
    """Write the nodes from (i, j, label) up to the top to `path`; return how many there are."""
    # The first candidate is taken even with a score of −inf, so that forbidden nodes still give a tree.
    size = 0
    while True:
        path[size, 0], path[size, 1], path[size, 2] = i, j, label
        size += 1
        if j - i == n:
            return size
        at, parent, is_left = cell(i, j), 0, False
        score = -np.inf
        if j < n:
            parent, score = _best_parent(outer.first[at], parts.left[at], parts.left_rule[label])
            is_left = True
        if i > 0:
            other, other_score = _best_parent(outer.second[at], parts.right[at], parts.right_rule[label])
            if other_score > score or j == n:
                parent, is_left = other, False
        begin, end, score = i, j, -np.inf
        if is_left:
            for u in range(j + 1, n + 1):
                above = outer.nodes[cell(i, u), parent] + parts.span[cell(i, u), parent]
                new = above + filled.right[cell(j, u), parent]
                if new > score or end == j:
                    end, score = u, new
        else:
            for t in range(i):
                above = outer.nodes[cell(t, j), parent] + parts.span[cell(t, j), parent]
                new = above + filled.left[cell(t, i), parent]
                if new > score or begin == i:
                    begin, score = t, new
        i, j, label = begin, end, parent


@kernel
def tree_through(
    n: int,
    i: int,
    j: int,
    label: int,
    split: int,
    parts: TreeParts,
    filled: TreeParts,
    outer: Charts,
    marks: Marks,
    nodes: IntMatrix,
) -> None:
    """Write the best tree with the node (i, j, label), split at `split`; 0 chooses the best split.

    `marks` count for the halves of this node alone, and only if the split is given.
    """
    # Down the climbed path, each step unfolds the other half; r follows the path through the rows of the preorder.
    n_labels, unmarked = filled.span.shape[1], Marks(marks.productions[:0], marks.extra[:0])
    path, scores = np.empty((n, 3), dtype=np.int32), np.empty(max(n, n_labels))
    size = _climb(n, i, j, label, parts, filled, outer, path)
    nodes[0] = path[size - 1]
    r = 0
    for step in range(size - 1, 0, -1):
        begin, end, above = path[step, 0], path[step, 1], path[step, 2]
        child, is_left = path[step - 1, 2], path[step - 1, 0] == begin
        k = path[step - 1, 1] if is_left else path[step - 1, 0]
        right = r + 2 * (k - begin)
        if is_left:
            half_scores(begin, k, end, above, child, filled, unmarked, scores)
            put_halves(nodes, r, k, child, highest(scores[:n_labels]))
            unfold(filled, unmarked, nodes, right, r + 2 * (end - begin) - 1, scores)
            r += 1
        else:
            half_scores(begin, k, end, above, -1, filled, unmarked, scores)
            put_halves(nodes, r, k, highest(scores[:n_labels]), child)
            unfold(filled, unmarked, nodes, r + 1, right, scores)
            r = right
    if split == 0:
        unfold(filled, unmarked, nodes, r, r + 2 * (j - i) - 1, scores)
    else:
        half_scores(i, split, j, label, -1, filled, marks, scores)
        left = highest(scores[:n_labels])
        half_scores(i, split, j, label, left, filled, marks, scores)
        put_halves(nodes, r, split, left, highest(scores[:n_labels]))
        unfold(filled, unmarked, nodes, r + 1, r + 2 * (j - i) - 1, scores)
