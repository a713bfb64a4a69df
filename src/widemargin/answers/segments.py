"""What a trained segmenter can be asked."""

from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.answers.base import Answers, SureSpan
from widemargin.answers.calibration import Judged
from widemargin.answers.constrained_segments import ConstrainedSegments
from widemargin.answers.constraints import Constraints
from widemargin.answers.margins import segment_margin
from widemargin.metrics import Span
from widemargin.segmentations import as_spans, decode_segments
from widemargin.structures import SegmentExamples


class SegmentAnswers(Answers[SegmentExamples]):
    """Answers by segmentations: the spans of a sequence, without the tokens outside."""

    outputs_are = "spans"

    def constrained(self, examples: SegmentExamples, constraints: Constraints) -> ConstrainedSegments:
        """The sequences under constraints."""
        return ConstrainedSegments(examples, self.weights, self.labels, constraints)

    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Span]]:
        """The spans of every sequence."""
        return decode_segments(codes, self.labels, indptr)

    def marginals(self, examples: SegmentExamples, weights: Any, batch: IntVector) -> FloatMatrix:
        """For each candidate span, the best score with each of the `labels`."""
        return examples.max_marginals(weights, batch)[0]

    def max_marginals(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each candidate span of every sequence, by start and length, the best score with each of the `labels`."""
        examples, _, best = self.compared(X, n_threads)
        return np.split(best, examples.data.spans[examples.data.indptr[1:-1]])

    def margins(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[tuple[list[Span], FloatVector]]:
        """The spans predicted for every sequence, and how far each is ahead of all outputs without it."""
        examples, codes, best = self.compared(X, n_threads, constraints)
        indptr, rows = examples.data.indptr, examples.data.spans
        found = []
        for i, predicted in enumerate(self.outputs(codes, indptr)):
            own = rows[indptr[i] : indptr[i + 1] + 1]
            ahead = [segment_margin(best, own, start, end, self.labels.index(type_)) for start, end, type_ in predicted]
            found.append((predicted, np.array(ahead, dtype=np.float64)))
        return found

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[FloatVector]:
        """For each predicted span of every sequence, the probability that it is right."""
        curve = self.curve("spans")
        return [curve(ahead) for _, ahead in self.margins(X, n_threads, constraints)]

    def predict_spans(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The spans that are predicted for every sequence, each with the probability that it is right."""
        curve = self.curve("spans")
        return [
            [SureSpan(*span, sure) for span, sure in zip(found, curve(ahead).tolist(), strict=True)]
            for found, ahead in self.margins(X, n_threads, constraints)
        ]

    def predict_surely(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[dict[str, Any]]:
        """Spans with the confidence in each."""
        found = self.predict_spans(X, n_threads, constraints)
        return [{"spans": [span._asdict() for span in each]} for each in found]

    def judged(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The spans predicted for `X`, judged by `y`."""
        gold, margins = as_spans(X, y), self.margins(X, n_threads)
        right = [span in own for (found, _), own in zip(margins, gold, strict=True) for span in found]
        return {"spans": Judged.of([ahead for _, ahead in margins], right)} if right else {}
