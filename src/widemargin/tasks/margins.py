"""How far predictions are ahead of all others, which tells how sure they are.

    the margin of a label at t  = the best score of all − the best score with another label at t
    the margin of a span        = the best score of all − the best score without the span

Both come from max-marginals. Of a chain these are m_t(l), the best scores with label l at t: an output without a span
has another label at one of its positions, or one next to it that makes it longer. Of a segmentation they are the best
scores with a segment: without a span, its first token is in another segment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.text.span_labels import SpanLabels
from widemargin.text.spans import Span


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


def segment_margin(best: FloatMatrix, spans: LongVector, first: int, end: int, label: int) -> float:
    """The margin of the segment of the tokens `first:end`; `spans[t]` is the row of max-marginals of token t alone."""
    own = spans[first] + end - 1 - first
    without = -np.inf
    for t in range(first, -1, -1):
        # The rows of the segments that begin at t and reach `first`; further back there are none either.
        rows = best[spans[t] + first - t : spans[t + 1]]
        if not len(rows):
            break
        without = max(without, _best_but(rows, own - spans[t] if t == first else -1, label))
    return max(float(best[own, label] - without), 0.0)


def _best_but(rows: FloatMatrix, row: int, label: int) -> float:
    """The best of all entries but one, which may be outside."""
    if 0 <= row < len(rows):
        rows = rows.copy()
        rows[row, label] = -np.inf
    return float(rows.max())
