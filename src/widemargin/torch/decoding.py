"""What a structure must offer: outputs of a batch of scores, found, counted and summed over, on arrays.

The scores of a batch are one array or several. The first has a score for each part that an output may have, with the
examples of the batch as its first dimension. Others score further parts, such as transitions; those without a dimension
for examples are *shared* by all of them. Outputs are int32 arrays, a row for each example, padded with −1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._threads import count_threads, run, shares
from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import UnsupportedError
from widemargin.torch.tensors import Arrays, Tensors


class Batch(NamedTuple):
    """The scores of a batch as arrays, in the shapes of the tensors, and the length of each example."""

    scores: Arrays
    lengths: LongVector


class Sums(NamedTuple):
    """log Σ_y exp(score(y)) of each example, and the expected counts; those of shared scores for each example, too."""

    totals: FloatVector
    expectations: Arrays


class Decoding(ABC):
    """The best outputs of a batch of scores.

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
        """The tensors with their shapes checked, and zeros for those that were left out."""

    @abstractmethod
    def longest(self, scores: Tensors) -> int:
        """The length of examples without padding."""

    @abstractmethod
    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are no outputs of the batch: every part must be one that has a score."""

    @abstractmethod
    def best(self, batch: Batch) -> AnyArray:
        """The best output of each example."""

    @abstractmethod
    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The score of an output of each example."""

    @abstractmethod
    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the part counts of each output, times its weight, to arrays with the shapes of the scores."""

    def work(self, batch: Batch) -> FloatVector | None:
        """About how many microseconds each example takes; None if threads are never worth it."""
        return None

    def sums(self, batch: Batch) -> Sums:
        """Sums over all outputs."""
        raise UnsupportedError(f"{type(self).__name__} has no sums over all outputs, which likelihoods need")

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best outputs, and their scores."""
        raise UnsupportedError(f"{type(self).__name__} finds only the best output, not the {k} best")

    def draws(self, batch: Batch, n: int, rng: np.random.Generator) -> AnyArray:
        """`n` outputs of each example, drawn at random."""
        raise UnsupportedError(f"{type(self).__name__} cannot be sampled from")

    def in_shares(self, batch: Batch, call: Callable[[slice], None]) -> None:
        """Call `call` for consecutive parts of the batch, on several threads where that is worth it."""
        n = len(batch.lengths)
        parts = shares(np.arange(n, dtype=np.int32), self.work(batch), self.n_threads) if n else []
        run([partial(call, slice(int(part[0]), int(part[-1]) + 1)) for part in parts])

    def padded(self, batch: Batch, *shape: int) -> AnyArray:
        """Room for outputs, all of it padding."""
        return np.full((len(batch.lengths), *shape), -1, dtype=np.int32)
