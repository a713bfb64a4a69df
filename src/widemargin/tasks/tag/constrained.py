"""Label sequences that comply with constraints: `Constraints` in the numbers of a chain."""

from functools import cached_property

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector
from widemargin.tasks.constrained import Constrained
from widemargin.tasks.tag.examples import ChainExamples
from widemargin.text.span_labels import STARTING, SpanLabels
from widemargin.text.spans import Span, spans


class ConstrainedChain(Constrained[ChainExamples]):
    """Sequences to be labelled under constraints; codes are labels."""

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return spans([self.labels[code] for code in codes.tolist()])

    @cached_property
    def marks(self) -> SpanLabels:
        """The labels as marks of spans, needed only by constraints on spans."""
        return SpanLabels(self.labels)

    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        possible = self.constraints.possible_labels(lengths, self.number)
        for i, span in self.constraints.forced_spans(lengths):
            begin, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            possible[begin:end] &= self.marks.marking(self.marks.of_type(span.type), span.end - span.start)
            if span.end < lengths[i] and not self.marks.closing:
                possible[end] &= ~self.marks.having("I", span.type)
        return possible

    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        pairs, any_label = self.constraints.possible_pairs(self.number), np.ones(len(self.labels), dtype=bool)
        if self.constraints.bio or self.constraints.at_most_one:
            return pairs & self.marks.pairs(), self.marks.begins(), self.marks.ends()
        return pairs, any_label, any_label

    def _starting(self, type_: str) -> BoolVector:
        return self.marks.having(STARTING, self.marks.of_type(type_))
