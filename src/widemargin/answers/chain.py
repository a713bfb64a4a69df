"""What a trained tagger can be asked."""

from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.answers.base import Answers, SureSpan
from widemargin.answers.bio import SpanLabels, marks_spans
from widemargin.answers.calibration import Judged
from widemargin.answers.constrained_chain import ConstrainedChain
from widemargin.answers.constraints import Constraints
from widemargin.answers.margins import Margins
from widemargin.columns import split
from widemargin.labels import as_sequences
from widemargin.metrics import spans
from widemargin.structures import ChainExamples


class ChainAnswers(Answers[ChainExamples]):
    """Answers by label sequences."""

    outputs_are = "labels"

    def constrained(self, examples: ChainExamples, constraints: Constraints) -> ConstrainedChain:
        """The sequences under constraints."""
        return ConstrainedChain(examples, self.weights, self.labels, constraints)

    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Any]]:
        """The labels of every sequence."""
        return split(self._names(codes), indptr)

    def marginals(self, examples: ChainExamples, weights: Any, batch: IntVector) -> FloatMatrix:
        """For each position, the best score with each of the `labels` there."""
        return examples.max_marginals(weights, batch)

    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Margins]:
        """The predicted labels of every sequence, and how far they are ahead of others."""
        examples, codes, best = self.compared(X, n_threads, constraints)
        cuts = examples.data.indptr[1:-1]
        return [Margins.of(*each) for each in zip(np.split(codes, cuts), np.split(best, cuts), strict=True)]

    def max_marginals(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each position of every sequence, the best score with each of the `labels` there."""
        return [each.best for each in self.margins(X, n_threads)]

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[FloatVector]:
        """For each predicted label of every sequence, the probability that it is right."""
        curve = self.curve("labels")
        return [curve(each.of_labels()) for each in self.margins(X, n_threads, constraints)]

    def predict_spans(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The spans that are predicted for every sequence, each with the probability that it is right."""
        return [self.sure_spans(each) for each in self.margins(X, n_threads, constraints)]

    def sure_spans(self, margins: Margins) -> list[SureSpan]:
        """The spans of one sequence with these margins, each with the probability that it is right."""
        marks, curve = SpanLabels(self.labels), self.curve("spans")
        found = spans(self._names(margins.codes))
        sure = curve(margins.of_spans(found, marks)).tolist()
        return [SureSpan(*span, confidence) for span, confidence in zip(found, sure, strict=True)]

    def predict_surely(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[dict[str, Any]]:
        """Labels, the confidence in each, and the spans that they mark, if the model is calibrated for them."""
        curve, found = self.curve("labels"), list[dict[str, Any]]()
        for each in self.margins(X, n_threads, constraints):
            found.append({"labels": self._names(each.codes), "confidence": curve(each.of_labels()).tolist()})
            if self.calibration is not None and "spans" in self.calibration.curves:
                found[-1]["spans"] = [span._asdict() for span in self.sure_spans(each)]
        return found

    def judged(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The labels predicted for `X`, and the spans that they mark, judged by `y`."""
        gold, margins = as_sequences(X, y), self.margins(X, n_threads)
        predicted = [self._names(each.codes) for each in margins]
        # As strings, which is what labels are that have been read from a file.
        right = [str(p) == str(g) for pair in zip(predicted, gold, strict=True) for p, g in zip(*pair, strict=True)]
        judged = {"labels": Judged.of([each.of_labels() for each in margins], right)}
        if marks_spans(self.labels):
            marks, found = SpanLabels(self.labels), [spans(each) for each in predicted]
            ahead = [each.of_spans(marked, marks) for each, marked in zip(margins, found, strict=True)]
            right = [span in spans(g) for marked, g in zip(found, gold, strict=True) for span in marked]
            judged["spans"] = Judged.of(ahead, right)
        return {kind: each for kind, each in judged.items() if len(each.right)}

    def _names(self, codes: IntVector) -> list[Any]:
        names = self.labels
        return [names[code] for code in codes.tolist()]
