"""A batch of scores: what losses are written in.

    score(y)        gradient: the part counts of y
    log_partition   gradient: the expected part counts

These two are the only functions that autograd has to be told about. Structures compute them of flat scores, as in
`widemargin.structures.flat`: those of the examples' own parts are one vector, those of shared parts another. `Layout`
says where they are in the tensors of users.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.flat import Counts, Numbers, add_parts
from widemargin.structures.flat import Scores as FlatScores
from widemargin.torch.tensors import Arrays, Tensors, arrays_of, check_finite, indices_of, split, tensor_of, tensors_of

if TYPE_CHECKING:
    from widemargin.torch.structure import Structure

Scores: TypeAlias = torch.Tensor | Tensors
Extents: TypeAlias = tuple[tuple[LongVector, ...], ...]


@dataclass(frozen=True)
class Layout:
    """Where the parts of examples are in tensors of these shapes, and in flat scores.

    They are numbered in the order of the examples' own tensors, row by row, without the padding. The tensors after
    those are shared, in the order of shared parts. Scores are copied only if there is padding between the parts of one
    example.
    """

    structure: Any
    """The structure of parts."""
    lengths: LongVector
    """How long each example is."""
    width: int
    """How many entries padded outputs have."""
    shapes: tuple[torch.Size, ...]
    """Those of the tensors."""
    extents: Extents
    """How far the parts of examples reach in the dimensions after the first, for each tensor of their own.

    Dimensions that are not mentioned belong to every example as a whole.
    """
    sizes: tuple[LongVector, ...]
    """How many parts examples have in each of them."""
    starts: LongVector
    """Where the flat scores of examples begin."""
    in_place: bool
    """Whether flat scores are the one tensor of own scores as it is."""

    @property
    def n_own(self) -> int:
        """How long the vector of own scores is."""
        return self.shapes[0].numel() if self.in_place else sum(int(each.sum()) for each in self.sizes)

    @cached_property
    def inside(self) -> BoolMatrix:
        """Which entries of padded outputs are no padding."""
        inside: BoolMatrix = np.arange(self.width) < self.structure.lengths(self.lengths)[:, None]
        return inside

    def flat(self, arrays: Arrays) -> tuple[FloatVector, FloatVector]:
        """Own and shared scores of arrays in these shapes, zero where the last ones are left out."""
        shared = np.zeros(self.structure.n_shared)
        if self.in_place:
            own = np.ascontiguousarray(arrays[0], dtype=np.float64).reshape(-1)
        else:
            own = np.empty(self.n_own)
            for view, begin, end in self._views(arrays):
                own[begin:end].reshape(view.shape)[...] = view
        further = [each.ravel() for each in arrays[len(self.extents) :]]
        if further:
            shared[: sum(map(len, further))] = np.concatenate(further)
        return own, shared

    def shaped(self, own: FloatVector, shared: AnyArray) -> Arrays:
        """The inverse, with zeros in the padding; what comes before the last dimension of `shared` stays."""
        n = len(self.extents)
        if self.in_place:
            found: Arrays = (own.reshape(self.shapes[0]),)
        else:
            found = tuple(np.zeros(shape) for shape in self.shapes[:n])
            for view, begin, end in self._views(found):
                view[...] = own[begin:end].reshape(view.shape)
        return *found, *split(shared, self.shapes[n:])

    def add(self, parts: Numbers, weights: FloatVector, into: Arrays) -> None:
        """Add the weight of each example at the places of its parts in arrays of these shapes."""
        n, shared = len(self.extents), np.zeros(self.structure.n_shared)
        if self.in_place:
            add_parts(parts, self.sizes[0], weights, self.starts, into[0].reshape(-1), shared)
        else:
            examples = np.repeat(np.arange(len(weights)), np.diff(parts.indptr))
            examples, numbers = examples[parts.numbers >= 0], parts.numbers[parts.numbers >= 0]
            for array, extents, sizes in zip(into, self.extents, self.sizes, strict=False):
                here = numbers < sizes[examples]
                b = examples[here]
                # An output has no part of its own twice.
                array.reshape(-1)[_places(array.shape, extents, b, numbers[here])] += weights[b]
                examples, numbers = examples[~here], (numbers - sizes[examples])[~here]
            shared += np.bincount(numbers, weights[examples], len(shared))
        for array, count in zip(into[n:], split(shared, self.shapes[n:]), strict=True):
            array[...] += count

    def repeated(self, values: AnyArray) -> AnyArray:
        """A number for each example, repeated for its own scores."""
        return np.repeat(values, np.diff(self.starts, append=self.n_own))

    def placed(self, counts: Counts) -> AnyArray:
        """Counts of own parts where the scores of these parts are."""
        if len(counts.own) == self.n_own:  # there is no padding, or the counts have it, too
            return counts.own
        own, n_own = np.zeros(self.n_own), self.structure.n_own(self.lengths)
        for to, begin, n in zip(self.starts.tolist(), counts.starts.tolist(), n_own.tolist(), strict=True):
            own[to : to + n] = counts.own[begin : begin + n]
        return own

    def _views(self, arrays: Arrays) -> Iterator[tuple[AnyArray, int, int]]:
        """The parts of each example in each of its own arrays, and from where to where they are in flat scores."""
        begins = self.starts
        for array, extents, sizes in zip(arrays, self.extents, self.sizes, strict=False):
            ends = begins + sizes
            for b, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                place: Any = (b, *(slice(each[b]) for each in extents))
                yield array[place], begin, end
            begins = ends


def _places(shape: Sequence[int], extents: Sequence[LongVector], b: LongVector, numbers: LongVector) -> LongVector:
    """Where the parts of examples b with these numbers are in an array."""
    stride = prod(shape[1 + len(extents) :])
    places, numbers = numbers % stride, numbers // stride
    for extent, width in zip(reversed(extents), reversed(shape[1 : 1 + len(extents)]), strict=True):
        places, numbers = places + numbers % extent[b] * stride, numbers // extent[b]
        stride *= width
    return places + b * stride


class _Totals(torch.autograd.Function):
    """Totals of the examples; `counts` makes of their gradients those of the scores, in the same shapes."""

    @staticmethod
    def forward(ctx: Any, totals: FloatVector, counts: Callable[[FloatVector], Arrays], *scores: torch.Tensor) -> Any:
        ctx.counts, ctx.likes = counts, tuple(each.detach() for each in scores)
        return tensor_of(totals, scores[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        if torch.is_grad_enabled():  # the gradient would be taken for a constant
            raise UnsupportedError("scores of structures have no second derivatives; leave out create_graph=True")
        return None, None, *tensors_of(ctx.counts(gradient.cpu().double().numpy()), ctx.likes)


_totals: Callable[..., torch.Tensor] = _Totals.apply


@dataclass(frozen=True)
class Scored:
    """The scores of a batch under a structure; losses need nothing else."""

    structure: "Structure"
    layout: Layout
    scores: Tensors

    @classmethod
    def of(
        cls,
        structure: "Structure",
        scores: Scores,
        mask: torch.Tensor | None = None,
        allowed: torch.Tensor | None = None,
    ) -> "Scored":
        """Checked scores, with those of parts that are not allowed replaced by −inf."""
        tensors = scores if isinstance(scores, tuple) else (scores,)
        layout = structure.layout(tensors, mask)
        for name, tensor in zip(structure.names, tensors, strict=False):
            check_finite(tensor, name)
        if allowed is not None:
            if allowed.dtype != torch.bool:
                raise DataError(f"allowed must be a tensor of truth values, not {allowed.dtype}")
            forbidden = ~_shaped(allowed, tensors[0], "allowed")
            tensors = (tensors[0].masked_fill(forbidden, -torch.inf), *tensors[1:])
        return cls(structure, layout, tensors)

    @cached_property
    def arrays(self) -> Arrays:
        """The scores as arrays."""
        return arrays_of(self.scores)

    @cached_property
    def flat(self) -> FlatScores:
        """The scores as structures of parts take them."""
        room: FlatScores = self.layout.structure.room(self.lengths[:0])  # those of some have further fields
        own, shared = self.layout.flat(self.arrays)
        return room._replace(starts=self.layout.starts, sizes=self.lengths, own=own, shared=shared)

    @property
    def lengths(self) -> LongVector:
        """How long each example is."""
        return self.layout.lengths

    def tensor(self, array: AnyArray) -> torch.Tensor:
        """An array as a tensor where the scores are."""
        return torch.from_numpy(array).to(self.scores[0].device)

    def plus(self, further: torch.Tensor) -> "Scored":
        """The batch with scores added to those of the first tensor."""
        return replace(self, scores=(self.scores[0] + further, *self.scores[1:]))

    def checked(self, outputs: torch.Tensor, name: str = "gold") -> AnyArray:
        """Outputs as an array; raise if they are no outputs of this batch."""
        array = indices_of(outputs, name)
        self.structure.check(self.layout, array, name)
        return array

    def best(self) -> AnyArray:
        """The best output of each example."""
        with self.structure.timed():
            return self.structure.best(self)

    def score(self, outputs: AnyArray) -> torch.Tensor:
        """The scores of outputs, one for each example."""
        return self._score(outputs, self.structure.totals(self, outputs))

    def gold_score(self, gold: AnyArray) -> torch.Tensor:
        """The scores of gold outputs; raise if one is forbidden: no loss would be finite."""
        return self._score(gold, self._check_allowed(self.structure.totals(self, gold)))

    def _score(self, outputs: AnyArray, totals: FloatVector) -> torch.Tensor:
        return _totals(totals, lambda weights: self.counts((outputs, weights)), *self.scores)

    def difference(self, outputs: AnyArray, gold: AnyArray) -> torch.Tensor:
        """score(output) − score(gold) of each example."""
        totals = self.structure.totals(self, outputs) - self._check_allowed(self.structure.totals(self, gold))
        return _totals(totals, lambda weights: self.counts((outputs, weights), (gold, -weights)), *self.scores)

    def log_partition(self) -> torch.Tensor:
        """log Σ_y exp(score(y)) of each example."""
        with self.structure.timed():
            totals, *counts = self.structure.sums(self)
        return self._summed(totals, *counts)

    def cross_entropy(self, log_z: FloatVector, own: FloatVector, shared: FloatMatrix) -> torch.Tensor:
        """−Σ p log q of each example, for q of these scores, with the given log Z, and expected counts under p.

        Parts that have no share do not count, forbidden or not. The gradient takes log Z for a constant.
        """
        products = own * np.where(own > 0.0, self.flat.own, 0.0)
        examples = self.layout.repeated(np.arange(len(shared)))
        of_shared = (shared * np.where(shared > 0.0, self.flat.shared, 0.0)).sum(axis=1)
        return self._summed(log_z - np.bincount(examples, products, len(shared)) - of_shared, -own, -shared)

    def counts(self, *weighted: tuple[AnyArray, FloatVector]) -> Arrays:
        """The part counts of outputs, times their weights, in the shapes of the scores."""
        into = tuple(np.zeros(each.shape, dtype=each.dtype) for each in self.arrays)
        for outputs, weights in weighted:
            self.structure.add_counts(self.layout, outputs, weights, into)
        return into

    def wrong(self, gold: AnyArray) -> torch.Tensor:
        """The costs by which outputs differ from gold ones: 1 for each part of the first tensor that gold has not."""
        return tensor_of(1.0 + self.counts((gold, np.full(len(gold), -1.0)))[0], self.scores[0])

    def costs(self, gold: AnyArray, given: torch.Tensor | float | None) -> torch.Tensor:
        """The costs of parts: those that are `given`, or else `wrong`, times a number if one is given."""
        if isinstance(given, torch.Tensor):
            return _shaped(given, self.scores[0], "costs").to(self.scores[0])
        return self.wrong(gold) if given is None else given * self.wrong(gold)

    def errors(self, outputs: AnyArray, costs: torch.Tensor) -> FloatVector:
        """The sum of the costs of each output's parts."""
        others = (torch.zeros_like(each) for each in self.scores[1:])
        return self.structure.totals(replace(self, scores=(costs, *others)), outputs)

    def per_example(self, values: AnyArray) -> torch.Tensor:
        """A number for each example, in a shape that multiplies the scores of its parts."""
        first = self.scores[0]
        if first.dim() == 1:
            return tensor_of(self.layout.repeated(values), first)
        return tensor_of(values, first).reshape(-1, *[1] * (first.dim() - 1))

    def _summed(self, totals: FloatVector, own: FloatVector, shared: FloatMatrix) -> torch.Tensor:
        """Totals whose gradients are these counts of each example."""

        def counts(weights: FloatVector) -> Arrays:
            kind = self.arrays[0].dtype
            if self.layout.in_place and self.scores[0].dim() > 1:  # without a weight for each part
                each = own.astype(kind, copy=False).reshape(self.layout.shapes[0])
                scaled = each * weights.astype(kind).reshape(-1, *[1] * (each.ndim - 1))
            else:
                scaled = own * self.layout.repeated(weights)
            return self.layout.shaped(scaled, weights @ shared)

        return _totals(totals, counts, *self.scores)

    def _check_allowed(self, gold_totals: FloatVector) -> FloatVector:
        for b in np.flatnonzero(gold_totals == -np.inf)[:1]:
            raise DataError(f"the gold output of example {b} has a part that is not allowed or scores −inf")
        return gold_totals


def _shaped(tensor: torch.Tensor, like: torch.Tensor, name: str) -> torch.Tensor:
    try:
        return tensor.to(like.device).broadcast_to(like.shape)
    except RuntimeError:
        shapes = tuple(tensor.shape), tuple(like.shape)
        raise DataError(f"{name} of the shape {shapes[0]} cannot be broadcast to {shapes[1]}") from None
