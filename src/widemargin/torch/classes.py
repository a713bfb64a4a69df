"""One class for each example: scores (B, L), outputs (B,). The losses are those of multi-class SVMs and softmax."""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Classes(Structure):
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

    def best(self, batch: Batch) -> AnyArray:
        """The best class of each example."""
        return batch.scores[0].argmax(axis=1).astype(np.int32)

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these classes."""
        return doubles(batch.scores[0][np.arange(len(outputs)), outputs])

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add each weight to its class."""
        into[0][np.arange(len(outputs)), outputs] += weights

    def sums(self, batch: Batch) -> Sums:
        """Logarithms of sums, and probabilities."""
        scores = doubles(batch.scores[0])
        top = scores.max(axis=1, keepdims=True)
        exponentials = np.exp(scores - np.where(top == -np.inf, 0.0, top))
        mass = exponentials.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            totals = top[:, 0] + np.log(mass[:, 0])
        return Sums(totals, (exponentials / np.where(mass > 0.0, mass, 1.0),))

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best classes; the lowest comes first in a tie."""
        scores = doubles(batch.scores[0])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        totals = np.full((len(scores), k), -np.inf)
        totals[:, : order.shape[1]] = np.take_along_axis(scores, order, axis=1)
        outputs = self.padded(batch, k)
        outputs[:, : order.shape[1]] = order
        outputs[totals == -np.inf] = -1
        return outputs, totals
