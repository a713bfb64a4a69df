"""Margins: how far a prediction is ahead of all others, which tells how sure it is.

    the margin of a label at t  = the best score of all − the best score with another label at t
    the margin of a span        = the best score of all − the best score without the span

Both follow from max-marginals. For a chain, these are m_t(l), the best scores with label l at t. An output without a
span has another label at one of the span's positions, or a label next to it that makes it longer. For a segmentation,
they are the best scores with each segment. An output without a span has the span's first token in another segment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.text.span_labels import SpanLabels
from widemargin.text.spans import Span


class Ahead(NamedTuple):
    """Parts of one output, labels or spans, and their margins."""

    parts: list[Any]
    margins: FloatVector


@dataclass(frozen=True)
class Margins:
    """The predicted labels of one sequence, as numbers, and the scores behind their margins.

    `best` holds the max-marginals, `rivals` the best score with another label at each position.
    """

    codes: IntVector
    best: FloatMatrix
    rivals: FloatVector

    @classmethod
    def of(cls, codes: IntVector, best: FloatMatrix) -> "Margins":
        """The margins of the best labels, `codes`, from the max-marginals `best`."""
        others = best.copy()
        others[np.arange(len(codes)), codes] = -np.inf
        return cls(codes, best, others.max(axis=1))

    def of_labels(self) -> FloatVector:
        """The margin of every label; ∞ if no other label is possible."""
        return np.maximum(self.best[np.arange(len(self.codes)), self.codes] - self.rivals, 0.0)

    def of_spans(self, found: Sequence[Span], marks: SpanLabels) -> FloatVector:
        """The margins of the spans `found` in the labels."""
        return np.array([self._of_span(span, marks) for span in found])

    def _of_span(self, span: Span, marks: SpanLabels) -> float:
        codes = self.codes[span.start : span.end]
        without = self.rivals[span.start : span.end].max()
        for t, labels in marks.breaking(codes.tolist(), span):
            if t < len(self.codes):
                without = max(without, self.best[t, labels].max(initial=-np.inf))
        return max(float(self.best[span.start, codes[0]] - without), 0.0)


def segment_margin(best: FloatMatrix, spans: LongVector, first: int, end: int, label: int) -> float:
    """The margin of the segment `first:end`; `spans[t]` is the row of `best` for token t alone."""
    own = spans[first] + end - 1 - first
    without = -np.inf
    for t in range(first, -1, -1):
        # Segments that begin at t and reach `first`; if none does, none further back does either.
        rows = best[spans[t] + first - t : spans[t + 1]]
        if not len(rows):
            break
        without = max(without, _best_but(rows, own - spans[t] if t == first else -1, label))
    return max(float(best[own, label] - without), 0.0)


def _best_but(rows: FloatMatrix, row: int, label: int) -> float:
    """The best entry other than [row, label], which may be out of range."""
    if 0 <= row < len(rows):
        rows = rows.copy()
        rows[row, label] = -np.inf
    return float(rows.max())
