"""One class for each example: scores (B, L), outputs (B,). The losses are those of multi-class SVMs and softmax."""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.structures import classes
from widemargin.torch.decoding import Batch
from widemargin.torch.flat import Flat
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Classes(Flat):
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

    def longest(self, scores: Tensors) -> int:
        """One class an example."""
        return 1

    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a class for each example."""
        scores = batch.scores[0]
        if outputs.shape != (len(scores),):
            raise DataError(f"{name} must have the shape ({len(scores)},), not {outputs.shape}")
        if len(outputs) and not 0 <= outputs.min() <= outputs.max() < scores.shape[1]:
            wrong = next(each for each in outputs.tolist() if not 0 <= each < scores.shape[1])
            raise DataError(f"{name} has the class {wrong}, but there are {scores.shape[1]} classes")

    def flat(self, batch: Batch) -> tuple[classes.Classes, classes.ClassScores]:
        """A row for each example."""
        scores, ones = doubles(batch.scores[0]), np.ones(len(batch.lengths), dtype=np.int64)
        return classes.Classes(scores.shape[1]), classes.ClassScores(np.arange(len(ones)), ones, scores)

    def shaped(self, batch: Batch, counts: FloatMatrix) -> Arrays:
        """The probabilities of classes."""
        return (counts,)

    def inside(self, structure: classes.Classes, batch: Batch) -> AnyArray:
        """There is no padding."""
        return np.ones(len(batch.lengths), dtype=bool)

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add each weight to its class."""
        into[0][np.arange(len(outputs)), outputs] += weights
