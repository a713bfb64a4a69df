"""Structures over one vector of scores for each example: one of several classes, and outputs of the user's solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.errors import DataError
from widemargin.structures import classes
from widemargin.structures.flat import Flat
from widemargin.structures.flat import Scores as FlatScores
from widemargin.torch.scored import Extents, Layout, Scored
from widemargin.torch.structure import Padded
from widemargin.torch.tensors import Arrays, Tensors, check_outputs, check_shape


class _Vectors(Padded):
    """Structures over one tensor that has no padding."""

    dimensions: ClassVar[tuple[str, ...]]

    def prepared(self, scores: Tensors) -> tuple[Any, int]:
        """The structure of parts over vectors of this size."""
        check_shape(self.names[0], scores[0], *self.dimensions)
        return self.parts(scores[0].shape[1]), 1

    def parts(self, size: int) -> Any:
        """The structure of parts."""
        return classes.Classes(size)

    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """All of the vector."""
        return ((),)


class Classes(_Vectors):
    """One of L classes for each example; the losses are those of multi-class SVMs and softmax.

    Scores are one tensor (B, L), outputs (B,) numbers of classes.

    >>> import torch
    >>> Classes().decode(torch.tensor([[0.0, 2.0, 1.0]]))
    tensor([1])
    """

    names: ClassVar[tuple[str, ...]] = ("scores of classes",)
    dimensions: ClassVar[tuple[str, ...]] = ("B", "L")

    def codes(self, layout: Layout, outputs: AnyArray) -> AnyArray:
        """A row of one class for each example."""
        return outputs[..., None]

    def shown(self, layout: Layout, codes: AnyArray) -> AnyArray:
        """The class itself."""
        return codes[..., 0]

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless there is a class for each example."""
        B, L = layout.shapes[0]
        check_outputs(name, outputs, B)
        for wrong in outputs[(outputs < 0) | (outputs >= L)][:1]:
            raise DataError(f"{name} has the class {wrong}, but there are {L} classes")


@dataclass(frozen=True, slots=True)
class _Solved(Flat):
    """Whole-number vectors of `size` entries, the best of which `solve` finds."""

    size: int
    solve: Callable[[FloatVector], AnyArray]

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each entry."""
        return np.full(len(sizes), self.size)

    def lengths(self, sizes: LongVector) -> LongVector:
        """All entries."""
        return np.full(len(sizes), self.size)

    def best(self, scores: FlatScores) -> IntVector:
        """The outputs that `solve` finds."""
        outputs = np.empty((len(scores.sizes), self.size), dtype=np.int32)
        for row, each in zip(outputs, scores.own.reshape(outputs.shape), strict=True):
            solution = np.asarray(self.solve(each))
            if solution.shape != each.shape:
                raise DataError(f"solve returned the shape {solution.shape} for {len(each)} scores")
            row[:] = solution
        return outputs.ravel()


class Oracle(_Vectors):
    """Your own structure: any function that maximises ⟨scores, y⟩, such as a solver of shortest paths or knapsacks.

    Outputs are whole-number vectors y, (B, d), and `solve` finds the best: argmax_y ⟨scores, y⟩, for scores (B, d).

    Parameters
    ----------
    solve
        Called with the scores of one example, a float64 vector, −inf for entries that are not allowed; returns y.

    >>> import torch
    >>> two_of_three = Oracle(lambda scores: scores > np.sort(scores)[0])
    >>> two_of_three.decode(torch.tensor([[3.0, 1.0, 2.0]]))
    tensor([[1, 0, 1]])
    """

    names: ClassVar[tuple[str, ...]] = ("scores",)
    dimensions: ClassVar[tuple[str, ...]] = ("B", "d")

    def __init__(self, solve: Callable[[FloatVector], AnyArray]) -> None:
        super().__init__()
        self.solve = solve

    def parts(self, size: int) -> _Solved:
        """Vectors that `solve` finds."""
        return _Solved(size, self.solve)

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise if the outputs have another shape than the scores."""
        shape = tuple(layout.shapes[0])
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape} of the scores, not {outputs.shape}")

    def parts_of(self, layout: Layout, outputs: AnyArray) -> AnyArray:
        """Each y as it is; its entries may be any numbers, not only 0 and 1."""
        return outputs

    def totals(self, scored: Scored, parts: AnyArray) -> FloatVector:
        """⟨scores, y⟩; entries where y is 0 do not count, even if they are forbidden."""
        scores = scored.flat.own.reshape(parts.shape)
        return np.sum(np.multiply(scores, parts, where=parts != 0, out=np.zeros(parts.shape)), axis=1)

    def add_counts(self, layout: Layout, parts: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add each y times its weight."""
        into[0][...] += weights[:, None] * parts
