"""Errors of dependency trees: a cost for each wrong head, and one for each wrong label at the right head.

Δ(y) = Σ_m head_cost [h_m wrong] + label_cost [h_m right, l_m wrong]
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.examples import whole_costs
from widemargin.structures.dependencies import Dependencies
from widemargin.structures.flat import Scores


@kernel
def cost_row(code: int, head: int, costs: FloatVector, scale: float, row: FloatVector) -> None:
    """Write the costs of all labels of an arc from this head; `code` is the gold arc's, −1 for none."""
    right = code // len(row) == head
    cost = scale * costs[1 if right else 0]
    for label in range(len(row)):
        row[label] = cost
    if right:
        row[code % len(row)] = 0.0


@kernel
def _fill(
    indptr: LongVector,
    gold: IntVector,
    n_labels: int,
    costs: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    n_own: LongVector,
    room: Scores,
) -> None:
    for k in range(len(batch)):
        first, size = indptr[batch[k]], room.sizes[k] + 1
        own = room.own[room.starts[k] : room.starts[k] + n_own[k]]
        for h in range(size):
            for m in range(size):
                code, at = gold[first + m - 1] if m > 0 and scales[k] != 0.0 else -1, (h * size + m) * n_labels
                cost_row(code, h, costs, scales[k], own[at : at + n_labels])
        for at in range(size * size * n_labels, len(own)):
            own[at] = 0.0


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
    """Costs of arcs and labels (`structures.parts.Costs`); triples cost nothing.

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the words
    gold : the code of each word's arc; empty without gold
    structure : the kind of trees
    costs : of a wrong head, and of a wrong label at the right head
    """

    def __init__(self, indptr: LongVector, gold: IntVector, structure: Dependencies, costs: FloatVector) -> None:
        self.indptr, self.gold, self.structure, self.costs = indptr, gold, structure, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of arcs with their labels, times each example's scale."""
        n_labels, n_own = self.structure.n_labels, self.structure.n_own(room.sizes)
        _fill(self.indptr, self.gold, n_labels, self.costs, batch, scales, n_own, room)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of trees laid end to end."""
        return _errors(self.indptr, self.gold, self.structure.n_labels, self.costs, batch, outputs)

    def whole(self) -> tuple["ArcCosts", float]:
        """The costs in units."""
        costs, unit = whole_costs(self.costs)
        return ArcCosts(self.indptr, self.gold, self.structure, costs.astype(np.float64)), unit

    def most(self) -> FloatVector:
        """The error with all heads wrong."""
        return np.diff(self.indptr) * float(self.costs.max())
