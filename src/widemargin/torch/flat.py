"""From tensors to the flat part scores of `widemargin.structures`, and back: written once for all structures of parts.

The first tensors of scores are the examples' own, the others are shared. A padded structure says how far the parts of
an example reach in its own tensors. They are numbered in the order of these tensors, row by row, without the padding.
Scores are copied only if they are no float64, or if there is padding between the parts of one example.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch

from widemargin._threads import run, shares
from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.structures.flat import Counts
from widemargin.structures.flat import Scores as FlatScores
from widemargin.torch.structure import Structure, Sums
from widemargin.torch.tensors import Arrays, Batch, Tensors, check_shape, doubles, lengths_of, split

T = TypeVar("T")
Extents: TypeAlias = tuple[tuple[LongVector, ...], ...]


class Layout(NamedTuple):
    """Where the parts of examples are in tensors."""

    structure: Any
    """The structure of parts."""
    extents: Extents
    """How far the parts of examples reach in each of their own tensors (`Padded.extents`)."""
    sizes: tuple[LongVector, ...]
    """How many parts examples have in each of them."""
    starts: LongVector
    """Where the flat scores of examples begin."""
    in_place: bool
    """Whether flat scores are the one tensor of own scores as it is."""

    def some(self, part: slice) -> "Layout":
        """The layout of some of the examples."""
        extents = tuple(tuple(each[part] for each in every) for every in self.extents)
        return self._replace(extents=extents, sizes=tuple(each[part] for each in self.sizes))


class Flat(Structure):
    """A structure of `widemargin.structures` over the scores of tensors."""

    @abstractmethod
    def layout(self, scores: Arrays, lengths: LongVector) -> Layout:
        """Where the parts of examples are in scores of these shapes."""

    @abstractmethod
    def widest(self, layout: Layout, scores: Arrays, lengths: LongVector) -> int:
        """How many entries padded outputs have."""

    def work(self, batch: Batch) -> FloatVector | None:
        """About how many microseconds each example takes; None if threads are never worth it."""
        return None

    def codes(self, scores: Arrays, outputs: AnyArray) -> AnyArray:
        """Padded outputs as the structure of parts has them."""
        return outputs

    def shown(self, scores: Arrays, codes: AnyArray) -> AnyArray:
        """Padded outputs of the structure of parts as users see them."""
        return codes

    def flat(self, batch: Batch) -> tuple[Layout, FlatScores]:
        """The layout and the flat scores of a batch, computed once."""
        if "flat" not in batch.kept:
            layout = self.layout(batch.scores, batch.lengths)
            own = doubles(batch.scores[0]).reshape(-1) if layout.in_place else _joined(batch.scores, layout)
            shared, at = np.zeros(layout.structure.n_shared), 0
            for each in batch.scores[len(layout.extents) :]:
                shared[at : at + each.size] = each.ravel()
                at += each.size
            room = layout.structure.room(batch.lengths[:0])  # scores of some structures have further fields
            scores = room._replace(starts=layout.starts, sizes=batch.lengths, own=own, shared=shared)
            batch.kept["flat"] = layout, scores
        found: tuple[Layout, FlatScores] = batch.kept["flat"]
        return found

    def best(self, batch: Batch) -> AnyArray:
        """The best output of each example."""
        found = self._of_shares(batch, lambda structure, scores: structure.best(scores))
        return self._padded(batch, np.concatenate(found), self._inside(self.flat(batch)[0], batch))

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best outputs of each example."""
        layout = self.flat(batch)[0]
        if not hasattr(layout.structure, "best_k"):
            return super().best_k(batch, k)
        found = self._of_shares(batch, lambda structure, scores: structure.best_k(scores, k))
        counts, of_all, outputs = (np.concatenate(each) for each in zip(*found, strict=True))
        present, totals = np.arange(k) < counts[:, None], np.full((len(counts), k), -np.inf)
        totals[present] = of_all
        inside = present[..., None] & self._inside(layout, batch)[:, None]
        return self._padded(batch, outputs, inside), totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these outputs."""
        layout, scores = self.flat(batch)
        codes = self.codes(batch.scores, outputs)[self._inside(layout, batch)]
        totals: FloatVector = layout.structure.total(scores, codes)
        return totals

    def sums(self, batch: Batch) -> Sums:
        """Sums over all outputs."""
        layout, expectations, first = self.flat(batch)[0], list[Arrays](), 0
        if not hasattr(layout.structure, "sums"):
            return super().sums(batch)
        found = self._of_shares(batch, lambda structure, scores: structure.sums(scores))
        for log_z, counts in found:
            part = layout.some(slice(first, first + len(log_z)))
            expectations.append(_shaped(batch.scores, part, counts))
            first += len(log_z)
        joined = expectations[0] if len(found) == 1 else tuple(map(np.concatenate, zip(*expectations, strict=True)))
        return Sums(np.concatenate([log_z for log_z, _ in found]), joined)

    def draws(self, batch: Batch, n: int, rng: np.random.Generator) -> AnyArray:
        """`n` outputs of each example, drawn at random."""
        layout, scores = self.flat(batch)
        if not hasattr(layout.structure, "sample"):
            return super().draws(batch, n, rng)
        drawn, inside = layout.structure.sample(scores, n, rng), self._inside(layout, batch)
        everywhere = np.broadcast_to(inside, (n, *inside.shape))
        found = self._padded(batch, drawn.reshape(-1, *drawn.shape[2:]), everywhere)
        return np.ascontiguousarray(np.swapaxes(found, 0, 1))

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of the parts of these outputs."""
        batch = Batch(into, lengths)
        layout = self.layout(into, lengths)
        codes = self.codes(into, outputs)[self._inside(layout, batch)]
        indptr, numbers = layout.structure.parts(lengths, codes)
        examples = np.repeat(np.arange(len(lengths)), np.diff(indptr))
        examples, numbers = examples[numbers >= 0], numbers[numbers >= 0]
        for array, extents, sizes in zip(into, layout.extents, layout.sizes, strict=False):
            here = numbers < sizes[examples]
            b, own = examples[here], numbers[here]
            places = layout.starts[b] + own if layout.in_place else _places(array, extents, b, own)
            array.reshape(-1)[places] += weights[b]  # an output has no part of its own twice
            examples, numbers = examples[~here], (numbers - sizes[examples])[~here]
        shared = into[len(layout.extents) :]
        if shared:
            counts = np.bincount(numbers, weights[examples], layout.structure.n_shared)
            for array, count in zip(shared, split(counts, [each.shape for each in shared]), strict=True):
                array[...] += count

    def _of_shares(self, batch: Batch, call: Callable[[Any, FlatScores], T]) -> list[T]:
        """What `call` returns for consecutive parts of the batch, on several threads where that is worth it."""
        (layout, scores), n = self.flat(batch), len(batch.lengths)
        parts = shares(np.arange(n, dtype=np.int32), self.work(batch), self.n_threads) if n else []
        if len(parts) < 2:
            return [call(layout.structure, scores)]
        ends = np.append(scores.starts, len(scores.own))

        def one(first: int, end: int) -> T:
            own, starts = scores.own[ends[first] : ends[end]], scores.starts[first:end] - ends[first]
            return call(layout.structure, scores._replace(starts=starts, sizes=scores.sizes[first:end], own=own))

        return run([partial(one, part[0], part[-1] + 1) for part in parts])

    def _inside(self, layout: Layout, batch: Batch) -> BoolMatrix:
        """Which entries of padded outputs are no padding."""
        widest = self.widest(layout, batch.scores, batch.lengths)
        inside: BoolMatrix = np.arange(widest) < layout.structure.lengths(batch.lengths)[:, None]
        return inside

    def _padded(self, batch: Batch, outputs: AnyArray, inside: AnyArray) -> AnyArray:
        """Outputs laid end to end in rows of their own."""
        padded = np.full(inside.shape + outputs.shape[1:], -1, dtype=np.int32)
        padded[inside] = outputs
        return self.shown(batch.scores, padded)


def _joined(scores: Arrays, layout: Layout) -> FloatVector:
    """The own scores of all examples without the padding."""
    own = np.empty(sum(int(each.sum()) for each in layout.sizes))
    for view, begin, end in _views(scores, layout, layout.starts):
        own[begin:end].reshape(view.shape)[...] = view
    return own


def _shaped(scores: Arrays, layout: Layout, counts: Counts) -> Arrays:
    """Counts in the shapes of the scores, with a first dimension for examples where these are shared."""
    n, n_own_tensors = len(counts.sizes), len(layout.extents)
    shared = split(counts.shared, [each.shape for each in scores[n_own_tensors:]])
    if scores[0].ndim == 1:
        return counts.own, *shared
    if layout.in_place and len(counts.own) == n * _size(scores[0].shape[1:]):
        return counts.own.reshape(n, *scores[0].shape[1:]), *shared
    own = tuple(np.zeros((n, *each.shape[1:])) for each in scores[:n_own_tensors])
    for view, begin, end in _views(own, layout, counts.starts):
        view[...] = counts.own[begin:end].reshape(view.shape)
    return *own, *shared


def _views(arrays: Arrays, layout: Layout, starts: LongVector) -> Iterator[tuple[AnyArray, int, int]]:
    """The parts of each example in each of its own tensors, and from where to where they are in flat scores."""
    begins = starts
    for array, extents, sizes in zip(arrays, layout.extents, layout.sizes, strict=False):
        ends = begins + sizes
        for b, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            place: Any = (b, *(slice(each[b]) for each in extents))
            yield array[place], begin, end
        begins = ends


def _places(array: AnyArray, extents: tuple[LongVector, ...], b: LongVector, numbers: LongVector) -> LongVector:
    """Where the parts of examples b with these numbers are in an array."""
    stride = _size(array.shape[1 + len(extents) :])
    places, numbers = numbers % stride, numbers // stride
    for extent, width in zip(reversed(extents), reversed(array.shape[1 : 1 + len(extents)]), strict=True):
        places, numbers = places + numbers % extent[b] * stride, numbers // extent[b]
        stride *= width
    return places + b * stride


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


class Padded(Flat):
    """A structure whose examples have rows of tensors, the shorter ones with padding."""

    @abstractmethod
    def structure(self, scores: Arrays) -> Any:
        """The structure of parts for scores of these shapes."""

    @abstractmethod
    def longest(self, scores: Tensors | Arrays) -> int:
        """The length of examples without padding."""

    @abstractmethod
    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """How far the parts of examples reach in the dimensions after the first, for each tensor of their own.

        Dimensions that are not mentioned belong to every example as a whole. The tensors after those with extents are
        shared, in the order of shared parts. Those that are left out are zero.
        """

    def lengths(self, scores: Tensors, mask: torch.Tensor | None) -> LongVector:
        """How long each example is."""
        return lengths_of(mask, len(scores[0]), self.longest(scores))

    def widest(self, layout: Layout, scores: Arrays, lengths: LongVector) -> int:
        """As many as those of an example without padding."""
        return int(layout.structure.lengths(np.array([self.longest(scores)]))[0])

    def layout(self, scores: Arrays, lengths: LongVector) -> Layout:
        """Where the parts of examples are in scores of these shapes."""
        extents, n_own, sizes = self.extents(scores, lengths), np.zeros(len(lengths), dtype=np.int64), []
        for array, each in zip(scores, extents, strict=False):
            sizes.append(np.full(len(lengths), _size(array.shape[1 + len(each) :])))
            for extent in each:
                sizes[-1] *= extent
            n_own += sizes[-1]
        in_place = len(extents) == 1 and (len(extents[0]) <= 1 or bool((lengths == self.longest(scores)).all()))
        starts = np.arange(len(lengths)) * _size(scores[0].shape[1:]) if in_place else np.cumsum(n_own) - n_own
        return Layout(self.structure(scores), extents, tuple(sizes), starts, in_place)


class FlatStructure(Flat):
    """Any structure of `widemargin.structures`, with the part scores as it numbers them, without padding.

    Scores are one tensor, (N,), of the own parts of all examples end to end, or two, the second with the scores of
    shared parts, (S,), which are zero if it is left out. The sizes of the examples, (B,), take the place of the mask of
    other structures, and must be given. Outputs are those of the structure in rows, (B, longest, …), padded with −1. Of
    outputs that are given, only the numbers of their parts are checked.

    Parameters
    ----------
    structure
        Such as `widemargin.structures.chain.Chain(3)`. What it can do beyond `best`, this can, too: `best_k`, `sums`
        and `sample`.

    >>> from widemargin.structures.classes import Classes
    >>> FlatStructure(Classes(3)).decode(torch.tensor([0.0, 2.0, 1.0, 5.0, 0.0, 0.0]), torch.tensor([1, 1]))
    tensor([[1],
            [0]])
    """

    names: ClassVar[tuple[str, ...]] = ("own scores", "shared scores")

    def __init__(self, structure: Any) -> None:
        super().__init__()
        self.structure = structure

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked."""
        if not 1 <= len(scores) <= 2:
            raise DataError(f"FlatStructure takes own and shared scores, not {len(scores)} tensors")
        for name, each, size in zip(self.names, scores, ("N", self.structure.n_shared), strict=False):
            check_shape(name, each, size)
        return scores

    def lengths(self, scores: Tensors, mask: torch.Tensor | None) -> LongVector:
        """The sizes, if they are those of all the scores."""
        if mask is None or mask.dim() != 1 or mask.is_floating_point():
            raise DataError("FlatStructure needs the sizes of the examples, a vector of integers, in place of a mask")
        sizes = mask.detach().cpu().numpy().astype(np.int64)
        if len(sizes) and sizes.min() < 0:
            raise DataError(f"sizes must not be below 0, but there is {sizes.min()}")
        n_own = int(self.structure.n_own(sizes).sum())
        if n_own != len(scores[0]):
            raise DataError(f"examples of these sizes have {n_own} parts of their own, but {len(scores[0])} scores")
        return sizes

    def widest(self, layout: Layout, scores: Arrays, lengths: LongVector) -> int:
        """As many as the longest output has."""
        return int(layout.structure.lengths(lengths).max(initial=0))

    def layout(self, scores: Arrays, lengths: LongVector) -> Layout:
        """Example after example."""
        n_own = self.structure.n_own(lengths)
        return Layout(self.structure, ((),), (n_own,), np.cumsum(n_own) - n_own, True)

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if the outputs have another shape, or parts that have no score."""
        n_entries = self.structure.lengths(lengths)
        shape = (len(lengths), int(n_entries.max(initial=0)))
        if outputs.shape[:2] != shape:
            raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
        flat = outputs[np.arange(shape[1]) < n_entries[:, None]]
        most = self.structure.n_own(lengths) + self.structure.n_shared
        if len(flat) and flat.min() >= 0:
            indptr, numbers = self.structure.parts(lengths, flat)
            if (numbers < np.repeat(most, np.diff(indptr))).all():
                return
        if len(flat):
            raise DataError(f"{name} has parts that there are no scores of")

    def spread(self, values: torch.Tensor, lengths: LongVector, n_dimensions: int) -> torch.Tensor:
        """A number for each example, repeated for each of its own parts."""
        return values[self._examples(lengths).to(values.device)]

    def gathered(self, values: torch.Tensor, lengths: LongVector) -> torch.Tensor:
        """Numbers for own parts, (N,), or for shared parts of each example, (B, S), summed up for each example."""
        if values.dim() == 2:
            return super().gathered(values, lengths)
        return values.new_zeros(len(lengths)).index_add(0, self._examples(lengths), values)

    def _examples(self, lengths: LongVector) -> torch.Tensor:
        """Which example each of the own parts belongs to."""
        return torch.from_numpy(np.repeat(np.arange(len(lengths)), self.structure.n_own(lengths)))
