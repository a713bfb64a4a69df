"""Segmentations that comply with constraints: `Constraints` in the numbers of a semi-Markov model.

Labels are those of segments: the types of spans, and ``"O"`` for tokens outside, each of which is a segment of its own.
Spans cannot be marked improperly, so `bio` forbids nothing.
"""

from collections.abc import Sequence

import numpy as np

from widemargin._types import IntVector
from widemargin.core.sparse import taken
from widemargin.tasks.constrained import Constrained
from widemargin.tasks.constraints import Constraints, Windows, numbers_of
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.labels import decode_segments
from widemargin.tasks.segment.scores import Limits
from widemargin.tasks.segment.weights import SegmentWeights
from widemargin.text.spans import Span


class ConstrainedSegments(Constrained[SegmentExamples]):
    """Sequences to be cut into segments under constraints."""

    def __init__(
        self, examples: SegmentExamples, weights: SegmentWeights, labels: Sequence[str], constraints: Constraints
    ) -> None:
        super().__init__(labels, constraints, examples.indptr)
        numbers_of(constraints.at_most_one, self.number)
        self.weights = weights._replace(
            transition=np.where(constraints.possible_pairs(self.number), weights.transition, -np.inf)
        )
        self.examples = _limited(examples, self._limits(examples.lengths.tolist()))

    def within(self, i: int, windows: Windows) -> SegmentExamples:
        """Sequence i alone, with spans of some types beginning only in their windows."""
        limits = Limits(*(part[self.indptr[i] : self.indptr[i + 1]] for part in self.examples.features.limits))
        begin = limits.begin.copy()
        for type_, (low, high) in windows.items():
            begin[:low, self.number[type_]] = begin[high + 1 :, self.number[type_]] = False
        return _limited(self.examples, limits._replace(begin=begin), only=i)

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return decode_segments(codes, self.labels, np.array([0, len(codes)]))[0]

    def _limits(self, lengths: list[int]) -> Limits:
        inside = self.constraints.possible_labels(lengths, self.number)
        begin, breaks = np.ones_like(inside), np.zeros(len(inside), dtype=bool)
        for i, span in self.constraints.forced_spans(lengths):
            first, last = self.indptr[i] + span.start, self.indptr[i] + span.end
            [label] = numbers_of([span.type], self.number)
            inside[first:last, np.arange(len(self.labels)) != label] = False
            begin[first + 1 : last] = False
            breaks[first] = True
            if span.end < lengths[i]:
                breaks[last] = True
        return Limits(inside, begin, breaks)


def _limited(examples: SegmentExamples, limits: Limits, only: int | None = None) -> SegmentExamples:
    """The examples, or a single one, under limits."""
    own = examples.features
    indptr = own.indptr if only is None else own.indptr[only : only + 2]
    tokens, spans = np.arange(indptr[0], indptr[-1]), np.arange(own.spans[indptr[0]], own.spans[indptr[-1]])
    segment_rows = taken(own.segment_rows, spans) if examples.shape.n_segment_features else None
    return SegmentExamples(examples.shape, indptr - indptr[0], taken(own.rows, tokens), segment_rows, limits=limits)
