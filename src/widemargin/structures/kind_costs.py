"""Errors that every part has by its kind: Δ(y) = unit_i · (constant_i + Σ costs[kind] over the parts of y).

A constant makes the error of gold 0 where its parts count against errors instead of those of others for them.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.structures.flat import Flat, Numbers, Scores


@kernel
def _fill(
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
def _errors(begins: LongVector, kinds: AnyArray, costs: FloatVector, batch: IntVector, parts: Numbers) -> FloatVector:
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
    structure, sizes : whose parts they are
    kinds : the kind of every part of all examples, end to end
    costs : what a part of each kind costs
    constants, units : those of each example
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
        _fill(self.begins, self.kinds, self.costs, batch, scales * self.units[batch], room.starts, room.own)

    def errors(self, batch: IntVector, outputs: AnyArray) -> FloatVector:
        """The errors of outputs laid end to end."""
        parts = self.structure.parts(self.sizes[batch], outputs)
        found = self.constants[batch] + _errors(self.begins, self.kinds, self.costs, batch, parts)
        errors: FloatVector = self.units[batch] * found
        return errors
