"""Segmentation as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.metrics import scores_of_spans
from widemargin.tasks.estimator import TokenEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.segment.compile import compile_segments
from widemargin.tasks.segment.labels import as_spans
from widemargin.tasks.segment.model import SegmentModel
from widemargin.tasks.segment.parameters import SegmenterParameters
from widemargin.text.inputs import as_columns


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
    of spans (start, end, label) or a list of BIO labels; or it is a `Column` of BIO labels.

    Examples
    --------
    >>> X = [["in", "New", "York", "now"], ["from", "Rome"]] * 3
    >>> y = [[(1, 3, "city")], [(1, 2, "city")]] * 3
    >>> Segmenter(templates=["lower", "shape"]).fit(X, y).predict([["now", "in", "New", "York"]])
    [[Span(start=2, end=4, type='city')]]
    """

    _compile = staticmethod(compile_segments)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the segments."""
        self._check_fitted()
        columns = as_columns(X)
        return scores_of_spans(as_spans(columns, y), self.predict(columns)).micro.f1
