"""A batch of scores, in terms of which losses are written.

    score(y)        gradient: the part counts of y
    log_partition   gradient: the expected part counts

These two are the only functions with gradients of their own. Structures compute them from flat scores, as in
`widemargin.structures.flat`: one vector for the examples' own parts, another for shared parts. `Layout` says where
these scores are in the user's tensors.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.flat import Numbers, Padding, copy_own, places_of, visit_parts
from widemargin.structures.flat import Scores as FlatScores
from widemargin.torch.tensors import Arrays, Tensors, arrays_of, check_finite, indices_of, split, tensor_of, tensors_of

if TYPE_CHECKING:
    from widemargin.torch.structure import Structure

Scores: TypeAlias = torch.Tensor | Tensors
Extents: TypeAlias = tuple[tuple[LongVector, ...], ...]


@dataclass(frozen=True)
class Layout:
    """The places of the examples' parts in tensors of these shapes, and in flat scores.

    Own parts are numbered in the order of the tensors that have a dimension for examples, row by row, without the
    padding. The tensors after these are shared, in the order of shared parts. Scores are copied only if there is
    padding between the parts of one example.
    """

    structure: Any
    """The structure of parts."""
    lengths: LongVector
    """How long each example is."""
    width: int
    """How many entries padded outputs have."""
    shapes: tuple[torch.Size, ...]
    """The shapes of the tensors."""
    extents: Extents
    """The extent of each example in the dimensions after the first, for each tensor of own scores.

    Dimensions that are not mentioned have no padding.
    """
    starts: LongVector
    """Where the flat scores of examples begin."""
    in_place: bool
    """Whether the one tensor of own scores serves as flat scores without a copy."""

    @cached_property
    def known(self) -> dict[int, tuple[AnyArray, Any]]:
        """Outputs whose parts are known, by their identity, with these parts."""
        return {}

    @cached_property
    def sizes(self) -> LongVector:
        """How many parts of its own each example has."""
        sizes: LongVector = self.structure.n_own(self.lengths)
        return sizes

    @property
    def n_own(self) -> int:
        """How long the vector of own scores is."""
        return self.shapes[0].numel() if self.in_place else int(self.sizes.sum())

    @cached_property
    def inside(self) -> BoolMatrix:
        """Which entries of padded outputs are not padding."""
        inside: BoolMatrix = np.arange(self.width) < self.structure.lengths(self.lengths)[:, None]
        return inside

    @cached_property
    def places(self) -> LongVector:
        """The rows of outputs that are not padding, once examples are joined."""
        places: LongVector = places_of(np.arange(len(self.lengths)) * self.width, self.structure.lengths(self.lengths))
        return places

    def joined(self, outputs: AnyArray) -> AnyArray:
        """Padded outputs end to end, without the padding."""
        return outputs.reshape(-1, *outputs.shape[2:]).take(self.places, axis=0)

    @cached_property
    def paddings(self) -> tuple[Padding, ...]:
        """The places of the parts in each tensor; parts of shared tensors have the same places for all examples."""
        n, found = len(self.lengths), list[Padding]()
        firsts, ones = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
        if self.in_place:
            found.append(Padding(firsts, self.sizes, self.starts, ones, self.sizes, 0, 0))
        for shape, extents in zip(self.shapes, self.extents if not self.in_place else (), strict=False):
            rest, (_, width, length) = shape[1 + len(extents) :].numel(), (1, 1, *shape[1 : 1 + len(extents)])[-3:]
            outer, widths, last = (ones, ones, *extents)[-3:]
            sizes, bases = outer * widths * last * rest, np.arange(n) * shape[1:].numel()
            stride = length * rest
            found.append(Padding(firsts, sizes, bases, widths, last * rest, width * stride, stride))
            firsts = firsts + sizes
        firsts = self.sizes
        for shape in self.shapes[len(self.extents) :]:
            size = np.full(n, shape.numel())
            found.append(Padding(firsts, size, 0 * size, ones, size, 0, 0))
            firsts = firsts + size
        return tuple(found)

    def flat(self, arrays: Arrays) -> tuple[FloatVector, FloatVector]:
        """Own and shared scores of arrays in these shapes; arrays left out at the end count as zero."""
        shared, begin = np.zeros(self.structure.n_shared), 0
        if self.in_place:
            own = np.ascontiguousarray(arrays[0], dtype=np.float64).reshape(-1)
        else:
            own = np.empty(self.n_own)
            for _, padding, array in zip(self.extents, self.paddings, arrays, strict=False):
                copy_own(padding, array.reshape(-1), self.starts, own, False)
        for each in arrays[len(self.extents) :]:
            shared[begin : begin + each.size] = each.reshape(-1)
            begin += each.size
        return own, shared

    def shaped(self, own: FloatVector, shared: AnyArray) -> Arrays:
        """The inverse of `flat`, with zeros in the padding; leading dimensions of `shared` are kept."""
        n = len(self.extents)
        if self.in_place:
            found: Arrays = (own.reshape(self.shapes[0]),)
        else:
            found = tuple(np.zeros(shape) for shape in self.shapes[:n])
            for padding, array in zip(self.paddings, found, strict=False):
                copy_own(padding, array.reshape(-1), self.starts, own, True)
        return *found, *split(shared, self.shapes[n:])

    def add(self, parts: Numbers, weights: FloatVector, into: Arrays) -> None:
        """Add each example's weight at the places of its parts, in the first or in all arrays of these shapes."""
        for padding, array in zip(self.paddings, into, strict=False):
            visit_parts(parts, weights, padding, array.reshape(-1), False)

    def totals(self, parts: Numbers, arrays: Arrays) -> FloatVector:
        """The sum of each example's parts in arrays of these shapes; arrays left out at the end count as zero."""
        totals = np.zeros(len(self.lengths))
        for padding, array in zip(self.paddings, arrays, strict=False):
            visit_parts(parts, totals, padding, array.reshape(-1), True)
        return totals

    def repeated(self, values: AnyArray) -> AnyArray:
        """A number for each example, repeated for its own scores."""
        return np.repeat(values, np.diff(self.starts, append=self.n_own))


class _Totals(torch.autograd.Function):
    """Totals of the examples; `counts` turns their gradients into gradients of the scores, in the same shapes."""

    @staticmethod
    def forward(ctx: Any, totals: FloatVector, counts: Callable[[FloatVector], Arrays], *scores: torch.Tensor) -> Any:
        ctx.counts, ctx.likes = counts, tuple(each.detach() for each in scores)
        return tensor_of(totals, scores[0])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        if torch.is_grad_enabled():  # autograd would treat the gradient as a constant
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
        """The scores in the form of `widemargin.structures.flat`."""
        scores: FlatScores = self.layout.structure.scores(
            self.layout.starts, self.lengths, *self.layout.flat(self.arrays)
        )
        return scores

    @property
    def lengths(self) -> LongVector:
        """How long each example is."""
        return self.layout.lengths

    def tensor(self, array: AnyArray) -> torch.Tensor:
        """An array as a tensor on the device of the scores."""
        return torch.from_numpy(array).to(self.scores[0].device)

    def plus(self, further: torch.Tensor) -> "Scored":
        """The batch with `further` scores added to those of the first tensor."""
        return replace(self, scores=(self.scores[0] + further, *self.scores[1:]))

    def checked(self, outputs: torch.Tensor, name: str = "gold") -> AnyArray:
        """Outputs as an array; raise unless they are outputs of this batch."""
        array = indices_of(outputs, name)
        self.structure.check(self.layout, array, name)
        return array

    def best(self) -> AnyArray:
        """The best output of each example."""
        with self.structure.timed():
            return self.structure.best(self)

    def score(self, outputs: AnyArray) -> torch.Tensor:
        """The scores of outputs, one for each example."""
        parts = self.parts(outputs)
        return self._score(parts, self.structure.totals(self, parts))

    def gold_score(self, gold: AnyArray) -> torch.Tensor:
        """The scores of gold outputs; raise if one is forbidden, because the loss would be infinite."""
        parts = self.parts(gold)
        return self._score(parts, self._check_allowed(self.structure.totals(self, parts)))

    def _score(self, parts: Any, totals: FloatVector) -> torch.Tensor:
        return _totals(totals, lambda weights: self.counts((parts, weights)), *self.scores)

    def difference(self, outputs: AnyArray, gold: AnyArray) -> torch.Tensor:
        """score(output) − score(gold) of each example."""
        parts, right = self.parts(outputs), self.parts(gold)
        totals = self.structure.totals(self, parts) - self._check_allowed(self.structure.totals(self, right))
        return _totals(totals, lambda weights: self.counts((parts, weights), (right, -weights)), *self.scores)

    def log_partition(self) -> torch.Tensor:
        """log Σ_y exp(score(y)) of each example."""
        with self.structure.timed():
            totals, *counts = self.structure.sums(self)
        return self._summed(totals, *counts)

    def cross_entropy(self, log_z: FloatVector, own: FloatVector, shared: FloatMatrix) -> torch.Tensor:
        """−Σ p log q of each example, for q of these scores, with the given log Z, and expected counts under p.

        Parts with an expected count of 0 are skipped, even if forbidden. The gradient treats log Z as constant.
        """
        products = own * np.where(own > 0.0, self.flat.own, 0.0)
        examples = self.layout.repeated(np.arange(len(shared)))
        of_shared = (shared * np.where(shared > 0.0, self.flat.shared, 0.0)).sum(axis=1)
        return self._summed(log_z - np.bincount(examples, products, len(shared)) - of_shared, -own, -shared)

    def parts(self, outputs: AnyArray) -> Any:
        """The parts of outputs, as the structure counts them; costs and scores ask for those of gold."""
        known = self.layout.known
        if id(outputs) not in known:
            known[id(outputs)] = outputs, self.structure.parts_of(self.layout, outputs)
        return known[id(outputs)][1]

    def counts(self, *weighted: tuple[Any, FloatVector]) -> Arrays:
        """The counts of parts, times the weights of the examples, in the shapes of the scores."""
        into = tuple(np.zeros(each.shape, dtype=each.dtype) for each in self.arrays)
        for parts, weights in weighted:
            self.structure.add_counts(self.layout, parts, weights, into)
        return into

    def wrong(self, gold: AnyArray) -> torch.Tensor:
        """The default costs: 1 for each part of the first tensor that gold does not have."""
        costs = np.ones(self.layout.shapes[0], dtype=self.arrays[0].dtype)
        self.structure.add_counts(self.layout, self.parts(gold), np.full(len(gold), -1.0), (costs,))
        return tensor_of(costs, self.scores[0])

    def costs(self, gold: AnyArray, given: torch.Tensor | float | None) -> torch.Tensor:
        """The costs of parts: a `given` tensor; otherwise `wrong`, times the given number if there is one."""
        if isinstance(given, torch.Tensor):
            return _shaped(given, self.scores[0], "costs").to(self.scores[0])
        return self.wrong(gold) if given is None else given * self.wrong(gold)

    def errors(self, outputs: AnyArray, costs: torch.Tensor) -> FloatVector:
        """The sum of the costs of each output's parts."""
        return self.structure.totals(replace(self, scores=(costs,)), self.parts(outputs))

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
