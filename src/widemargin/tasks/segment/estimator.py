"""Segmentation as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.tasks.abilities import TokenEstimator
from widemargin.tasks.answers import LEAST, SureSpan
from widemargin.tasks.parameters import documented
from widemargin.tasks.segment import SegmenterParameters
from widemargin.tasks.segment.compile import compile_segments, survey_segments
from widemargin.tasks.segment.model import SegmentModel


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
    _survey = staticmethod(survey_segments)

    def span_proba(self, X: Any, least: float = LEAST) -> list[list[SureSpan]]:
        """All spans of every sequence whose probability is at least `least`, each with its probability.

        The model must have been trained with `likelihood` or `softmax-margin`.
        """
        return self._ask("span_proba", X, least=least)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that `dev_metric` names, by default F1 of segments; `sample_weight` has a weight per sequence."""
        return self._score(self.dev_metric, X, y, sample_weight)
