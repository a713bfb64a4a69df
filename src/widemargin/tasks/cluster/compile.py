"""From documents and their clusters to examples."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, IntVector
from widemargin.clusterings import SCORES, by_first, clustering_scores
from widemargin.core.checks import is_number
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.decoders.kruskal import Flags
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.forest import Documents, ForestExamples
from widemargin.tasks.cluster import ClusterParameters
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.cluster.model import DECODERS, ClusterModel, predicted
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data


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
    if parameters.decoder not in DECODERS:
        raise WidemarginError(f"there is no decoder {parameters.decoder!r}; there are {', '.join(DECODERS)}")
    if parameters.dev_metric not in SCORES:
        raise WidemarginError(f"there is no dev_metric {parameters.dev_metric!r}; there are {', '.join(SCORES)}")
    if not is_number(parameters.link_penalty) or not 0 <= parameters.link_penalty < np.inf:
        raise WidemarginError(f"link_penalty must be a number of at least 0, not {parameters.link_penalty!r}")
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
    score = None
    if data.dev is not None:
        score = _dev_score(parameters, extractor, *data.dev)
    return Compiled(
        examples,
        partial(_model, extractor, parameters.decoder),
        score=score,
        metric=parameters.dev_metric,
        sample_weight=data.sample_weight,
        completions=partial(forests_of, examples) if isinstance(examples, ForestExamples) else None,
    )


def cluster_numbers(documents: Documents, y: Any) -> IntVector:
    """The number of every item's cluster; `y` has for each document a list of clusters, under any names."""
    if y is None or not hasattr(y, "__len__"):
        raise DataError("y must be a list with the clusters of the items of each document")
    sizes = np.diff(documents.items).tolist()
    if len(y) != len(sizes):
        raise DataError(f"there are {len(sizes)} documents, but {len(y)} lists of clusters")
    for i, (labels, n) in enumerate(zip(y, sizes, strict=True)):
        if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
            raise DataError(f"y[{i}] must be a list of clusters, one per item, not {labels!r:.60}")
        if len(labels) != n:
            raise DataError(f"document {i} has {n} items, but {len(labels)} clusters")
    try:
        numbers = list(chain.from_iterable(by_first(list(labels)) for labels in y))
    except TypeError:
        raise DataError("clusters must have names that can be compared, such as numbers or strings") from None
    return np.array(numbers, dtype=np.int32)


def forests_of(examples: ForestExamples, given: Any) -> Flags:
    """The user's completions as flags of pairs; for each document they are a list of links (i, j).

    The links must be a spanning forest of the gold clusters; only missing pairs excuse a cluster that falls apart.
    """
    documents, clusters = examples.layout, examples.clusters
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
        trees = examples.trees(np.array([i], dtype=np.int32), flags[begin:end])
        n_links, n_trees = int(flags[begin:end].sum()), int(trees.max(initial=-1)) + 1
        if n_links != len(trees) - n_trees:
            raise DataError(f"document {i}: its links form a circle")
        if n_links != examples.most_right[i]:
            raise DataError(f"document {i}: its {n_links} links do not hold the gold clusters together")
    assert clusters is not None
    return flags


def _check_documents(X: Any) -> None:
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a list of documents, not {type(X).__name__}")
    if not len(X):
        raise DataError("there is no document to learn from")
    for i, document in enumerate(X):
        if isinstance(document, str | bytes | dict) or not hasattr(document, "__len__"):
            raise DataError(f"document {i} must be a list of records, not {document!r:.60}")


def _dev_score(parameters: ClusterParameters, extractor: PairExtractor, X: Any, y: Any) -> Score:
    """F1 by the chosen metric as a function of the weights."""
    documents = extractor.transform(X)
    cluster_numbers(documents, y)
    examples, n_threads = (
        DECODERS[parameters.decoder](documents, extractor.n_features),
        count_threads(parameters.n_jobs),
    )
    metric, gold = parameters.dev_metric, [list(labels) for labels in y]

    def score(w: FloatVector) -> float:
        return clustering_scores(gold, predicted(examples, w, n_threads), [metric])[metric].f1

    return score


def _model(extractor: PairExtractor, decoder: str, solution: Solution, summary: dict[str, Any]) -> ClusterModel:
    return ClusterModel([], extractor, solution.w, decoder, summary=summary)
