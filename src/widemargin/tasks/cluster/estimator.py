"""Clustering by learnt pairwise features, as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any, Self

from widemargin.clusterings import clustering_scores
from widemargin.tasks.cluster import ClusterParameters
from widemargin.tasks.cluster.compile import compile_clusters, survey_clusters
from widemargin.tasks.cluster.model import ClusterModel
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented


@documented(ClusterModel)
@dataclass(kw_only=True, repr=False, eq=False)
class Clusterer(ClusterParameters, Estimator[ClusterModel]):
    """Learns to partition sets of items from examples of partitions, by features of pairs (Yu & Joachims 2009).

    Notes
    -----
    `fit` takes a list of documents, each a set of items, and for each document the cluster of every item, under any
    names. A document is a list of records (dicts of fields, or strings), which are compared field by field; a list of
    anything that the function `pair_features` compares; `tasks.cluster.features.Pairs` with their features; or
    `text.mentions.Mentions` of a text.

    Examples
    --------
    >>> X = [["J. Smith", "Smith, John", "A. Wu"], ["Wu", "A. Wu", "John Smith", "J Smith", "I. Berg"]]
    >>> y = [["smith", "smith", "wu"], [1, 1, 2, 2, 3]]
    >>> Clusterer(C=10.0).fit(X, y).predict([["Ada Berg", "J. Wu", "A. Berg"]])
    [[0, 1, 0]]
    """

    _compile = staticmethod(compile_clusters)
    _survey = staticmethod(survey_clusters)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the predicted clusters by `dev_metric`."""
        predicted = self.predict(X)
        return clustering_scores([list(labels) for labels in y], predicted, [self.dev_metric])[self.dev_metric].f1

    @classmethod
    def from_model(cls, model: ClusterModel, **given: Any) -> Self:
        """Wrap a trained model; if it used a function `pair_features`, pass it again: model files hold no code."""
        if given.get("pair_features") is not None:
            model.extractor.function = given["pair_features"]
        return super().from_model(model, **given)
