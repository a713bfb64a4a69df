"""What a trained tagger can be asked."""

from abc import abstractmethod
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.answers import Margins, Ranked, SureSpan
from widemargin.bio import SpanLabels, marks_spans
from widemargin.calibration import Calibrated, Judged
from widemargin.columns import Columns, boundaries, split
from widemargin.constrained_chain import ConstrainedChain
from widemargin.constraints import Constraints, check_possible
from widemargin.errors import WidemarginError
from widemargin.features.inputs import lengths
from widemargin.labels import as_sequences
from widemargin.metrics import spans
from widemargin.problem import in_shares, predict
from widemargin.structures import ChainExamples, ChainWeights


class ChainAnswers(Calibrated):
    """Answers of a model that has labels and weights of a chain, and makes sequences `examples` of it."""

    labels: list[Any]
    weights: ChainWeights

    @abstractmethod
    def examples(self, X: Any) -> ChainExamples:
        """Sequences as examples to be decoded."""

    def predict_codes(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> IntVector:
        """The label numbers of all positions, sequences end to end."""
        examples = self.examples(X)
        if constraints is None:
            return np.concatenate(predict(examples, self.weights, n_threads))
        return ConstrainedChain(examples, self.weights, self.labels, constraints).decode(n_threads)

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[Any]]:
        """The labels of every sequence."""
        codes = self.predict_codes(X, n_threads, constraints)
        return split(self._names(codes), X.indptr if isinstance(X, Columns) else boundaries(lengths(X)))

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best label sequences of every sequence, best first; fewer where there are no more."""
        if k < 1:
            raise WidemarginError(f"one output at least must be asked for, not {k}")
        examples, weights = self._limited(X, constraints, "alternatives")
        parts = in_shares(examples, lambda batch: examples.decode_best(weights, batch, k), n_threads)
        batch, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        scores = examples.scores(weights, batch, codes)
        check_possible(batch, scores)
        outputs = split(self._names(codes), boundaries(examples.lengths[batch]))
        ranked: list[list[Ranked]] = [[] for _ in range(examples.n_examples)]
        for i, score, output in zip(batch.tolist(), scores.tolist(), outputs, strict=True):
            ranked[i].append(Ranked(score, output))
        return ranked

    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Margins]:
        """The predicted labels of every sequence, and how far they are ahead of others."""
        examples, weights = self._limited(X, constraints, "margins")

        def decode(batch: IntVector) -> tuple[IntVector, FloatMatrix]:
            codes = examples.decode(weights, batch)
            if constraints is not None:
                check_possible(batch, examples.scores(weights, batch, codes))
            return codes, examples.max_marginals(weights, batch)

        parts = in_shares(examples, decode, n_threads)
        codes, best = (np.concatenate(each) for each in zip(*parts, strict=True))
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

    def _judged(self, X: Any, y: Any, n_threads: int) -> tuple[Judged, Judged | None]:
        gold, margins = as_sequences(X, y), self.margins(X, n_threads)
        predicted = [self._names(each.codes) for each in margins]
        # As strings, which is what labels are that have been read from a file.
        right = [str(p) == str(g) for pair in zip(predicted, gold, strict=True) for p, g in zip(*pair, strict=True)]
        labels = Judged(np.concatenate([each.of_labels() for each in margins]), np.array(right, dtype=bool))
        if not marks_spans(self.labels):
            return labels, None
        marks = SpanLabels(self.labels)
        found = [spans(each) for each in predicted]
        ahead = [each.of_spans(marked, marks) for each, marked in zip(margins, found, strict=True)]
        right = [span in spans(g) for marked, g in zip(found, gold, strict=True) for span in marked]
        return labels, Judged(np.concatenate(ahead), np.array(right, dtype=bool)) if right else None

    def _limited(self, X: Any, constraints: Constraints | None, what: str) -> tuple[ChainExamples, ChainWeights]:
        """Examples and weights with the constraints in them."""
        examples = self.examples(X)
        if constraints is None:
            return examples, self.weights
        constrained = ConstrainedChain(examples, self.weights, self.labels, constraints)
        constrained.check_by_parts(what)
        return constrained.examples, constrained.weights

    def _names(self, codes: IntVector) -> list[Any]:
        names = self.labels
        return [names[code] for code in codes.tolist()]
