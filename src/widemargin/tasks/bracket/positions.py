"""Position-wise slacks on constituents (Sarawagi & Gupta 2008, §4): the worst tree that is wrong at each position.

The positions of n words are the words and the n − 1 gaps between them. Number 2 t is word t, and 2 k − 1 is the gap
before word k. Every binary tree has one node at each: the word itself, and the node that is split at the gap. The error
at a position is that of its node. So the errors of all positions sum up to Δ, whatever wrong nodes cost, and whether
nodes or productions count. Gold constituents would not do as positions: where a tree misses one, nothing tells which of
its own nodes stands there instead, and what that costs.

The best tree with a given node at a position is a max-marginal (`decoders.cky_outside`), so all positions of a sentence
take one inside and one outside pass, and a climb for each violator.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector
from widemargin.decoders.charts import Marks, TreeParts, cell, mark_tree, no_marks, tree_score
from widemargin.decoders.cky import fill, split_scores
from widemargin.decoders.cky_outside import OuterScores, new_outer, outside, tree_through
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketWeights,
    gold_tree,
    longest_of,
    new_charts,
    part_scores,
    rule_scores,
)


class Worst(NamedTuple):
    """For each position: L_c (1 − ⟨w, ψ⟩) of the worst tree, and the node that it has there."""

    values: FloatVector
    nodes: IntMatrix


@kernel
def _consider(
    c: int, i: int, j: int, above: FloatVector, first: FloatVector, second: FloatVector, costs: FloatVector,
    skipped: int, gold_score: float, worst: Worst,
) -> None:  # fmt: skip
    """Compare the nodes i … j with all labels but `skipped`; their trees score above + first + second."""
    for label in range(len(above)):
        value = costs[label] * (1.0 + (above[label] + first[label] + second[label] - gold_score))
        if value > worst.values[c] and label != skipped:
            worst.values[c] = value
            worst.nodes[c, 0], worst.nodes[c, 1], worst.nodes[c, 2] = i, j, label


@kernel
def _find_worst(
    n: int, data: BracketData, gold: IntMatrix, parts: TreeParts, filled: TreeParts, outer: OuterScores, marks: Marks
) -> Worst:
    """The worst trees that are wrong; gold productions are marked with −inf if only these are right."""
    n_labels = parts.span.shape[1]
    worst = Worst(np.zeros(2 * n - 1), np.zeros((2 * n - 1, 3), dtype=np.int32))
    gold_score, gold_labels = tree_score(gold, parts), np.full(n * (n + 1) // 2, -1, dtype=np.int32)
    for r in range(len(gold)):
        gold_labels[cell(gold[r, 0], gold[r, 1])] = gold[r, 2]
    above, nothing, splits = np.empty(n_labels), np.zeros(n_labels), np.empty(n)
    for j in range(1, n + 1):
        for i in range(j):
            at = cell(i, j)
            for label in range(n_labels):
                above[label] = outer.nodes[at, label] + parts.span[at, label]
            if j - i == 1:
                _consider(2 * i, i, j, above, nothing, nothing, data.costs, gold_labels[at], gold_score, worst)
            for k in range(i + 1, j):
                first, second = filled.left[cell(i, k)], filled.right[cell(k, j)]
                _consider(2 * k - 1, i, j, above, first, second, data.costs, gold_labels[at], gold_score, worst)
            label = gold_labels[at]
            if data.by_productions and label >= 0 and j - i > 1:
                split_scores(i, j, label, filled, marks, splits)
                for k in range(i + 1, j):
                    value = data.costs[label] * (1.0 + (above[label] + splits[k - i - 1] - gold_score))
                    if value > worst.values[2 * k - 1]:
                        worst.values[2 * k - 1] = value
                        at_gap = worst.nodes[2 * k - 1]
                        at_gap[0], at_gap[1], at_gap[2] = i, j, label
    return worst


@kernel
def worst_trees(data: BracketData, weights: BracketWeights, batch: IntVector) -> tuple[FloatVector, IntMatrix]:
    """L_c of the worst tree of each position, 0 where none violates; the nodes of those that do, end to end."""
    charts, rules, forbidden = new_charts(data, batch), rule_scores(data, weights), np.full(len(data.costs), -np.inf)
    n_positions = 0
    for i in batch:
        n_positions += 2 * (data.indptr[i + 1] - data.indptr[i]) - 1
    outer, errors = new_outer(longest_of(data, batch), len(data.costs)), np.zeros(n_positions)
    nodes, place, write = np.empty((64, 3), dtype=np.int32), 0, 0
    parts, copies = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1]), new_charts(data, batch)
    filled = TreeParts(copies.span, copies.left, copies.right, rules[0], rules[1])
    for i in batch:
        n = part_scores(data, weights, i, 0.0, charts)
        size, n_cells, gold = 2 * n - 1, n * (n + 1) // 2, gold_tree(data, i)
        filled.span[:n_cells] = parts.span[:n_cells]
        filled.left[:n_cells] = parts.left[:n_cells]
        filled.right[:n_cells] = parts.right[:n_cells]
        fill(n, filled, no_marks())
        outside(n, parts, filled, outer)
        marks = mark_tree(gold, forbidden) if data.by_productions else no_marks()
        worst = _find_worst(n, data, gold, parts, filled, outer, marks)
        nodes = _with_room(nodes, write, size * size)
        for c in range(size):
            if worst.values[c] > 0.0:
                begin, end, label = worst.nodes[c, 0], worst.nodes[c, 1], worst.nodes[c, 2]
                errors[place + c] = data.costs[label]
                out = nodes[write : write + size]
                split = (c + 1) // 2 if end - begin > 1 else 0
                tree_through(n, begin, end, label, split, parts, filled, outer, marks, out)
                write += size
        place += size
    return errors, nodes[:write]


@kernel
def _with_room(nodes: IntMatrix, used: int, wanted: int) -> IntMatrix:
    """The nodes with room for `wanted` more after the first `used`."""
    if len(nodes) >= used + wanted:
        return nodes
    larger = np.empty((2 * (used + wanted), 3), dtype=np.int32)
    larger[:used] = nodes[:used]
    return larger
