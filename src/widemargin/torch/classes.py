"""One class for each example: scores (B, L), outputs (B,). The losses are those of multi-class SVMs and softmax."""

from typing import ClassVar

from widemargin._types import AnyArray, LongVector
from widemargin.errors import DataError
from widemargin.structures import classes
from widemargin.torch.flat import Extents, Padded
from widemargin.torch.tensors import Arrays, Tensors, check_shape


class Classes(Padded):
    """One of L classes for each example.

    Scores are one tensor (B, L), outputs (B,) numbers of classes.

    >>> import torch
    >>> Classes().decode(torch.tensor([[0.0, 2.0, 1.0]]))
    tensor([1])
    """

    names: ClassVar[tuple[str, ...]] = ("scores of classes",)

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensor with its shape checked."""
        if len(scores) != 1:
            raise DataError(f"Classes takes one tensor of scores, not {len(scores)}")
        check_shape(self.names[0], scores[0], "B", "L")
        return scores

    def longest(self, scores: Tensors | Arrays) -> int:
        """One class an example."""
        return 1

    def structure(self, scores: Arrays) -> classes.Classes:
        """One of L classes."""
        return classes.Classes(scores[0].shape[1])

    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """All classes."""
        return ((),)

    def codes(self, scores: Arrays, outputs: AnyArray) -> AnyArray:
        """A row of one class for each example."""
        return outputs[..., None]

    def shown(self, scores: Arrays, codes: AnyArray) -> AnyArray:
        """The class itself."""
        return codes[..., 0]

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a class for each example."""
        B, L = scores[0].shape
        if outputs.shape != (B,):
            raise DataError(f"{name} must have the shape ({B},), not {outputs.shape}")
        for wrong in outputs[(outputs < 0) | (outputs >= L)][:1]:
            raise DataError(f"{name} has the class {wrong}, but there are {L} classes")
