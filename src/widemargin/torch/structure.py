"""What a structure must offer, on arrays, and what users may ask of it, on tensors.

The scores of a batch are one array or several. The first has a score for each part that an output may have, with the
examples of the batch as its first dimension. Others score further parts, such as transitions; those without a dimension
for examples are *shared* by all of them. Outputs are int32 arrays, a row for each example, padded with −1.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from widemargin._threads import count_threads
from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.torch.scored import Scored, Scores, counted
from widemargin.torch.tensors import Arrays, Batch, Tensors


class Sums(NamedTuple):
    """log Σ_y exp(score(y)) of each example, and the expected counts; those of shared scores for each example, too."""

    totals: FloatVector
    expectations: Arrays


class Best(NamedTuple):
    """The k best outputs of each example, (B, k, …), best first, and their scores, (B, k); −inf where there is none."""

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
    """What the scores are called in messages."""

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_threads = count_threads(n_jobs)
        self.seconds = 0.0
        """How long this structure has been decoding and summing so far, for those who want to know its share."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the seconds inside to `seconds`."""
        begin = perf_counter()
        yield
        self.seconds += perf_counter() - begin

    @abstractmethod
    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked."""

    @abstractmethod
    def lengths(self, scores: Tensors, mask: torch.Tensor | None) -> LongVector:
        """How long each example is; raise if the mask does not fit."""

    @abstractmethod
    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are no outputs for scores of these shapes: every part must be one that has a score."""

    @abstractmethod
    def best(self, batch: Batch) -> AnyArray:
        """The best output of each example."""

    @abstractmethod
    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The score of an output of each example."""

    @abstractmethod
    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the part counts of each output, times its weight, to arrays with the shapes of the scores."""

    def sums(self, batch: Batch) -> Sums:
        """Sums over all outputs."""
        raise UnsupportedError(f"{type(self).__name__} has no sums over all outputs, which likelihoods need")

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best outputs, and their scores."""
        raise UnsupportedError(f"{type(self).__name__} finds only the best output, not the {k} best")

    def draws(self, batch: Batch, n: int, rng: np.random.Generator) -> AnyArray:
        """`n` outputs of each example, drawn at random."""
        raise UnsupportedError(f"{type(self).__name__} cannot be sampled from")

    def spread(self, values: torch.Tensor, lengths: LongVector, n_dimensions: int) -> torch.Tensor:
        """A number for each example in a shape that multiplies the scores of its parts."""
        return values.reshape(-1, *[1] * (n_dimensions - 1))

    def gathered(self, values: torch.Tensor, lengths: LongVector) -> torch.Tensor:
        """Numbers for parts, or for shared parts of each example, summed up for each example."""
        return values.flatten(1).sum(dim=1)

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
        return torch.from_numpy(scored.best()).long().to(scored.device)

    def k_best(
        self, scores: Scores, k: int, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Best:
        """The `k` best outputs of each example, best first; those beyond the last are −1 and score −inf."""
        if k < 1:
            raise DataError(f"k must be at least 1, not {k}")
        scored = Scored.of(self, scores, mask, allowed)
        outputs, totals = self.best_k(scored.batch, k)
        return Best(torch.from_numpy(outputs).long().to(scored.device), torch.from_numpy(totals).to(scored.device))

    def marginals(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Tensors:
        """The probability of each part, for each tensor of scores that is given; of shared ones the expected counts.

        The probability of an output is proportional to exp(score). Expected counts have a first dimension for examples.
        """
        scored = Scored.of(self, scores, mask, allowed)
        return tuple(torch.from_numpy(each).to(scored.device) for each in self.sums(scored.batch).expectations)

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
        drawn = self.draws(scored.batch, n, np.random.default_rng(seed))
        return torch.from_numpy(drawn).long().to(scored.device)

    def entropy(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """−Σ_y p(y) log p(y) of each example, (B,), with p(y) proportional to exp(score(y)); it has no gradient."""
        scored = Scored.of(self, scores, mask, allowed)
        return self._entropy(scored)[0].to(scored.scores[0])

    def kl_divergence(
        self,
        scores: Scores,
        other: Scores,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Σ_y p(y) log p(y) / q(y) of each example, (B,), for p of the `scores` and q of the `other` ones.

        Its gradient is that of q; p counts as given, as a teacher is in distillation.
        """
        given, learnt = (Scored.of(self, each, mask, allowed) for each in (scores, other))
        entropy, expectations = self._entropy(given)
        shared = counted(self, given.lengths, self._inner(learnt, expectations), expectations, *learnt.scores)
        return learnt.log_partition() - shared - entropy.to(shared)

    def score(self, scores: Scores, outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The scores of the given outputs, one for each example; their gradients are part counts."""
        scored = Scored.of(self, scores, mask)
        return scored.score(scored.checked(outputs, "outputs"))

    def _entropy(self, scored: Scored) -> tuple[torch.Tensor, Arrays]:
        """The entropies, and the expected counts."""
        log_z, expectations = self.sums(scored.batch)
        return torch.from_numpy(log_z - self._inner(scored, expectations)), expectations

    def _inner(self, scored: Scored, expectations: Arrays) -> FloatVector:
        """Σ of each example's expected counts times scores; what has no share does not count, forbidden or not."""
        totals = torch.zeros(len(scored.lengths), dtype=torch.float64)
        for expected, score in zip(expectations, scored.batch.scores, strict=True):
            products = expected * np.where(expected > 0.0, score, 0.0)
            totals += self.gathered(torch.from_numpy(products), scored.lengths)
        return totals.numpy()
