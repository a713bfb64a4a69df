"""Segmentation as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.metrics import span_scores
from widemargin.tasks.answers import SureSpan
from widemargin.tasks.estimator import TokenEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.probabilities import LEAST
from widemargin.tasks.segment.compile import compile_segments
from widemargin.tasks.segment.labels import as_labels
from widemargin.tasks.segment.model import SegmentModel
from widemargin.tasks.segment.parameters import SegmenterParameters
from widemargin.text.inputs import as_columns, lengths
from widemargin.text.spans import bio


@documented(SegmentModel)
@dataclass(kw_only=True, repr=False, eq=False)
class Segmenter(SegmenterParameters, TokenEstimator[SegmentModel]):
    """Large-margin segmentation: a semi-Markov model, whose features may describe whole segments.

    Attributes
    ----------
    classes_ : ndarray
        The labels of segments; ``"O"`` marks tokens outside.

    Notes
    -----
    X is a list of sequences of tokens (strings), or `Columns`, as readers return them. y holds for each sequence a list
    of spans (start, end, label) or a list of BIO labels; or it is a `Column` of BIO labels. A BIO label may be None if
    it is unknown, or a set if one of its labels is right; the model then fills in the rest as it learns.

    Examples
    --------
    >>> X = [["in", "New", "York", "now"], ["from", "Rome"]] * 3
    >>> y = [[(1, 3, "city")], [(1, 2, "city")]] * 3
    >>> Segmenter(templates=["lower", "shape"]).fit(X, y).predict([["now", "in", "New", "York"]])
    [[Span(start=2, end=4, type='city')]]
    """

    _compile = staticmethod(compile_segments)

    def span_proba(self, X: Any, least: float = LEAST) -> list[list[SureSpan]]:
        """All spans of every sequence whose probability is at least `least`, each with its probability.

        The model must have been trained with `likelihood` or `softmax-margin`.
        """
        return self._ask("span_proba", X, least=least)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the segments."""
        self._check_fitted()
        columns = as_columns(X)
        predicted = [bio(spans, size) for spans, size in zip(self.predict(columns), lengths(columns), strict=True)]
        return span_scores(as_labels(columns, y), predicted).micro.f1
