"""The probabilities of constituents, and the tree with the fewest wrong nodes to be expected (Goodman 1996).

    p(y) ∝ exp⟨w, φ(x, y)⟩;   P(i, j, l) = the probability that a tree has the node (i, j, l)
    argmax over trees of Σ over their nodes of P(i, j, l)

A tree with 2 n − 1 nodes has 2 n − 1 − Σ P wrong ones on average, so this tree is the one of the least risk. It need
not be the most probable: of two constituents that exclude each other, it has the one that more of the trees have.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntMatrix, IntVector, LongVector
from widemargin.decoders.charts import TreeParts, cell, new_parts, no_marks
from widemargin.decoders.cky import best_tree
from widemargin.decoders.cky_inside import new_inside
from widemargin.decoders.cky_sums import inside_outside
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketWeights,
    kind_of,
    longest_of,
    new_charts,
    part_scores,
    rule_scores,
)


@kernel
def node_probabilities(data: BracketData, weights: BracketWeights, i: int) -> FloatMatrix:
    """P of the nodes of sentence i: a row for each span, in the order of `decoders.charts.cell`."""
    one = np.full(1, i, dtype=np.int32)
    charts, rules, n_labels = new_charts(data, one), rule_scores(data, weights), len(data.costs)
    n = part_scores(data, weights, i, 0.0, charts)
    found = new_parts(n, n_labels)
    parts = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1])
    inside_outside(n, parts, found, new_inside(n, n_labels))
    return found.span


@kernel
def _forbid(data: BracketData, n: int, nodes: FloatMatrix) -> None:
    """Give nodes that no tree may have the score −inf."""
    for j in range(1, n + 1):
        for i in range(j):
            kind = kind_of(i, j, n)
            for label in range(nodes.shape[1]):
                if not data.allowed[kind, label]:
                    nodes[cell(i, j), label] = -np.inf


@kernel
def least_risk(
    data: BracketData, weights: BracketWeights, batch: IntVector, starts: LongVector, trees: IntMatrix
) -> None:
    """Write the nodes of the trees with the fewest wrong nodes to be expected, those of an example from `starts` on."""
    charts, rules, n_labels = new_charts(data, batch), rule_scores(data, weights), len(data.costs)
    longest = longest_of(data, batch)
    scratch, found = new_inside(longest, n_labels), new_parts(longest, n_labels)
    parts = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1])
    # What is allowed counts nothing, and what is not stays forbidden.
    counted = np.where(rules > -np.inf, 0.0, -np.inf)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, charts)
        inside_outside(n, parts, found, scratch)
        _forbid(data, n, found.span)
        n_cells = n * (n + 1) // 2
        found.left[:n_cells], found.right[:n_cells] = 0.0, 0.0
        nodes = TreeParts(found.span, found.left, found.right, counted[0], counted[1])
        best_tree(n, nodes, no_marks(), trees[starts[position] : starts[position + 1]])
