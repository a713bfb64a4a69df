"""Clustering by learnt pairwise features, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np

from widemargin._types import IntVector
from widemargin.clusterings import by_first, clustering_scores
from widemargin.core.solution import Solution
from widemargin.core.sparse import sums
from widemargin.core.stop import Score
from widemargin.decoders.kruskal import Flags
from widemargin.errors import DataError
from widemargin.structures.forest import Documents, ForestExamples
from widemargin.tasks.cluster import ClusterParameters
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.cluster.model import DECODERS, ClusterModel
from widemargin.tasks.clusters import check_clusters, check_list, clusters_in
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data, score_of_outputs
from widemargin.text.columns import split


def survey_clusters(parameters: ClusterParameters, data: Data) -> Survey:
    """The features of the pairs of a piece of the data."""
    if parameters.decoder == "forest":
        refuse_latent("the links of a forest are hidden; decoder='correlation' has none")
    _check_documents(data.X)
    extractor = PairExtractor.choose(data.X, parameters.pair_features, parameters.fields)
    fields = None if extractor.fields is None else sorted(extractor.fields)
    facts = {"fields (name them: fields=…)": repr(fields), "kind of documents": extractor.kind}
    found = extractor.survey(data.X)
    return Survey(features=found, facts=facts | {"width": getattr(extractor.inner, "width", None)})


def compile_clusters(
    parameters: ClusterParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    survey: Survey | None = None,
) -> Compiled[ClusterModel]:
    """Compile documents and clusters to arrays; `survey` describes all pieces of the data.

    The names of clusters do not matter, so `labels` is ignored.
    """
    _check_documents(data.X)
    extractor = PairExtractor.choose(data.X, parameters.pair_features, parameters.fields)
    if survey is not None:
        extractor.adopt(survey.features)
    alone = survey is None or not survey.features  # features of a matrix are columns and need no numbering
    documents = extractor.fit(data.X) if alone else extractor.transform(data.X)
    if survey is None and not len(documents.first):
        raise DataError("no document has a pair of items to learn from")
    clusters = cluster_numbers(documents, data.y)
    examples = DECODERS[parameters.decoder](documents, extractor.n_features, clusters, penalty=parameters.link_penalty)
    return Compiled(
        examples,
        partial(_model, extractor, parameters.decoder),
        score=None if data.dev is None else _dev_score(parameters, extractor, *data.dev),
        metric=parameters.dev_metric,
        sample_weight=data.sample_weight,
        completions=partial(forests_of, examples) if isinstance(examples, ForestExamples) else None,
    )


def cluster_numbers(documents: Documents, y: Any) -> IntVector:
    """The number of every item's cluster; `y` has for each document a list of clusters, under any names."""
    check_clusters(y, np.diff(documents.items).tolist(), "clusters", "item")
    try:
        numbers = list(chain.from_iterable(by_first(list(labels)) for labels in y))
    except TypeError:
        raise DataError("clusters must have names that can be compared, such as numbers or strings") from None
    return np.array(numbers, dtype=np.int32)


def forests_of(examples: ForestExamples, given: Any) -> Flags:
    """The user's completions as flags of pairs; for each document they are a list of links (i, j).

    The links must be a spanning forest of the gold clusters; only missing pairs excuse a cluster that falls apart.
    """
    documents = examples.layout
    if len(given) != examples.n_examples:
        raise DataError(f"there are {examples.n_examples} documents, but {len(given)} lists of links")
    flags = np.zeros(len(documents.first), dtype=np.int8)
    for i, links in enumerate(given):
        begin, end = documents.pairs[i : i + 2].tolist()
        ends = zip(documents.first[begin:end].tolist(), documents.second[begin:end].tolist(), strict=True)
        place = {pair: begin + k for k, pair in enumerate(ends)}
        for link in links:
            pair = tuple(sorted(link))
            if pair not in place or not examples.inside[place[pair]]:
                raise DataError(f"document {i}: {link!r:.60} is not a given pair of items of one cluster")
            flags[place[pair]] = 1
    trees, n_links = split(examples.trees(flags).tolist(), documents.items), sums(flags, documents.pairs)
    for i, n in enumerate(n_links.astype(np.int64).tolist()):
        if n != len(trees[i]) - len(set(trees[i])):
            raise DataError(f"document {i}: its links form a circle")
        if n != examples.most_right[i]:
            raise DataError(f"document {i}: its {n} links do not hold the gold clusters together")
    return flags


def _check_documents(X: Any) -> None:
    check_list(X)
    if not len(X):
        raise DataError("there is no document to learn from")
    for i, document in enumerate(X):
        if isinstance(document, str | bytes | dict) or not hasattr(document, "__len__"):
            raise DataError(f"document {i} must be a list of records, not {document!r:.60}")


def _dev_score(parameters: ClusterParameters, extractor: PairExtractor, X: Any, y: Any) -> Score:
    """F1 by the chosen metric as a function of the weights."""
    documents = extractor.transform(X)
    cluster_numbers(documents, y)
    examples = DECODERS[parameters.decoder](documents, extractor.n_features)
    return score_of_outputs(
        examples,
        parameters.n_jobs,
        lambda outputs: f1_of_clusters(y, clusters_in(examples, outputs), parameters.dev_metric),
    )


def f1_of_clusters(y: Any, outputs: Sequence[Sequence[int]], metric: str) -> float:
    """F1 of the predicted clusters of all documents by one of the scores."""
    return clustering_scores([list(labels) for labels in y], outputs, [metric])[metric].f1


def _model(extractor: PairExtractor, decoder: str, solution: Solution, summary: dict[str, Any]) -> ClusterModel:
    return ClusterModel([], extractor, solution.w, decoder, summary=summary)


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
        return f1_of_clusters(y, self.predict(X), self.dev_metric)

    @classmethod
    def from_model(cls, model: ClusterModel, **given: Any) -> Self:
        """Wrap a trained model; if it used a function `pair_features`, pass it again: model files hold no code."""
        if given.get("pair_features") is not None:
            model.extractor.function = given["pair_features"]
        return super().from_model(model, **given)
