"""Label sequences that comply with constraints: `Constraints` in the numbers of a chain."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, IntVector
from widemargin.bio import STARTING, SpanLabels
from widemargin.constraints import Constraints, Windows, best_without_repetition, check_possible, impossible, numbers_of
from widemargin.errors import UnsupportedError
from widemargin.metrics import spans
from widemargin.problem import predict
from widemargin.structures import ChainExamples, ChainWeights
from widemargin.structures.chain_limits import ChainLimits, limited_weights, with_features

ONE = np.zeros(1, dtype=np.int32)


class ConstrainedChain:
    """Sequences to be labelled under constraints.

    `examples` and `weights` have the constraints in them, all but `at_most_one`, which only `decode` looks after.
    """

    def __init__(
        self, examples: ChainExamples, weights: ChainWeights, labels: Sequence[Any], constraints: Constraints
    ) -> None:
        self.labels, self.constraints, self.indptr = labels, constraints, examples.data.indptr
        self.number = {label: k for k, label in enumerate(labels)}
        sets, choices = np.unique(self._possible(examples.lengths.tolist()), axis=0, return_inverse=True)
        # One set more for each type that may come once: the labels that do not begin a span of it.
        once = [~self.marks.having(STARTING, self.marks.of_type(type_)) for type_ in constraints.at_most_one]
        first = examples.chain.n_features
        self.closed = {type_: first + len(sets) + k for k, type_ in enumerate(constraints.at_most_one)}
        all_sets = np.array([*sets, *once], dtype=bool).reshape(-1, len(labels))
        self.weights = limited_weights(weights, self._limits(all_sets))
        limited = np.flatnonzero(~np.all(sets, axis=1)[choices])
        features = (first + choices[limited]).astype(np.int32)
        self.examples = with_features(examples, len(all_sets), limited, features)

    def decode(self, n_threads: int = 1) -> IntVector:
        """The best labels of all sequences, end to end."""
        codes = np.concatenate(predict(self.examples, self.weights, n_threads))
        batch = np.arange(self.examples.n_examples, dtype=np.int32)
        check_possible(batch, self.examples.scores(self.weights, batch, codes))
        if self.constraints.at_most_one:
            for i, (begin, end) in enumerate(zip(self.indptr[:-1].tolist(), self.indptr[1:].tolist(), strict=True)):
                if self._repeated(codes[begin:end]) is not None:
                    codes[begin:end] = self._search(i)
        return codes

    def check_by_parts(self, what: str) -> None:
        """Raise unless all constraints are on parts of an output."""
        if self.constraints.at_most_one:
            raise UnsupportedError(f"{what} cannot be found under at_most_one; only the best labels can")

    @cached_property
    def marks(self) -> SpanLabels:
        """The labels as marks of spans, asked for only where constraints are about spans."""
        return SpanLabels(self.labels)

    def _possible(self, lengths: list[int]) -> BoolMatrix:
        """Which labels each position may have."""
        possible = np.ones((sum(lengths), len(self.labels)), dtype=bool)
        for i, t, labels in self.constraints.allowed_labels(lengths):
            row = np.zeros(len(self.labels), dtype=bool)
            row[numbers_of(labels, self.number)] = True
            possible[self.indptr[i] + t] &= row
        for i, span in self.constraints.forced_spans(lengths):
            begin, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            possible[begin:end] &= self.marks.marking(self.marks.of_type(span.type), span.end - span.start)
            if span.end < lengths[i] and not self.marks.closing:
                possible[end] &= ~self.marks.having("I", span.type)
        return possible

    def _limits(self, sets: BoolMatrix) -> ChainLimits:
        n = len(self.labels)
        pairs, begins, ends = np.ones((n, n), dtype=bool), np.ones(n, dtype=bool), np.ones(n, dtype=bool)
        if self.constraints.bio or self.constraints.at_most_one:
            pairs, begins, ends = self.marks.pairs(), self.marks.begins(), self.marks.ends()
        for pair in self.constraints.forbidden:
            before, after = numbers_of(pair, self.number)
            pairs[before, after] = False
        return ChainLimits(pairs, begins, ends, sets)

    def _repeated(self, codes: IntVector) -> tuple[str, int] | None:
        """A type that has too many spans, and where the first of them begins."""
        first: dict[str, int] = {}
        for span in spans([self.labels[code] for code in codes.tolist()]):
            if span.type in first and span.type in self.closed:
                return span.type, first[span.type]
            first.setdefault(span.type, span.start)
        return None

    def _search(self, i: int) -> IntVector:
        length = int(self.indptr[i + 1] - self.indptr[i])

        def decode(windows: Windows) -> tuple[float, IntVector]:
            outside = sorted(
                (t, self.closed[type_])
                for type_, (low, high) in windows.items()
                for t in range(length)
                if not low <= t <= high
            )
            positions, features = np.array(outside, dtype=np.int64).reshape(-1, 2).T
            examples = with_features(self.examples, 0, positions, features.astype(np.int32), only=i)
            codes = examples.decode(self.weights, ONE)
            return float(examples.scores(self.weights, ONE, codes)[0]), codes

        found = best_without_repetition(decode, self._repeated, length - 1)
        if found is None:
            raise impossible(i)
        return found
