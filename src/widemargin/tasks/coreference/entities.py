"""Gold entities of documents, and how well predicted ones agree with them.

`y` has for each document the entity of every mention, under any names. Where mentions were detected, some belong to no
entity, and some that do are missing: `Entities` says so, and both count in the scores.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._types import IntVector
from widemargin.clusterings import NAMES, SCORES, Clusters, by_first, clusters_of, conll_f1, scores_of_clusters
from widemargin.errors import DataError
from widemargin.metrics import Score
from widemargin.report.evaluation import Evaluation, plain, score_table
from widemargin.report.numbers import share
from widemargin.text.mentions import Mentions

Span = tuple[int, int]


@dataclass(frozen=True)
class Entities:
    """The entities of a document with detected mentions.

    Parameters
    ----------
    labels : the entity of each mention; None if it is not one of the gold mentions
    missed : spans and entities of gold mentions that were not detected
    """

    labels: Sequence[Hashable | None]
    missed: Sequence[tuple[Span, Hashable]] = field(default=())

    def __len__(self) -> int:
        return len(self.labels)


def entity_numbers(X: Sequence[Mentions], y: Any) -> IntVector:
    """The number of every mention's entity in its document; mentions of no entity are alone."""
    if y is None or not hasattr(y, "__len__"):
        raise DataError("y must be a list with the entities of the mentions of each document")
    if len(y) != len(X):
        raise DataError(f"there are {len(X)} documents, but {len(y)} lists of entities")
    numbers: list[int] = []
    for i, (document, labels) in enumerate(zip(X, y, strict=True)):
        if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
            raise DataError(f"y[{i}] must be a list of entities, one per mention, not {labels!r:.60}")
        if len(labels) != len(document):
            raise DataError(f"document {i} has {len(document)} mentions, but {len(labels)} entities")
        try:
            numbers += by_first(_known(labels))
        except TypeError:
            raise DataError(f"document {i}: entities must have names such as numbers or strings") from None
    return np.array(numbers, dtype=np.int32)


def _known(labels: Any) -> list[Hashable]:
    """The entities, with a name of its own for each mention of none."""
    if not isinstance(labels, Entities):
        return list(labels)
    return [("none", k) if label is None else ("some", label) for k, label in enumerate(labels.labels)]


def has_singletons(X: Sequence[Mentions], y: Sequence[Any]) -> bool:
    """Whether any gold entity has a single mention."""
    return any(len(entity) == 1 for document, labels in zip(X, y, strict=True) for entity in gold_of(document, labels))


def gold_of(document: Mentions, labels: Any) -> Clusters:
    """The gold entities of a document as sets of mentions: numbers, or spans where mentions were detected."""
    if not isinstance(labels, Entities):
        return clusters_of(list(labels))
    found: dict[Hashable, list[Span]] = {}
    known = [*zip(document.spans, labels.labels, strict=True), *labels.missed]
    for span, label in known:
        if label is not None:
            found.setdefault(label, []).append(span)
    return list(found.values())


def found_of(document: Mentions, labels: Any, predicted: Sequence[int], singletons: bool) -> Clusters:
    """The predicted entities in the same form; detected mentions that stay alone count only among `singletons`."""
    clusters = clusters_of(predicted)
    if not isinstance(labels, Entities):
        return clusters
    return [[document.spans[m] for m in cluster] for cluster in clusters if singletons or len(cluster) > 1]


def entity_scores(
    X: Sequence[Mentions], y: Sequence[Any], outputs: Sequence[Sequence[int]], singletons: bool
) -> dict[str, Score]:
    """All scores of predicted entities."""
    if len(y) != len(outputs):
        raise DataError(f"there are {len(y)} lists of gold entities, but {len(outputs)} documents")
    entity_numbers(X, y)
    gold = [gold_of(document, labels) for document, labels in zip(X, y, strict=True)]
    found = [found_of(*each, singletons) for each in zip(X, y, outputs, strict=True)]
    return scores_of_clusters(gold, found, SCORES)


def marked_scores(
    X: Sequence[Mentions], y: Sequence[Sequence[str]], X_found: Sequence[Mentions], y_found: Sequence[Sequence[str]]
) -> dict[str, Score]:
    """All scores of entities that are marked in a text, whose mentions may differ from the gold ones."""
    gold, found = (
        [gold_of(document, Entities(labels)) for document, labels in zip(*side, strict=True)]
        for side in ((X, y), (X_found, y_found))
    )
    return scores_of_clusters(gold, found, SCORES)


def entity_evaluation(scores: dict[str, Score], seconds: dict[str, float]) -> Evaluation:
    """The scores as an evaluation."""
    conll = conll_f1(scores)
    of_scores = {f"{name}_f1": score.f1 for name, score in scores.items()}
    facts = [
        ("CoNLL", f"{share(conll)}, the mean of MUC, B³ and CEAF by entities"),
        ("LEA, BLANC", f"{share(scores['lea'].f1)}, {share(scores['blanc'].f1)}"),
    ]
    tables = [score_table("By score", "score", {NAMES[name]: score for name, score in scores.items()})]
    return Evaluation({"conll_f1": conll, **of_scores, "by_score": plain(scores)}, "conll_f1", facts, tables, seconds)
