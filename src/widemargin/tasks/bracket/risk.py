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
def node_probabilities(
    data: BracketData, weights: BracketWeights, batch: IntVector, starts: LongVector, out: FloatMatrix
) -> None:
    """Write P(i, j, l) to the rows of `out`: those of an example from `starts` on, by end and then by beginning."""
    charts, rules, n_labels = new_charts(data, batch), rule_scores(data, weights), len(data.costs)
    longest = longest_of(data, batch)
    scratch, found = new_inside(longest, n_labels), new_parts(longest, n_labels)
    parts = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1])
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, charts)
        nodes = out[starts[position] : starts[position + 1]]
        posteriors = TreeParts(nodes, found.left, found.right, found.left_rule, found.right_rule)
        inside_outside(n, parts, posteriors, scratch)


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
    data: BracketData,
    weights: BracketWeights,
    batch: IntVector,
    starts: LongVector,
    probabilities: FloatMatrix,
    tree_starts: LongVector,
    trees: IntMatrix,
) -> None:
    """Write the nodes of the trees with the fewest wrong nodes to be expected; `probabilities` are overwritten."""
    rules, longest, n_labels = rule_scores(data, weights), longest_of(data, batch), len(data.costs)
    n_cells = longest * (longest + 1) // 2
    for side in range(2):
        for child in range(n_labels):
            for label in range(n_labels):
                # What is allowed counts nothing, and what is not stays forbidden.
                rules[side, child, label] = 0.0 if rules[side, child, label] > -np.inf else -np.inf
    for position in range(len(batch)):
        i = batch[position]
        n, nodes = data.indptr[i + 1] - data.indptr[i], probabilities[starts[position] : starts[position + 1]]
        _forbid(data, n, nodes)
        nothing = np.zeros((2, n_cells, n_labels))
        parts = TreeParts(nodes, nothing[0], nothing[1], rules[0], rules[1])
        best_tree(n, parts, no_marks(), trees[tree_starts[position] : tree_starts[position + 1]])
