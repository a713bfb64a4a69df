"""Label sequences that comply with constraints: `Constraints` in the numbers of a chain."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, IntVector
from widemargin.answers.bio import STARTING, SpanLabels
from widemargin.answers.constrained import Constrained
from widemargin.answers.constraints import Constraints, Windows
from widemargin.metrics import Span, spans
from widemargin.structures import ChainExamples, ChainWeights
from widemargin.structures.chain_limits import ChainLimits, limited_weights, with_features


class ConstrainedChain(Constrained[ChainExamples]):
    """Sequences to be labelled under constraints."""

    def __init__(
        self, examples: ChainExamples, weights: ChainWeights, labels: Sequence[Any], constraints: Constraints
    ) -> None:
        super().__init__(labels, constraints, examples.data.indptr)
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

    def within(self, i: int, windows: Windows) -> ChainExamples:
        """Sequence i alone, with spans of some types beginning only in their windows."""
        outside = sorted(
            (t, self.closed[type_])
            for type_, (low, high) in windows.items()
            for t in range(int(self.examples.lengths[i]))
            if not low <= t <= high
        )
        positions, features = np.array(outside, dtype=np.int64).reshape(-1, 2).T
        return with_features(self.examples, 0, positions, features.astype(np.int32), only=i)

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return spans([self.labels[code] for code in codes.tolist()])

    @cached_property
    def marks(self) -> SpanLabels:
        """The labels as marks of spans, asked for only where constraints are about spans."""
        return SpanLabels(self.labels)

    def _possible(self, lengths: list[int]) -> BoolMatrix:
        """Which labels each position may have."""
        possible = self.constraints.possible_labels(lengths, self.number)
        for i, span in self.constraints.forced_spans(lengths):
            begin, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            possible[begin:end] &= self.marks.marking(self.marks.of_type(span.type), span.end - span.start)
            if span.end < lengths[i] and not self.marks.closing:
                possible[end] &= ~self.marks.having("I", span.type)
        return possible

    def _limits(self, sets: BoolMatrix) -> ChainLimits:
        n = len(self.labels)
        pairs, begins, ends = (
            self.constraints.possible_pairs(self.number),
            np.ones(n, dtype=bool),
            np.ones(n, dtype=bool),
        )
        if self.constraints.bio or self.constraints.at_most_one:
            pairs, begins, ends = pairs & self.marks.pairs(), self.marks.begins(), self.marks.ends()
        return ChainLimits(pairs, begins, ends, sets)
