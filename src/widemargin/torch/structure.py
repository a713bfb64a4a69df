"""The interface of structures on tensors, and how it calls the structures of `widemargin.structures`.

The scores of a batch are one tensor or several. The first has a score for each part that an output may have, with the
examples of the batch as its first dimension. Others score further parts, such as transitions; those without a dimension
for examples are *shared* by all of them. Outputs are int32 arrays, a row for each example, padded with −1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch

from widemargin._threads import count_threads, run, shares
from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.flat import Scores as FlatScores
from widemargin.torch.scored import Extents, Layout, Scored, Scores
from widemargin.torch.tensors import Arrays, Tensors, check_outputs, check_shape, lengths_of

T = TypeVar("T")


class Sums(NamedTuple):
    """log Σ_y exp(score(y)) of each example, and the expected counts; shared scores also have a count per example."""

    totals: FloatVector
    own: FloatVector
    shared: FloatMatrix


class Best(NamedTuple):
    """The k best outputs of each example, (B, k, …), best first, and their scores, (B, k); −inf for missing ones."""

    outputs: torch.Tensor
    scores: torch.Tensor


class Structure(ABC):
    """A structure over scores.

    Parameters
    ----------
    n_jobs
        The number of threads that share a batch: None is one, −1 all cores. Results do not depend on it.
    """

    names: ClassVar[tuple[str, ...]]
    """The names of the scores in messages."""

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_threads = count_threads(n_jobs)
        self.seconds = 0.0
        """The seconds that this structure has spent on decoding and summing so far."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the seconds inside to `seconds`."""
        begin = perf_counter()
        yield
        self.seconds += perf_counter() - begin

    @abstractmethod
    def layout(self, scores: Tensors, mask: torch.Tensor | None) -> Layout:
        """The places of the examples' parts in these tensors; raise if their shapes or the mask do not fit."""

    @abstractmethod
    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless these are outputs for scores of these shapes: every part must have a score."""

    def work(self, layout: Layout) -> FloatVector | None:
        """The approximate microseconds of each example; None if threads are never worth it."""
        return None

    def codes(self, layout: Layout, outputs: AnyArray) -> AnyArray:
        """Padded outputs in the form of the structure of parts."""
        return outputs

    def shown(self, layout: Layout, codes: AnyArray) -> AnyArray:
        """Padded outputs of the structure of parts in the user's form."""
        return codes

    def best(self, scored: Scored) -> AnyArray:
        """The best output of each example."""
        found = self._of_shares(scored, scored.layout.structure.best)
        layout = scored.layout
        return self._padded(layout, np.concatenate(found), layout.places, len(layout.lengths))

    def best_k(self, scored: Scored, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best outputs of each example, and their scores."""
        layout = scored.layout
        if not hasattr(layout.structure, "best_k"):
            raise UnsupportedError(f"{type(self).__name__} finds only the best output, not the {k} best")
        found = self._of_shares(scored, lambda scores: layout.structure.best_k(scores, k))
        counts, of_all, outputs = (np.concatenate(each) for each in zip(*found, strict=True))
        present, totals = np.arange(k) < counts[:, None], np.full((len(counts), k), -np.inf)
        totals[present] = of_all
        places = np.flatnonzero(present[..., None] & layout.inside[:, None])
        return self._padded(layout, outputs, places, *present.shape), totals

    def sums(self, scored: Scored) -> Sums:
        """Sums over all outputs."""
        layout = scored.layout
        if not hasattr(layout.structure, "sums"):
            raise UnsupportedError(f"{type(self).__name__} has no sums over all outputs, which likelihoods need")
        log_z, counts = zip(*self._of_shares(scored, layout.structure.sums), strict=True)
        own, shared = (np.concatenate([getattr(each, name) for each in counts]) for name in ("own", "shared"))
        return Sums(np.concatenate(log_z), own, shared)

    def draws(self, scored: Scored, n: int, rng: np.random.Generator) -> AnyArray:
        """`n` outputs of each example, drawn at random."""
        layout = scored.layout
        if not hasattr(layout.structure, "sample"):
            raise UnsupportedError(f"{type(self).__name__} cannot be sampled from")
        drawn, size = layout.structure.sample(scored.flat, n, rng), layout.inside.size
        places = (np.arange(n)[:, None] * size + layout.places).ravel()
        found = self._padded(layout, drawn.reshape(-1, *drawn.shape[2:]), places, n, len(layout.lengths))
        return np.ascontiguousarray(np.swapaxes(found, 0, 1))

    def parts_of(self, layout: Layout, outputs: AnyArray) -> Any:
        """The parts of padded outputs, for `totals` and `add_counts`."""
        return layout.structure.parts(layout.lengths, layout.joined(self.codes(layout, outputs)))

    def totals(self, scored: Scored, parts: Any) -> FloatVector:
        """The score of each example's output with these parts."""
        return scored.layout.totals(parts, scored.arrays)

    def add_counts(self, layout: Layout, parts: Any, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of each output's parts, times its weight, to arrays with the shapes of the scores."""
        layout.add(parts, weights, into)

    def _of_shares(self, scored: Scored, call: Callable[[FlatScores], T]) -> list[T]:
        """The results of `call` for consecutive shares of the batch, on several threads if that is worth it."""
        scores, n = scored.flat, len(scored.lengths)
        alone = n == 0 or self.n_threads == 1
        parts = [] if alone else shares(np.arange(n, dtype=np.int32), self.work(scored.layout), self.n_threads)
        if len(parts) < 2:
            return [call(scores)]
        ends = np.append(scores.starts, len(scores.own))

        def one(first: int, end: int) -> T:
            own, starts = scores.own[ends[first] : ends[end]], scores.starts[first:end] - ends[first]
            return call(scores._replace(starts=starts, sizes=scores.sizes[first:end], own=own))

        return run([partial(one, part[0], part[-1] + 1) for part in parts])

    def _padded(self, layout: Layout, outputs: AnyArray, places: LongVector, *shape: int) -> AnyArray:
        """Outputs that were laid end to end at these places of padded rows, in an array that begins with `shape`."""
        padded = np.full((*shape, layout.width, *outputs.shape[1:]), -1, dtype=np.int32)
        padded.reshape(-1, *outputs.shape[1:])[places] = outputs
        return self.shown(layout, padded)

    def decode(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The best output of each example.

        Parameters
        ----------
        scores
            One tensor, or a tuple of several, as the class describes.
        mask
            (B, T), true for tokens and false for padding, which comes last; or (B,), how long each example is.
        allowed
            Which parts outputs may have, of a shape that broadcasts to that of the first tensor of scores.
        """
        scored = Scored.of(self, scores, mask, allowed)
        return scored.tensor(scored.best()).long()

    def k_best(
        self, scores: Scores, k: int, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Best:
        """The `k` best outputs of each example, best first; missing outputs are −1 and score −inf."""
        if k < 1:
            raise DataError(f"k must be at least 1, not {k}")
        scored = Scored.of(self, scores, mask, allowed)
        outputs, totals = self.best_k(scored, k)
        return Best(scored.tensor(outputs).long(), scored.tensor(totals))

    def marginals(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Tensors:
        """The probability of each part, for each given tensor of scores; for shared tensors the expected counts.

        The probability of an output is proportional to exp(score). Expected counts have a first dimension for examples.
        """
        scored = Scored.of(self, scores, mask, allowed)
        _, own, shared = self.sums(scored)
        shaped = scored.layout.shaped(own.astype(np.float64, copy=False), shared)
        return tuple(map(scored.tensor, shaped))

    def log_partition(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """log Σ_y exp(score(y)) of each example, (B,); its gradients are marginals."""
        return Scored.of(self, scores, mask, allowed).log_partition()

    def sample(
        self,
        scores: Scores,
        n: int = 1,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """`n` outputs of each example, (B, n, …), drawn with probabilities proportional to exp(score)."""
        scored = Scored.of(self, scores, mask, allowed)
        seed = int(torch.randint(2**62, (), generator=generator))
        return scored.tensor(self.draws(scored, n, np.random.default_rng(seed))).long()

    def entropy(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """−Σ_y p(y) log p(y) of each example, (B,), with p(y) proportional to exp(score(y)); it has no gradient."""
        scored = Scored.of(self, scores, mask, allowed)
        return scored.cross_entropy(*self.sums(scored)).detach()

    def kl_divergence(
        self,
        scores: Scores,
        other: Scores,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Σ_y p(y) log p(y) / q(y) of each example, (B,), for p of the `scores` and q of the `other` ones.

        Only q has a gradient; p is constant, like a teacher in distillation.
        """
        given, learnt = (Scored.of(self, each, mask, allowed) for each in (scores, other))
        log_z, own, shared = self.sums(given)
        entropy = given.cross_entropy(log_z, own, shared).detach()
        return learnt.log_partition() + learnt.cross_entropy(np.zeros(len(log_z)), own, shared) - entropy

    def score(self, scores: Scores, outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The scores of the given outputs, one for each example; their gradients are part counts."""
        scored = Scored.of(self, scores, mask)
        return scored.score(scored.checked(outputs, "outputs"))


class Padded(Structure):
    """A structure whose examples are rows of tensors, with padding for shorter ones."""

    @abstractmethod
    def prepared(self, scores: Tensors) -> tuple[Any, int]:
        """The structure of parts for scores of these shapes, which are checked, and the length of a full row."""

    @abstractmethod
    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """The extents of the examples in each tensor of own scores (`Layout.extents`)."""

    def layout(self, scores: Tensors, mask: torch.Tensor | None) -> Layout:
        """Example after example, without a copy if the parts of each are contiguous."""
        *most, last = self.names
        if not 1 <= len(scores) <= len(self.names):
            wanted = f"{', '.join(most)} and {last}" if most else "one tensor of scores"
            raise DataError(f"{type(self).__name__} takes {wanted}, not {len(scores)}{' tensors' if most else ''}")
        structure, longest = self.prepared(scores)
        lengths = lengths_of(mask, len(scores[0]), longest)
        extents, shapes = self.extents(scores, lengths), tuple(each.shape for each in scores)
        in_place = len(extents) == 1 and (len(extents[0]) <= 1 or bool((lengths == longest).all()))
        n_own = np.full(len(lengths), shapes[0][1:].numel()) if in_place else structure.n_own(lengths)
        width = int(structure.lengths(np.array([longest]))[0])
        return Layout(structure, lengths, width, shapes, extents, np.cumsum(n_own) - n_own, in_place)


class FlatStructure(Structure):
    """Any structure of `widemargin.structures`, with part scores in its own numbering, without padding.

    Scores are one tensor, (N,), of the own parts of all examples end to end. A second one, (S,), may score shared
    parts, which are otherwise zero. The sizes of the examples, (B,), are required, in place of a mask. Outputs are
    those of the structure in rows, (B, longest, …), padded with −1. Given outputs are only checked for the numbers of
    their parts.

    Parameters
    ----------
    structure
        Such as `widemargin.structures.chain.Chain(3)`. If it has `best_k`, `sums` or `sample`, so has this structure.

    >>> from widemargin.structures.classes import Classes
    >>> FlatStructure(Classes(3)).decode(torch.tensor([0.0, 2.0, 1.0, 5.0, 0.0, 0.0]), torch.tensor([1, 1]))
    tensor([[1],
            [0]])
    """

    names: ClassVar[tuple[str, ...]] = ("own scores", "shared scores")

    def __init__(self, structure: Any) -> None:
        super().__init__()
        self.structure = structure

    def layout(self, scores: Tensors, mask: torch.Tensor | None) -> Layout:
        """Example after example; the sizes must account for all scores."""
        if not 1 <= len(scores) <= 2:
            raise DataError(f"FlatStructure takes own and shared scores, not {len(scores)} tensors")
        for name, each, size in zip(self.names, scores, ("N", self.structure.n_shared), strict=False):
            check_shape(name, each, size)
        if mask is None or mask.dim() != 1 or mask.is_floating_point():
            raise DataError("FlatStructure needs the sizes of the examples, a vector of integers, in place of a mask")
        sizes = mask.detach().cpu().numpy().astype(np.int64)
        if len(sizes) and sizes.min() < 0:
            raise DataError(f"sizes must not be below 0, but there is {sizes.min()}")
        n_own, width = self.structure.n_own(sizes), int(self.structure.lengths(sizes).max(initial=0))
        if n_own.sum() != len(scores[0]):
            raise DataError(
                f"examples of these sizes have {n_own.sum()} parts of their own, but {len(scores[0])} scores"
            )
        shapes, starts = tuple(each.shape for each in scores), np.cumsum(n_own) - n_own
        return Layout(self.structure, sizes, width, shapes, ((),), starts, True)

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise if the outputs have another shape, or parts without a score."""
        check_outputs(name, outputs, len(layout.lengths), layout.width, *outputs.shape[2:])
        codes, most = outputs[layout.inside], self.structure.n_own(layout.lengths) + self.structure.n_shared
        if len(codes) and codes.min() >= (-1 if self.structure.has_blanks else 0):
            indptr, numbers = self.structure.parts(layout.lengths, codes)
            if (numbers < np.repeat(most, np.diff(indptr))).all():
                return
        if len(codes):
            raise DataError(f"{name} has parts without scores")
