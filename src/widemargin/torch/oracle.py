"""A structure of your own: any function that maximises ⟨scores, y⟩, such as a solver of shortest paths or knapsacks."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Batch, Tensors, check_shape, doubles, lengths_of


class Oracle(Structure):
    """Outputs are whole-number vectors y, (B, d), and `solve` finds the best: argmax_y ⟨scores, y⟩, for scores (B, d).

    Parameters
    ----------
    solve
        Called with the scores of one example, a float64 vector, −inf where something is not allowed; returns y.

    >>> two_of_three = Oracle(lambda scores: scores > np.sort(scores)[0])
    >>> two_of_three.decode(torch.tensor([[3.0, 1.0, 2.0]]))
    tensor([[1, 0, 1]])
    """

    names: ClassVar[tuple[str, ...]] = ("scores",)

    def __init__(self, solve: Callable[[FloatVector], AnyArray]) -> None:
        super().__init__()
        self.solve = solve

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensor with its shape checked."""
        if len(scores) != 1:
            raise DataError(f"Oracle takes one tensor of scores, not {len(scores)}")
        check_shape(self.names[0], scores[0], "B", "d")
        return scores

    def lengths(self, scores: Tensors, mask: torch.Tensor | None) -> LongVector:
        """Examples have no padding."""
        return lengths_of(mask, len(scores[0]), 1)

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if the outputs have another shape than the scores."""
        shape = tuple(scores[0].shape)
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape} of the scores, not {outputs.shape}")

    def best(self, batch: Batch) -> AnyArray:
        """What `solve` finds."""
        scores = doubles(batch.scores[0])
        outputs = np.empty(scores.shape, dtype=np.int32)
        for row, each in zip(outputs, scores, strict=True):
            solution = np.asarray(self.solve(each))
            if solution.shape != each.shape:
                raise DataError(f"solve returned the shape {solution.shape} for {len(each)} scores")
            row[:] = solution
        return outputs

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """⟨scores, y⟩; what y does not have does not count, forbidden or not."""
        return np.sum(np.multiply(batch.scores[0], outputs, where=outputs != 0, out=np.zeros(outputs.shape)), axis=1)

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add each y times its weight."""
        into[0][...] += weights[:, None] * outputs
