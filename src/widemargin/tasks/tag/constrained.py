"""Label sequences that comply with constraints: `Constraints` in the numbers of a chain."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector, LongVector
from widemargin.core.sparse import Rows, taken
from widemargin.tasks.constrained import Constrained
from widemargin.tasks.constraints import Constraints, Windows
from widemargin.tasks.tag.examples import ChainExamples
from widemargin.tasks.tag.weights import ChainShape, ChainWeights
from widemargin.text.span_labels import STARTING, SpanLabels
from widemargin.text.spans import Span, spans


class ChainLimits(NamedTuple):
    """The possible label pairs, first labels and last labels, and sets of labels for positions to choose from."""

    pairs: BoolMatrix
    begins: BoolVector
    ends: BoolVector
    sets: BoolMatrix


def limited_weights(weights: ChainWeights, limits: ChainLimits) -> ChainWeights:
    """Thinned weights with one more feature for each set."""
    thin, (sets, labels) = weights.thin_emission, np.nonzero(~limits.sets)
    sizes = np.bincount(sets, minlength=len(limits.sets))
    return weights.limited(limits.pairs, limits.begins, limits.ends)._replace(
        thin_emission=Rows(
            np.concatenate([thin.indptr, thin.indptr[-1] + np.cumsum(sizes)]),
            np.concatenate([thin.indices, labels.astype(np.int32)]),
            np.concatenate([thin.values, np.full(len(labels), -np.inf)]),
        ),
    )


def with_features(
    examples: ChainExamples, n_more: int, positions: LongVector, more: IntVector, only: int | None = None
) -> ChainExamples:
    """The examples with `n_more` further features; `positions`, in ascending order, also have the features `more`.

    `only` keeps a single example; the positions are then counted from its beginning.
    """
    own, chain = examples.features, examples.shape
    first, last = (0, examples.n_examples) if only is None else (only, only + 1)
    indptr = examples.indptr[first : last + 1]
    tokens = np.arange(indptr[0], indptr[-1])
    features = taken(own.rows, tokens)
    transitions = taken(own.transition_rows, tokens) if chain.n_transition_features else None
    counts = np.bincount(positions, minlength=len(features.indptr) - 1)
    places = features.indptr[positions + 1]
    features = Rows(
        features.indptr + np.concatenate([[0], np.cumsum(counts)]),
        np.insert(features.indices, places, more),
        np.insert(features.values, places, 1.0) if len(features.values) else features.values,
    )
    shape = ChainShape(chain.n_labels, chain.n_features + n_more, chain.n_transition_features)
    return ChainExamples(shape, indptr - indptr[0], features, transition_features=transitions)


class ConstrainedChain(Constrained[ChainExamples]):
    """Sequences to be labelled under constraints."""

    def __init__(
        self, examples: ChainExamples, weights: ChainWeights, labels: Sequence[Any], constraints: Constraints
    ) -> None:
        super().__init__(labels, constraints, examples.indptr)
        sets, choices = np.unique(self._possible(examples.lengths.tolist()), axis=0, return_inverse=True)
        # One more set for each type that may occur only once: the labels that do not begin a span of it.
        once = [~self.marks.having(STARTING, self.marks.of_type(type_)) for type_ in constraints.at_most_one]
        first = examples.shape.n_features
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
        """The labels as marks of spans, needed only by constraints on spans."""
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
