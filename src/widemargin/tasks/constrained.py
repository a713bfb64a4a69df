"""Decoding under constraints, for any structure."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector
from widemargin.core.problem import predict
from widemargin.core.sparse import boundaries
from widemargin.errors import UnsupportedError
from widemargin.tasks.constraints import Constraints, Windows, best_without_repetition, check_possible, impossible
from widemargin.tasks.token_examples import TokenExamples
from widemargin.text.spans import Span

E = TypeVar("E", bound=TokenExamples)


class Constrained(ABC, Generic[E]):
    """Sequences to be decoded under constraints.

    `examples` and `weights` contain all constraints but `at_most_one`, which only `decode` enforces.
    """

    def __init__(self, examples: E, weights: Any, labels: Sequence[Any], constraints: Constraints) -> None:
        self.labels, self.constraints, self.indptr = labels, constraints, boundaries(examples.lengths)
        self.number = {label: k for k, label in enumerate(labels)}
        self.starting = {type_: self._starting(type_) for type_ in constraints.at_most_one}
        self.allowed = self._allowed(examples.lengths.tolist())
        self.examples: E = examples.within(examples.bounds_of(self.indptr, self.allowed))
        self.weights = weights.limited(*self._neighbours())

    @abstractmethod
    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""

    @abstractmethod
    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        """Which codes each position may have."""

    @abstractmethod
    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        """Which pairs of labels may follow each other, and which labels may be first and last."""

    @abstractmethod
    def _starting(self, type_: str) -> BoolVector:
        """The codes that begin a span of a type."""

    def decode(self, n_threads: int = 1) -> IntVector:
        """The best outputs of all sequences, end to end."""
        codes = np.concatenate(predict(self.examples, self.weights, n_threads))
        batch = np.arange(self.examples.n_examples, dtype=np.int32)
        check_possible(batch, self.examples.scores(self.weights, batch, codes))
        if self.constraints.at_most_one:
            for i, (begin, end) in enumerate(zip(self.indptr[:-1].tolist(), self.indptr[1:].tolist(), strict=True)):
                if self._repeated(codes[begin:end]) is not None:
                    codes[begin:end] = self._search(i)
        return codes

    def check_by_parts(self, what: str) -> None:
        """Raise an error if `at_most_one` is set, which concerns whole outputs, not parts of them."""
        if self.constraints.at_most_one:
            raise UnsupportedError(f"{what} cannot be found under at_most_one; only the best output can")

    def _repeated(self, codes: IntVector) -> tuple[str, int] | None:
        """A type with too many spans, and where its first span begins; or None."""
        first: dict[str, int] = {}
        for span in self.spans(codes):
            if span.type in first and span.type in self.constraints.at_most_one:
                return span.type, first[span.type]
            first.setdefault(span.type, span.start)
        return None

    def _search(self, i: int) -> IntVector:
        begin, end = self.indptr[i : i + 2].tolist()
        indptr, one = np.clip(self.indptr - begin, 0, end - begin), np.array([i], dtype=np.int32)

        def decode(windows: Windows) -> tuple[float, IntVector]:
            """The best output whose spans of some types begin only in their windows, and its score."""
            allowed = self.allowed[begin:end].copy()
            for type_, (low, high) in windows.items():
                allowed[:low, self.starting[type_]] = allowed[high + 1 :, self.starting[type_]] = False
            examples = self.examples.within(self.examples.bounds_of(indptr, allowed))
            codes: IntVector = examples.decode(self.weights, one)
            return float(examples.scores(self.weights, one, codes)[0]), codes

        found = best_without_repetition(decode, self._repeated, end - begin - 1)
        if found is None:
            raise impossible(i)
        return found
