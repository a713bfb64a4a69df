"""Segmentation as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.estimators.answers import TokenEstimator
from widemargin.features.inputs import lengths
from widemargin.metrics import bio, span_scores
from widemargin.predictors.segmenter import SegmentPredictor
from widemargin.segmentations import as_labels
from widemargin.training import SegmenterParameters, SegmenterSettings


@dataclass(kw_only=True, repr=False, eq=False)
class Segmenter(SegmenterParameters, TokenEstimator[SegmentPredictor]):
    """Large-margin segmentation: a semi-Markov model, whose features may be about whole segments.

    Parameters
    ----------
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`
    templates, lexicons, clusters, min_count, hash_bits, segment_features, segment_min_count, max_length, precision,
    recall, confusion, dev_metric : see `widemargin.training.SegmenterParameters`

    `fit` takes as X a list of sequences of tokens (strings), or `Columns`, as readers return them; as y for each
    sequence a list of spans (start, end, label), or a list of BIO labels; or a `Column` of these.

    Attributes
    ----------
    classes_ : the labels of segments; ``"O"`` is that of tokens outside
    solution_ : weights, trace, primal, dual, gap, whether it is certified, and why training stopped
    model_ : the trained model, free of scikit-learn

    Examples
    --------
    >>> X = [["in", "New", "York", "now"], ["from", "Rome"]] * 3
    >>> y = [[(1, 3, "city")], [(1, 2, "city")]] * 3
    >>> Segmenter(templates=["lower", "shape"]).fit(X, y).predict([["now", "in", "New", "York"]])
    [[Span(start=2, end=4, type='city')]]
    """

    _kind = SegmenterSettings

    def score(self, X: Any, y: Any) -> float:
        """F1 of the segments."""
        predicted = [bio(spans, size) for spans, size in zip(self.predict(X), lengths(X), strict=True)]
        return span_scores(as_labels(X, y), predicted).micro.f1
