"""Errors of dependency trees: a cost for each wrong head, and one for each wrong label at the right head.

Δ(y) = Σ_m head_cost [h_m wrong] + label_cost [h_m right, l_m wrong]
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.examples import whole_costs
from widemargin.structures.dependencies import ArcScores


@kernel
def _fill(
    indptr: LongVector,
    gold: IntVector,
    n_labels: int,
    costs: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    room: ArcScores,
) -> None:
    folded = len(room.labels) > 0
    for k in range(len(batch)):
        first, size = indptr[batch[k]], room.sizes[k] + 1
        for row in range(room.starts[k], room.starts[k] + size * size):
            cost = scales[k] * costs[0]
            for column in range(room.arcs.shape[1]):
                room.arcs[row, column] = cost
            if folded:
                room.labels[row] = -1
        for m in range(1, size if scales[k] != 0.0 else 1):
            head, label = gold[first + m - 1] // n_labels, gold[first + m - 1] % n_labels
            row = room.starts[k] + head * size + m
            for column in range(room.arcs.shape[1]):
                room.arcs[row, column] = scales[k] * costs[1]
            if folded:
                room.labels[row] = label
            else:
                room.arcs[row, label] = 0.0


@kernel
def _errors(
    indptr: LongVector, gold: IntVector, n_labels: int, costs: FloatVector, batch: IntVector, outputs: IntVector
) -> FloatVector:
    errors, read = np.zeros(len(batch)), 0
    for k in range(len(batch)):
        for t in range(indptr[batch[k]], indptr[batch[k] + 1]):
            if gold[t] // n_labels != outputs[read] // n_labels:
                errors[k] += costs[0]
            elif gold[t] != outputs[read]:
                errors[k] += costs[1]
            read += 1
    return errors


class ArcCosts:
    """Costs of arcs and labels (`structures.parts.Costs`).

    In folded scores, the cost of an arc is that of all its labels but the one in `labels`, which costs nothing; −1 is
    none.

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the words
    gold : the code of each word's arc; empty without gold
    n_labels : how many labels arcs have
    costs : of a wrong head, and of a wrong label at the right head
    """

    def __init__(self, indptr: LongVector, gold: IntVector, n_labels: int, costs: FloatVector) -> None:
        self.indptr, self.gold, self.n_labels, self.costs = indptr, gold, n_labels, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: ArcScores) -> None:
        """Write the costs of arcs with their labels, times each example's scale."""
        _fill(self.indptr, self.gold, self.n_labels, self.costs, batch, scales, room)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of trees laid end to end."""
        return _errors(self.indptr, self.gold, self.n_labels, self.costs, batch, outputs)

    def whole(self) -> tuple["ArcCosts", float]:
        """The costs in units."""
        costs, unit = whole_costs(self.costs)
        return ArcCosts(self.indptr, self.gold, self.n_labels, costs.astype(np.float64)), unit

    def most(self) -> FloatVector:
        """The error with all heads wrong."""
        return np.diff(self.indptr) * float(self.costs.max())
