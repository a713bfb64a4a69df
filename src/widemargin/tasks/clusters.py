"""What `tasks.cluster` and `tasks.coreference` share: their outputs have for each document a cluster of every item.

A document is a set of records, or a text whose mentions are the items and whose entities are the clusters.
"""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin._types import FloatVector
from widemargin.clusterings import NAMES, clusters_of, conll_f1
from widemargin.core.problem import predict
from widemargin.errors import DataError, WidemarginError
from widemargin.files.formats import guess
from widemargin.files.raw import RawText, Source
from widemargin.metrics import Score
from widemargin.report.evaluation import Evaluation, plain, score_table
from widemargin.tasks.base import Corpus, Reading, VectorModel
from widemargin.tasks.files import Reporter, alone_in_list, time_call
from widemargin.text.columns import split

COLOURS = ("#1f5fa8", "#c2410c", "#15803d", "#7e22ce", "#b45309", "#be123c", "#0f766e", "#4d7c0f", "#a21caf", "#334155")
"""Colours of clusters on white."""


class ClusteringModel(VectorModel):
    """A model that assigns the items of documents to clusters."""

    @abstractmethod
    def examples(self, X: Any) -> Any:
        """Documents as examples to be decoded."""

    def predict(self, X: Any, n_threads: int = 1) -> list[list[int]]:
        """The cluster of every item, numbered from 0 in each document by their first items."""
        return predict_clusters(self.examples(X), self.weights, n_threads)


class ClusteringReporter(Reporter):
    """Reports on models that cluster."""

    model: ClusteringModel

    def timed_clusters(self, X: Any, n_threads: int, stage: str) -> tuple[list[list[int]], dict[str, float]]:
        """The predicted clusters, and the seconds of comparing items and of this `stage`, decoding."""
        examples, comparing = time_call("comparing", self.model.examples, X)
        outputs, decoding = time_call(stage, predict_clusters, examples, self.model.weights, n_threads)
        return outputs, comparing | decoding

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One document of a file alone, counted from 1."""
        return alone_in_list(corpus, number, "document")


def predict_clusters(examples: Any, w: FloatVector, n_threads: int = 1) -> list[list[int]]:
    """The predicted clusters of all documents, numbered from 0 in each by their first items."""
    return clusters_in(examples, np.concatenate(predict(examples, w, n_threads)))


def clusters_in(examples: Any, outputs: Any) -> list[list[int]]:
    """The clusters of all documents in the outputs of the structure."""
    return split(examples.trees(outputs).tolist(), examples.layout.items)


def evaluation_of_clusters(
    scores: Mapping[str, Score],
    main: str,
    facts: list[tuple[str, str]],
    seconds: dict[str, float],
    losses: Mapping[str, float] | None = None,
) -> Evaluation:
    """All scores of clusters, and losses, as an evaluation whose `main` score is one of them."""
    of_scores = {f"{name}_f1": score.f1 for name, score in scores.items()}
    results = {**of_scores, "conll_f1": conll_f1(scores), **(losses or {}), "by_score": plain(scores)}
    tables = [score_table("By score", "score", {NAMES[name]: score for name, score in scores.items()})]
    return Evaluation(results, main, facts, tables, seconds)


def check_list(X: Any) -> None:
    """Raise unless `X` is a list, of documents."""
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a list of documents, not {type(X).__name__}")


def check_clusters(y: Any, sizes: Sequence[int], clusters: str, item: str) -> None:
    """Raise unless `y` has a cluster for each item of the documents of these sizes; the words are for messages."""
    if y is None or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list with the {clusters} of the {item}s of each document")
    if len(y) != len(sizes):
        raise DataError(f"there are {len(sizes)} documents, but {len(y)} lists of {clusters}")
    for i, (labels, n) in enumerate(zip(y, sizes, strict=True)):
        if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
            raise DataError(f"y[{i}] must be a list of {clusters}, one per {item}, not {labels!r:.60}")
        if len(labels) != n:
            raise DataError(f"document {i} has {n} {item}s, but {len(labels)} {clusters}")


def open_document(
    path: Source, reading: Reading, formats: Collection[str], texts: str, clusters: str
) -> tuple[RawText, str]:
    """The text of a file, and its format; raise unless the user's choices apply to it."""
    raw = RawText.load(path)
    chosen = reading.format or guess(raw)
    if chosen not in formats:
        raise WidemarginError(f"{texts} are read from {', '.join(formats)} files, not {chosen}")
    if reading.label is not None or reading.text:
        raise WidemarginError(f"{clusters} have their own place in each format; leave out --label and --text")
    if reading.columns is not None and chosen != "conll":
        raise WidemarginError(
            f"{raw.source} is read as {chosen}, where columns have names already; leave out --columns"
        )
    return raw, chosen


def larger_clusters(clusters: Sequence[int]) -> dict[int, int]:
    """The clusters with several items, numbered from 0 in the order of their first items."""
    several = [clusters[members[0]] for members in clusters_of(clusters) if len(members) > 1]
    return {cluster: number for number, cluster in enumerate(several)}
