"""Errors that are counted node by node: Δ(ŷ) = Σ of costs[l] over the nodes (i, j, l) of ŷ that the gold tree lacks.

Every binary tree over n words has 2 n − 1 nodes, so this is also the number of gold nodes that are missed, if all cost
the same. With the error of productions (Kummerfeld et al. 2015), a node of several words is right only if it is also
split like the gold one, into halves with the same labels. No half knows the label of the other, so a node counts as
wrong then, and gold productions are marked with what it costs less (`structures.constituents`).
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.examples import whole_costs
from widemargin.decoders.charts import cell, put_marks
from widemargin.structures.constituents import Constituents, TreeScores, marks_of, spans_of


@kernel
def _fill(
    places: LongVector,
    gold: IntMatrix,
    costs: FloatVector,
    halves: bool,
    by_productions: bool,
    batch: IntVector,
    scales: FloatVector,
    room: TreeScores,
) -> None:
    n_labels = len(costs)
    scaled, less = np.empty(n_labels), np.empty(n_labels)
    for k in range(len(batch)):
        spans, marks, scale = spans_of(room, k, n_labels), marks_of(room, k, n_labels, halves), scales[k]
        for label in range(n_labels):
            scaled[label], less[label] = scale * costs[label], -scale * costs[label]
        for at in range(len(spans)):
            for label in range(n_labels):
                spans[at, label] = scaled[label]
        at_halves = room.starts[k] + spans.size
        for part in range(at_halves, at_halves + (2 * spans.size if halves else 0)):
            room.own[part] = 0.0
        for at in range(len(marks.extra)):
            marks.productions[at, 0] = 0
        if scale == 0.0 or len(gold) == 0:
            continue
        nodes = gold[places[batch[k]] : places[batch[k] + 1]]
        for r in range(len(nodes)):
            i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
            if j - i == 1 or not by_productions:
                spans[cell(i, j), label] = 0.0
        if by_productions:
            put_marks(nodes, less, marks)


@kernel
def _same_halves(nodes: IntMatrix, r: int, others: IntMatrix, s: int) -> bool:
    """Whether the nodes r and s of two trees, over the same words, are split alike into halves with the same labels."""
    if nodes[r, 1] - nodes[r, 0] == 1:
        return True
    left = 2 * (nodes[r + 1, 1] - nodes[r, 0])
    if nodes[r + 1, 1] != others[s + 1, 1] or nodes[r + 1, 2] != others[s + 1, 2]:
        return False
    return nodes[r + left, 2] == others[s + left, 2]


@kernel
def _errors(
    places: LongVector,
    gold: IntMatrix,
    costs: FloatVector,
    by_productions: bool,
    batch: IntVector,
    outputs: IntMatrix,
) -> FloatVector:
    errors, read, longest = np.zeros(len(batch)), 0, 0
    for i in batch:
        longest = max(longest, (places[i + 1] - places[i] + 1) // 2)
    rows = np.full(cell(0, longest + 1), -1, dtype=np.int32)
    for k in range(len(batch)):
        right = gold[places[batch[k]] : places[batch[k] + 1]]
        nodes = outputs[read : read + len(right)]
        read += len(right)
        for s in range(len(right)):
            rows[cell(right[s, 0], right[s, 1])] = s
        for r in range(len(nodes)):
            s, label = rows[cell(nodes[r, 0], nodes[r, 1])], nodes[r, 2]
            same = s >= 0 and right[s, 2] == label
            if not same or (by_productions and not _same_halves(nodes, r, right, s)):
                errors[k] += costs[label]
        for s in range(len(right)):
            rows[cell(right[s, 0], right[s, 1])] = -1
    return errors


class NodeCosts:
    """Costs of nodes (`structures.parts.Costs`).

    Parameters
    ----------
    structure : the trees; by productions, nodes with wrong halves are wrong, too
    places : (n + 1,) where the nodes of each gold tree begin
    gold : the nodes of the gold trees, end to end; empty without gold
    costs : (L,) the errors of wrong nodes with each label
    """

    def __init__(self, structure: Constituents, places: LongVector, gold: IntMatrix, costs: FloatVector) -> None:
        self.structure, self.places, self.gold, self.costs = structure, places, gold, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: TreeScores) -> None:
        """Write the costs of nodes, times each example's scale, and mark right productions; halves cost nothing."""
        kind = self.structure.halves, self.structure.by_productions
        _fill(self.places, self.gold, self.costs, *kind, batch, scales, room)

    def errors(self, batch: IntVector, outputs: IntMatrix) -> FloatVector:
        """The costs of the nodes that gold lacks."""
        return _errors(self.places, self.gold, self.costs, self.structure.by_productions, batch, outputs)

    def whole(self) -> tuple["NodeCosts", float]:
        """The costs in units."""
        costs, unit = whole_costs(self.costs)
        return NodeCosts(self.structure, self.places, self.gold, costs.astype(np.float64)), unit

    def most(self) -> FloatVector:
        """The error if all nodes are wrong, and of the most expensive kind."""
        return np.diff(self.places) * float(self.costs.max())
