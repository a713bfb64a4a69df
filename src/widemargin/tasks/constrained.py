"""Decoding under constraints, for any structure."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.examples import Examples, Scale
from widemargin.core.problem import predict
from widemargin.errors import UnsupportedError
from widemargin.tasks.constraints import Constraints, Windows, best_without_repetition, check_possible, impossible
from widemargin.text.spans import Span

ONE = np.zeros(1, dtype=np.int32)


class Scored(Examples, Protocol):
    """Examples that can score their outputs: one code per position, end to end."""

    @property
    def lengths(self) -> LongVector:
        """The number of positions of each example."""

    def decode_best(self, w: Any, batch: IntVector, k: int, *, error_scale: Scale = 0.0) -> tuple[IntVector, IntVector]:
        """The batch, each example repeated once per output, and the outputs (`structures.base.KBest`)."""

    def probabilities(self, w: Any, batch: IntVector) -> tuple[FloatMatrix, FloatVector]:
        """The probabilities of the parts of the batch's outputs, a row per part, and log Z of each example."""

    def scores(self, w: Any, batch: IntVector, outputs: IntVector) -> FloatVector:
        """⟨w, φ(x_i, y)⟩ of the batch's outputs."""


E = TypeVar("E", bound=Scored)


class Constrained(ABC, Generic[E]):
    """Sequences to be decoded under constraints.

    `examples` and `weights` contain all constraints but `at_most_one`, which only `decode` enforces.
    """

    examples: E
    weights: Any

    def __init__(self, labels: Sequence[Any], constraints: Constraints, indptr: LongVector) -> None:
        self.labels, self.constraints, self.indptr = labels, constraints, indptr
        self.number = {label: k for k, label in enumerate(labels)}

    @abstractmethod
    def within(self, i: int, windows: Windows) -> E:
        """Example i alone; spans of the types in `windows` begin only there."""

    @abstractmethod
    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""

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
        def decode(windows: Windows) -> tuple[float, IntVector]:
            example = self.within(i, windows)
            codes: IntVector = example.decode(self.weights, ONE)
            return float(example.scores(self.weights, ONE, codes)[0]), codes

        found = best_without_repetition(decode, self._repeated, int(self.indptr[i + 1] - self.indptr[i]) - 1)
        if found is None:
            raise impossible(i)
        return found
