"""A batch of scores: what losses are written in.

    score(y)        gradient: the part counts of y
    log_partition   gradient: the expected part counts

These two are the only functions that autograd has to be told about.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.torch.tensors import (
    Arrays,
    Batch,
    Tensors,
    array_of,
    arrays_of,
    check_finite,
    indices_of,
    tensor_of,
    tensors_of,
    zeros_like,
)

if TYPE_CHECKING:
    from widemargin.torch.structure import Structure

Scores: TypeAlias = torch.Tensor | Tensors


class _Difference(torch.autograd.Function):
    """score(one) − score(gold) of each example; either may be None and counts nothing then."""

    @staticmethod
    def forward(
        ctx: Any,
        structure: "Structure",
        batch: Batch,
        one: AnyArray | None,
        gold: AnyArray | None,
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        ctx.structure, ctx.lengths, ctx.outputs = structure, batch.lengths, (one, gold)
        ctx.likes = tuple(each.detach() for each in scores)
        totals = np.zeros(len(batch.lengths)) if one is None else structure.totals(batch, one)
        if gold is not None:
            gold_totals = structure.totals(batch, gold)
            _check_allowed(gold_totals)
            totals -= gold_totals
        return tensor_of(totals, scores[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        _check_first_derivative()
        weights = gradient.detach().cpu().double().numpy()
        counts = zeros_like(ctx.likes)
        for output, signed in zip(ctx.outputs, (weights, -weights), strict=True):
            if output is not None:
                ctx.structure.add_counts(ctx.lengths, output, signed, counts)
        return None, None, None, None, *tensors_of(counts, ctx.likes)


def _check_first_derivative() -> None:
    """Raise if the gradient is to be differentiated again: it would be taken for a constant."""
    if torch.is_grad_enabled():
        raise UnsupportedError("scores of structures have no second derivatives; leave out create_graph=True")


def _check_allowed(gold_totals: FloatVector) -> None:
    """Raise if a gold output is forbidden: no loss would be finite."""
    forbidden = np.flatnonzero(gold_totals == -np.inf)
    if len(forbidden):
        raise DataError(f"the gold output of example {forbidden[0]} has a part that is not allowed or scores −inf")


class _Counted(torch.autograd.Function):
    """Totals of the examples whose gradients are these counts; those of shared scores have a dimension for examples."""

    @staticmethod
    def forward(
        ctx: Any,
        structure: "Structure",
        lengths: LongVector,
        totals: FloatVector,
        counts: Arrays,
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        ctx.structure, ctx.lengths, ctx.counts = structure, lengths, counts
        ctx.likes = tuple(each.detach() for each in scores)
        return tensor_of(totals, scores[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        _check_first_derivative()
        gradients = []
        for count, like in zip(tensors_of(ctx.counts, ctx.likes), ctx.likes, strict=True):
            weights = gradient.to(like.dtype)
            if count.dim() > like.dim():
                gradients.append(torch.tensordot(weights, count, dims=1))
            else:
                gradients.append(count * ctx.structure.spread(weights, ctx.lengths, like.dim()))
        return None, None, None, None, *gradients


_difference: Callable[..., torch.Tensor] = _Difference.apply
counted: Callable[..., torch.Tensor] = _Counted.apply


@dataclass(frozen=True)
class Scored:
    """The scores of a batch under a structure; losses need nothing else."""

    structure: "Structure"
    scores: Tensors
    lengths: LongVector

    @classmethod
    def of(
        cls,
        structure: "Structure",
        scores: Scores,
        mask: torch.Tensor | None = None,
        allowed: torch.Tensor | None = None,
    ) -> "Scored":
        """Checked scores, with those of parts that are not allowed replaced by −inf."""
        tensors = structure.prepared(scores if isinstance(scores, tuple) else (scores,))
        scored = cls(structure, tensors, structure.lengths(tensors, mask))
        for name, tensor in zip(structure.names, tensors, strict=False):
            check_finite(tensor, name)
        if allowed is None:
            return scored
        if allowed.dtype != torch.bool:
            raise DataError(f"allowed must be a tensor of truth values, not {allowed.dtype}")
        return scored._with(tensors[0].masked_fill(~scored._shaped(allowed, "allowed"), -torch.inf))

    @cached_property
    def batch(self) -> Batch:
        """The same as arrays."""
        return Batch(arrays_of(self.scores), self.lengths)

    @property
    def device(self) -> torch.device:
        """Where the scores are."""
        return self.scores[0].device

    def plus(self, further: torch.Tensor) -> "Scored":
        """The batch with scores added to those of the first tensor."""
        return self._with(self.scores[0] + further)

    def times(self, factor: float) -> "Scored":
        """The batch with all scores multiplied."""
        return replace(self, scores=tuple(factor * each for each in self.scores))

    def minus(self, other: "Scored") -> "Scored":
        """The batch with all scores of another one subtracted."""
        return replace(self, scores=tuple(a - b for a, b in zip(self.scores, other.scores, strict=True)))

    def checked(self, outputs: torch.Tensor, name: str = "gold") -> AnyArray:
        """Outputs as an array; raise if they are no outputs of this batch."""
        array = indices_of(outputs, name)
        self.structure.check(self.scores, self.lengths, array, name)
        return array

    def best(self) -> AnyArray:
        """The best output of each example."""
        with self.structure.timed():
            return self.structure.best(self.batch)

    def score(self, outputs: AnyArray) -> torch.Tensor:
        """The scores of outputs, one for each example."""
        return _difference(self.structure, self.batch, outputs, None, *self.scores)

    def gold_score(self, gold: AnyArray) -> torch.Tensor:
        """The scores of gold outputs, which must not be forbidden."""
        return -_difference(self.structure, self.batch, None, gold, *self.scores)

    def difference(self, outputs: AnyArray, gold: AnyArray) -> torch.Tensor:
        """score(output) − score(gold) of each example."""
        return _difference(self.structure, self.batch, outputs, gold, *self.scores)

    def log_partition(self) -> torch.Tensor:
        """log Σ_y exp(score(y)) of each example."""
        with self.structure.timed():
            totals, expectations = self.structure.sums(self.batch)
        return counted(self.structure, self.lengths, totals, expectations, *self.scores)

    def wrong(self, gold: AnyArray) -> torch.Tensor:
        """The costs by which outputs differ from gold ones: 1 for each part of the first tensor that gold has not."""
        counts = zeros_like(self.scores)
        self.structure.add_counts(self.lengths, gold, np.full(len(self.lengths), -1.0), counts)
        counts[0][...] += 1.0
        return tensor_of(counts[0], self.scores[0])

    def costs(self, gold: AnyArray, given: torch.Tensor | float | None) -> torch.Tensor:
        """The costs of parts: those that are `given`, or else `wrong`, times a number if one is given."""
        if isinstance(given, torch.Tensor):
            return self._shaped(given, "costs").to(self.scores[0])
        return self.wrong(gold) if given is None else given * self.wrong(gold)

    def errors(self, outputs: AnyArray, costs: torch.Tensor) -> FloatVector:
        """The sum of the costs of each output's parts."""
        return self.structure.totals(Batch((array_of(costs), *zeros_like(self.scores[1:])), self.lengths), outputs)

    def per_example(self, values: AnyArray) -> torch.Tensor:
        """A number for each example, in a shape that multiplies the scores of its parts."""
        first = self.scores[0]
        return self.structure.spread(tensor_of(values, first), self.lengths, first.dim())

    def _with(self, first: torch.Tensor) -> "Scored":
        return replace(self, scores=(first, *self.scores[1:]))

    def _shaped(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        shape = self.scores[0].shape
        try:
            return tensor.to(self.device).broadcast_to(shape)
        except RuntimeError:
            raise DataError(
                f"{name} of the shape {tuple(tensor.shape)} cannot be broadcast to {tuple(shape)}"
            ) from None
