"""Answers besides the best labels: ranked alternatives, and margins, which tell how sure a prediction is.

    the margin of a label at t  = the best score of all − the best score with another label at t
    the margin of a span        = the best score of all − the best score without the span

Both come from max-marginals m_t(l), the best scores with label l at t: an output without a span has another label at
one of its positions, or one next to it that makes it longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.bio import SpanLabels
from widemargin.metrics import Span


class Ranked(NamedTuple):
    """One of several outputs for a sequence, and its score."""

    score: float
    labels: list[Any]


class SureSpan(NamedTuple):
    """The tokens `start:end`, what they are, and the probability that this is right."""

    start: int
    end: int
    type: str
    confidence: float


@dataclass(frozen=True)
class Margins:
    """The predicted labels of one sequence as numbers, and how far they are ahead.

    `best` are the max-marginals; `rivals` the best scores with another label at each position.
    """

    codes: IntVector
    best: FloatMatrix
    rivals: FloatVector

    @classmethod
    def of(cls, codes: IntVector, best: FloatMatrix) -> "Margins":
        """The margins of labels that score as high as any."""
        others = best.copy()
        others[np.arange(len(codes)), codes] = -np.inf
        return cls(codes, best, others.max(axis=1))

    def of_labels(self) -> FloatVector:
        """The margin of every label; ∞ where there is no other."""
        return np.maximum(self.best[np.arange(len(self.codes)), self.codes] - self.rivals, 0.0)

    def of_spans(self, found: Sequence[Span], marks: SpanLabels) -> FloatVector:
        """The margins of spans that the labels mark."""
        return np.array([self._of_span(span, marks) for span in found])

    def _of_span(self, span: Span, marks: SpanLabels) -> float:
        codes = self.codes[span.start : span.end]
        without = self.rivals[span.start : span.end].max()
        for t, labels in marks.breaking(codes.tolist(), span):
            if t < len(self.codes):
                without = max(without, self.best[t, labels].max(initial=-np.inf))
        return max(float(self.best[span.start, codes[0]] - without), 0.0)
