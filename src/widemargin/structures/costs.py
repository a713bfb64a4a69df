"""Costs of parts that several tasks share.

    by label   Δ(y) = Σ_t costs[truth_t, y_t],   position by position
    by kind    Δ(y) = unit_i · (constant_i + Σ costs[kind] over the parts of y)

If gold parts have negative costs, the constant makes the error of gold 0.
"""

from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import boundaries, sums
from widemargin.errors import DataError
from widemargin.structures.flat import Flat, InUnits, Numbers, Scores


@kernel
def _fill(
    indptr: LongVector,
    truth: IntVector,
    costs: FloatMatrix,
    batch: IntVector,
    scales: FloatVector,
    starts: LongVector,
    scores: FloatVector,
) -> None:
    n_labels = costs.shape[1]
    for k in range(len(batch)):
        scale, first = scales[k], indptr[batch[k]]
        for t in range(first, indptr[batch[k] + 1]):
            begin = starts[k] + (t - first) * n_labels
            row = scores[begin : begin + n_labels]
            if scale == 0.0:
                for label in range(len(row)):
                    row[label] = 0.0
            else:
                own = costs[truth[t]]
                for label in range(len(row)):
                    row[label] = scale * own[label]
        end = starts[k + 1] if k + 1 < len(batch) else len(scores)
        for pair in range(starts[k] + (indptr[batch[k] + 1] - first) * n_labels, end):  # pairs cost nothing
            scores[pair] = 0.0


@kernel
def _errors(
    indptr: LongVector, truth: IntVector, costs: FloatMatrix, batch: IntVector, outputs: IntVector
) -> FloatVector:
    errors, read = np.zeros(len(batch)), 0
    for k in range(len(batch)):
        for t in range(indptr[batch[k]], indptr[batch[k] + 1]):
            errors[k] += costs[truth[t], outputs[read]]
            read += 1
    return errors


class LabelCosts(InUnits):
    """Costs of labels (`structures.parts.Costs`).

    Parameters
    ----------
    indptr : (n + 1,) where each example begins among the positions
    truth : the row of `costs` for each position: its gold label, or a row for a set of labels; empty without gold
    costs : (≥ L, L) error of predicting the column's label if the row is right
    """

    def __init__(self, indptr: LongVector, truth: IntVector, costs: FloatMatrix) -> None:
        self.indptr, self.truth, self.costs = indptr, truth, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of labels, times each example's scale."""
        _fill(self.indptr, self.truth, self.costs, batch, scales, room.starts, room.own)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of labels laid end to end."""
        return _errors(self.indptr, self.truth, self.costs, batch, outputs)

    def most(self) -> FloatVector:
        """The error with the most expensive labels."""
        return sums(self.costs.max(axis=1)[self.truth], self.indptr)

    def check(self, n_labels: int, gold: IntVector) -> None:
        """Raise unless gold labels and costs fit together, because kernels do not check."""
        n_positions, costs, truth = int(self.indptr[-1]), self.costs, self.truth
        if len(gold) and not (len(gold) == n_positions and 0 <= gold.min() <= gold.max() < n_labels):
            raise DataError(f"gold must hold {n_positions} label numbers from 0 to {n_labels - 1}")
        n_rows = n_labels if truth is gold else max(n_labels, len(costs))
        if costs.shape != (n_rows, n_labels) or np.diagonal(costs).any():
            raise DataError(f"costs must be {n_rows} × {n_labels} with zeros for right labels")
        if truth is gold:
            return
        if len(truth) != len(gold) or (len(truth) and not 0 <= truth.min() <= truth.max() < n_rows):
            raise DataError(f"truth must hold {len(gold)} rows of costs from 0 to {n_rows - 1}")
        if costs[truth, gold].any():
            raise DataError("a gold label has a cost where it is right")


@kernel
def _kind_fill(
    begins: LongVector,
    kinds: AnyArray,
    costs: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    starts: LongVector,
    own: FloatVector,
) -> None:
    for k in range(len(batch)):
        scale, of_parts = scales[k], kinds[begins[batch[k]] : begins[batch[k] + 1]]
        target = own[starts[k] : starts[k] + len(of_parts)]
        if scale == 0.0:
            target[:] = 0.0
            continue
        for p in range(len(target)):
            target[p] = scale * costs[of_parts[p]]


@kernel
def _kind_errors(
    begins: LongVector, kinds: AnyArray, costs: FloatVector, batch: IntVector, parts: Numbers
) -> FloatVector:
    errors = np.zeros(len(batch))
    for k in range(len(batch)):
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            if parts.numbers[j] >= 0:
                errors[k] += costs[kinds[begins[batch[k]] + parts.numbers[j]]]
    return errors


class KindCosts:
    """Costs of parts (`structures.parts.Costs`).

    Parameters
    ----------
    structure, sizes : the structure and the sizes of its examples
    kinds : the kind of every part of all examples, end to end
    costs : the cost of a part of each kind
    constants, units : the constant and the unit of each example
    """

    def __init__(
        self,
        structure: Flat,
        sizes: LongVector,
        kinds: AnyArray,
        costs: FloatVector,
        constants: FloatVector | float = 0.0,
        units: FloatVector | float = 1.0,
    ) -> None:
        self.structure, self.sizes, self.kinds, self.costs = structure, sizes, kinds, costs
        self.constants, self.units = np.broadcast_to(constants, sizes.shape), np.broadcast_to(units, sizes.shape)
        self.begins = boundaries(structure.n_own(sizes))

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of parts, times each example's scale."""
        _kind_fill(self.begins, self.kinds, self.costs, batch, scales * self.units[batch], room.starts, room.own)

    def errors(self, batch: IntVector, outputs: AnyArray) -> FloatVector:
        """The errors of outputs laid end to end."""
        parts = self.structure.parts(self.sizes[batch], outputs)
        found = self.constants[batch] + _kind_errors(self.begins, self.kinds, self.costs, batch, parts)
        errors: FloatVector = self.units[batch] * found
        return errors


@kernel
def cost_row(code: int, head: int, costs: FloatVector, scale: float, row: FloatVector) -> None:
    """Write the costs of all labels of an arc from this head; `code` is that of the gold arc, −1 for none."""
    right = code // len(row) == head
    cost = scale * costs[1 if right else 0]
    for label in range(len(row)):
        row[label] = cost
    if right:
        row[code % len(row)] = 0.0


@kernel
def _arc_fill(
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
def _arc_errors(
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


class ArcCosts(InUnits):
    """Costs of arcs and labels (`structures.parts.Costs`); triples cost nothing.

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the words
    gold : the code of each word's arc; empty without gold
    structure : the kind of trees
    costs : of a wrong head, and of a wrong label at the right head
    """

    def __init__(self, indptr: LongVector, gold: IntVector, structure: Any, costs: FloatVector) -> None:
        self.indptr, self.gold, self.structure, self.costs = indptr, gold, structure, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of arcs with their labels, times each example's scale."""
        n_labels, n_own = self.structure.n_labels, self.structure.n_own(room.sizes)
        _arc_fill(self.indptr, self.gold, n_labels, self.costs, batch, scales, n_own, room)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of trees laid end to end."""
        return _arc_errors(self.indptr, self.gold, self.structure.n_labels, self.costs, batch, outputs)

    def most(self) -> FloatVector:
        """The error with all heads wrong."""
        return np.diff(self.indptr) * float(self.costs.max())
