"""Texts with coreference: files with marked or detected mentions, their entities, and scores of entities.

`y` has for each document the entity of every mention, under any names. If mentions were detected, some belong to no
entity, and some gold mentions are missing. `Entities` holds both, and both count in the scores.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import IntVector
from widemargin.clusterings import SCORES, Clusters, by_first, clusters_of, conll_f1, scores_of_clusters
from widemargin.errors import DataError, WidemarginError
from widemargin.files import mention_lines, mentions
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source, shorten
from widemargin.metrics import Score
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.clusters import ClusteringReporter, check_clusters, evaluation_of_clusters, open_document
from widemargin.tasks.coreference.pictures import explain_links, strongest_measures, text_lines, text_page
from widemargin.tasks.files import Files, Likeness
from widemargin.tasks.strongest import Part
from widemargin.text.mentions import Mentions, detect_mentions

if TYPE_CHECKING:
    from widemargin.tasks.coreference.model import CoreferenceModel

FORMATS = ("conllu", "conll", "jsonl", "brackets")
MENTIONS = ("gold", "detected")

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
    """The number of every mention's entity in its document; a mention without one gets an entity of its own."""
    check_clusters(y, list(map(len, X)), "entities", "mention")
    numbers: list[int] = []
    for i, labels in enumerate(y):
        try:
            numbers += by_first(_names(labels))
        except TypeError:
            raise DataError(f"document {i}: entities must have names such as numbers or strings") from None
    return np.array(numbers, dtype=np.int32)


def _names(labels: Any) -> list[Hashable]:
    """The entities; each mention without one gets a unique name."""
    if not isinstance(labels, Entities):
        return list(labels)
    return [("none", k) if label is None else ("some", label) for k, label in enumerate(labels.labels)]


def has_singletons(X: Sequence[Mentions], y: Sequence[Any]) -> bool:
    """Whether any gold entity has a single mention."""
    return any(len(entity) == 1 for document, labels in zip(X, y, strict=True) for entity in gold_of(document, labels))


def gold_of(document: Mentions, labels: Any) -> Clusters:
    """The gold entities of a document as lists of mentions: their numbers or, if they were detected, their spans."""
    if not isinstance(labels, Entities):
        return clusters_of(list(labels))
    found: dict[Hashable, list[Span]] = {}
    known = [*zip(document.spans, labels.labels, strict=True), *labels.missed]
    for span, label in known:
        if label is not None:
            found.setdefault(label, []).append(span)
    return list(found.values())


def found_of(document: Mentions, labels: Any, predicted: Sequence[int], singletons: bool) -> Clusters:
    """The predicted entities in the same form; detected mentions that stay alone count only with `singletons`."""
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
    """All scores of entities marked in a text; its mentions may differ from the gold ones."""
    gold, found = (
        [gold_of(document, Entities(labels)) for document, labels in zip(*side, strict=True)]
        for side in ((X, y), (X_found, y_found))
    )
    return scores_of_clusters(gold, found, SCORES)


def entity_evaluation(scores: dict[str, Score], seconds: dict[str, float]) -> Evaluation:
    """The scores as an evaluation."""
    facts = [
        ("CoNLL", f"{share(conll_f1(scores))}, the mean of MUC, B³ and CEAF by entities"),
        ("LEA, BLANC", f"{share(scores['lea'].f1)}, {share(scores['blanc'].f1)}"),
    ]
    return evaluation_of_clusters(scores, "conll_f1", facts, seconds)


class CoreferenceReporter(ClusteringReporter):
    """Reports on models of coreference."""

    model: "CoreferenceModel"

    counts = "mentions"
    asked = ("span",)
    ask_for = "two mentions by --span I:J"
    drawn_as = ".html"

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predicted entities agree with `y`, by all scores, and how long prediction takes."""
        outputs, seconds = self.timed_clusters(X, n_threads, "linking")
        return entity_evaluation(entity_scores(X, y, outputs, self.model.singletons), seconds)

    def warm_up(self) -> None:
        """Link two mentions, so that loading compiled kernels does not count."""
        self.model.predict([Mentions({"word": ["a", "a"]}, np.zeros(2, dtype=np.int64), [(0, 1), (1, 2)])])

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two documents; None for a file of trees in brackets, which is one document."""
        chosen = reading.format or guess(head)
        return {"jsonl": every_line, "conllu": mentions.cut, "conll": mentions.cut}.get(chosen)

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of texts."""
        return read_texts(path, reading, self.model.about, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The file with its entities replaced."""
        return str(corpus.document.text_with(outputs, singletons=self.model.singletons))

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The texts with their entities in colours, as a web page or for a terminal."""
        return text_lines(corpus.X, outputs) if terminal else text_page(corpus.X, outputs)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest measures of links; features with words have no names outside a text."""
        return strongest_measures(self.model.extractor, self.model.weights, top)

    def answer(self, X: Any, question: Question) -> Explanation:
        """The links of a document; with a span i:j, the reasons for and against linking the mentions i and j."""
        return explain_links(self.model, X, question)


class CoreferenceFiles(Files):
    """Files with entities to learn from."""

    reporter = CoreferenceReporter
    only_read = ("mentions",)

    def read(
        self,
        path: str,
        reading: Reading,
        about: Mapping[str, Any],
        *,
        gold: bool,
        mentions: str = "gold",
        **own: Any,
    ) -> Corpus:
        """The documents of a file, and the entity of every mention."""
        if mentions not in MENTIONS:
            raise WidemarginError(f"mentions are {' or '.join(MENTIONS)}, not {mentions!r:.60}")
        return read_texts(path, reading, {**about, "detected": mentions == "detected"}, gold=gold)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Texts whose entities are marked."""
        chosen = reading.format or guess(raw)
        first = next((line for line in raw.lines if line.strip()), "")
        marked = (chosen == "jsonl" and '"sentences"' in first) or (
            chosen == "conll" and first.startswith("#begin document")
        )
        return Likeness.LIKELY if marked else Likeness.NONE

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """The words must be the same; mentions may differ."""
        super().check_aligned(*(each._replace(size={"documents": len(each.X)}) for each in (gold, predicted)))
        for i, (wanted, found) in enumerate(zip(gold.X, predicted.X, strict=True), 1):
            words = zip(wanted.columns["word"], found.columns["word"], strict=False)
            for t, (one, other) in enumerate(words, 1):
                if one != other:
                    where = f"token {t} of document {i}" + (f" ({wanted.name})" if wanted.name else "")
                    raise DataError(f"{where} is {shorten(other)!r}, but {shorten(one)!r} in the gold file")
            sizes = len(found.columns["word"]), len(wanted.columns["word"])
            if sizes[0] != sizes[1]:
                raise DataError(f"document {i} has {sizes[0]} tokens, but {sizes[1]} in the gold file")

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """All scores of entities."""
        return entity_evaluation(marked_scores(gold.X, gold.y, predicted.X, predicted.y), {})


class MarkedText(NamedTuple):
    """A file as it was read, and its documents, with detected mentions if these were asked for."""

    document: Any
    X: Sequence[Mentions]
    is_detected: bool

    def text_with(self, outputs: Sequence[Sequence[int]], *, singletons: bool) -> str:
        """The file with these entities; without `singletons`, detected mentions that stay alone are left out."""
        if not self.is_detected:
            return str(self.document.rewrite(outputs))
        spans, entities = [], []
        for mentions_, found in zip(self.X, outputs, strict=True):
            sizes = {found[cluster[0]]: len(cluster) for cluster in clusters_of(found)}
            kept = [m for m, entity in enumerate(found) if singletons or sizes[entity] > 1]
            spans.append([mentions_.spans[m] for m in kept])
            entities.append([found[m] for m in kept])
        return str(self.document.mark_mentions(spans, entities))


def read_texts(
    path: Source, reading: Reading | None = None, about: Mapping[str, Any] | None = None, *, gold: bool = True
) -> Corpus:
    """The documents of a file, and the entities of their mentions if `gold`; `about` are facts about similar files.

    Mentions are detected if `about` says so.
    """
    reading, about = reading or Reading(), about or {}
    raw, chosen = open_document(path, reading, FORMATS, "texts with coreference", "entities")
    marked = not about.get("detected", False)
    document: Any
    if chosen == "brackets":
        document = mentions.read_trees(raw, gold=gold or marked)
    elif chosen == "jsonl":
        document = mention_lines.read(raw, gold=gold, required=marked)
    else:
        document = mentions.read(raw, chosen, reading.columns, about, gold=gold, required=marked)
    X, y = (document.X, document.y) if marked else _detect(document.X, document.y)
    facts: dict[str, Any] = {
        "format": chosen,
        "detected": not marked,
        **({"columns": list(document.names)} if chosen == "conll" else {}),
    }
    size = {"documents": len(X), "mentions": sum(map(len, X))}
    return Corpus(X, y if gold else None, facts, size, MarkedText(document, X, not marked))


def _detect(X: Sequence[Mentions], y: Sequence[Sequence[str]]) -> tuple[list[Mentions], list[Entities]]:
    """The documents with detected mentions, and the entities of these mentions."""
    documents, entities = [], []
    for document, labels in zip(X, y, strict=True):
        spans = detect_mentions(document)
        known = dict(zip(document.spans, labels, strict=True))
        found = set(spans)
        documents.append(replace(document, spans=spans))
        missed = [(span, label) for span, label in known.items() if span not in found]
        entities.append(Entities([known.get(span) for span in spans], missed))
    return documents, entities
