"""Topics to summarise, in the forms that users pass, their references, and features of sentences and concepts.

A topic is a list of documents, or a text, which is one document. A document is a list of sentences, or a text with a
sentence on each line. If lines hold paragraphs, `split_sentences` cuts them after a full stop, question mark or
exclamation mark, unless a small letter follows the space; so it also cuts after abbreviations before a capital.

Concepts are runs of n words. The frequency of a concept in c of n sentences is log(1 + c) / log(1 + n), so that topics
of different sizes compare. Repeated sentences count for frequencies, but only the first one can be chosen. Sentences
longer than the limit count, too, but cannot be chosen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log1p
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.sparse import boundaries
from widemargin.decoders.coverage import Coverage
from widemargin.errors import DataError
from widemargin.summaries import ngrams, words
from widemargin.tasks.summarise.examples import Extract

END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["'”’)\]]))\s+(?=[^\sa-z])""")

Document: TypeAlias = list[str]


class Topic(NamedTuple):
    """The sentences of each document of a topic; `name` is for files and pictures."""

    documents: list[Document]
    name: str = ""

    @property
    def n_sentences(self) -> int:
        """The number of sentences of all documents."""
        return sum(map(len, self.documents))


class Summary(NamedTuple):
    """The chosen sentences in the order of the documents, and their places: document, and number in the document."""

    sentences: list[str]
    places: list[tuple[int, int]]

    @property
    def text(self) -> str:
        """The sentences, one per line."""
        return "\n".join(self.sentences)


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph.

    >>> split_sentences('It works. "Really?" he asked.  Yes, e.g. at 3.5 km.')
    ['It works.', '"Really?" he asked.', 'Yes, e.g. at 3.5 km.']
    """
    return [part.strip() for part in END.split(text) if part.strip()]


def as_topics(X: Any, *, split: bool) -> list[Topic]:
    """Topics in any of the forms above."""
    if isinstance(X, str | bytes | dict | Topic) or not hasattr(X, "__iter__"):
        raise DataError(f"X must be a list of topics, each a list of documents, not {type(X).__name__}")
    return [_topic(i, topic, split=split) for i, topic in enumerate(X)]


def as_references(y: Any, n_topics: int) -> list[list[str]]:
    """The references of each topic: a list of texts, or a single text."""
    if y is None or isinstance(y, str | bytes | dict) or not hasattr(y, "__len__"):
        raise DataError("y must be a list with the reference summaries of each topic")
    if len(y) != n_topics:
        raise DataError(f"there are {n_topics} topics, but the references of {len(y)}")
    found = []
    for i, given in enumerate(y):
        references = [given] if isinstance(given, str) else given
        if isinstance(references, bytes | dict) or not hasattr(references, "__len__") or not len(references):
            raise DataError(f"y[{i}] must be a reference summary or a list of them, not {given!r:.60}")
        for reference in references:
            if not isinstance(reference, str):
                raise DataError(f"topic {i}: a reference must be a text, not {reference!r:.60}")
        found.append(list(references))
    return found


def _topic(i: int, given: Any, *, split: bool) -> Topic:
    name = given.name if isinstance(given, Topic) else ""
    documents = given.documents if isinstance(given, Topic) else [given] if isinstance(given, str) else given
    if isinstance(documents, bytes | dict) or not hasattr(documents, "__iter__"):
        raise DataError(f"topic {i} must be a list of documents, not {given!r:.60}")
    return Topic([_document(i, document, split=split) for document in documents], name)


def _document(i: int, given: Any, *, split: bool) -> Document:
    lines: Sequence[Any] = given.split("\n") if isinstance(given, str) else given
    if isinstance(lines, bytes | dict) or not hasattr(lines, "__iter__"):
        raise DataError(f"topic {i}: a document must be a text or a list of sentences, not {given!r:.60}")
    for line in lines:
        if not isinstance(line, str):
            raise DataError(f"topic {i}: a sentence must be a text, not {line!r:.60}")
    stripped = [line.strip() for line in lines if line.strip()]
    return [sentence for line in stripped for sentence in split_sentences(line)] if split else stripped


WORDS = """
a about above after again against all also am an and any are aren as at be because been before being below between
both but by can cannot could couldn d did didn do does doesn doing don down during each either else ever every few
for from further get got had hadn has hasn have haven having he her here hers herself him himself his how however i
if in into is isn it its itself just ll m may me might more most much must my myself neither no nor not now of off
on once one only or other our ours ourselves out over own re s same she should shouldn so some such t than that the
their theirs them themselves then there these they this those though through to too under until up upon us ve very
was wasn we were weren what when where whether which while who whom whose why will with within without won would
wouldn yet you your yours yourself yourselves
"""
ENGLISH = tuple(WORDS.split())


Concept: TypeAlias = tuple[str, ...]

COUNTS = (1, 2, 3, 5, 10)  # a feature for each: at least this many sentences
CONCEPT_FEATURES = (
    *(f"concept: in {n} or more sentences" for n in COUNTS),
    "concept: frequency",
    "concept: frequency, no stop words",
    "concept: frequency, some stop words",
    "concept: share of the most frequent",
    "concept: share of documents",
    "concept: no stop words",
    "concept: some stop words",
    "concept: how early it occurs",
    "concept: in a first sentence",
    "concept: begins a sentence",
    "concept: frequency of its words",
    "concept: has digits",
)
SENTENCE_FEATURES = (
    "sentence: any",
    "sentence: share of the limit",
    "sentence: first",
    "sentence: second",
    "sentence: third",
    "sentence: how early",
    "sentence: frequency of its words",
    "sentence: share of stop words",
    "sentence: share of numbers",
    "sentence: question",
    "sentence: begins with a small letter",
)
NAMES = (*CONCEPT_FEATURES, *SENTENCE_FEATURES)
N_CONCEPT = len(CONCEPT_FEATURES)


class SummarySettings(NamedTuple):
    """The settings of reading topics, and the length of summaries (`parameters.SummariserParameters`)."""

    length: int
    order: int
    lower: bool
    split_sentences: bool
    stop_words: Sequence[str]


class Candidates(NamedTuple):
    """A compiled topic, and the document and number of each sentence that can be chosen."""

    extract: Extract
    places: list[tuple[int, int]]


class _Sentence(NamedTuple):
    document: int
    number: int
    earliness: float  # 1 for the first sentence of its document, falling towards 0
    text: str
    tokens: list[str]
    concepts: set[Concept]


def concept_counts(texts: Iterable[str], settings: SummarySettings) -> Counter[Concept]:
    """The number of texts that contain each concept."""
    return Counter(
        concept for text in texts for concept in set(ngrams(words(text, lower=settings.lower), settings.order))
    )


def recall_of(references: Sequence[str], settings: SummarySettings) -> dict[Concept, float]:
    """r: the mean ROUGE recall over the references that each concept adds.

    Only the first occurrence counts, so ROUGE is higher if both summary and reference repeat a concept.
    """
    recall: dict[Concept, float] = {}
    for text in references:
        found = ngrams(words(text, lower=settings.lower), settings.order)
        for concept in sorted(set(found)):
            recall[concept] = recall.get(concept, 0.0) + 1.0 / (len(found) * len(references))
    return recall


def candidates_of(topic: Topic, settings: SummarySettings, recall: Mapping[Concept, float] | None = None) -> Candidates:
    """Compile a topic; `recall` is r of each concept."""
    sentences = _sentences(topic, settings)
    stop_words, counts = frozenset(settings.stop_words), Counter(chain.from_iterable(set(s.tokens) for s in sentences))
    features = _concept_features(sentences, topic, settings.order, counts, stop_words)
    first: dict[tuple[str, ...], _Sentence] = {}
    for sentence in sentences:
        if 0 < len(sentence.tokens) <= settings.length:
            first.setdefault(tuple(sentence.tokens), sentence)
    chosen = list(first.values())
    holders: dict[Concept, list[int]] = {}
    for k, sentence in enumerate(chosen):
        for concept in sorted(sentence.concepts):
            holders.setdefault(concept, []).append(k)
    own = [_sentence_row(s, settings.length, counts, len(sentences), stop_words) for s in chosen]
    extract = _merge(chosen, holders, features, own, recall or {}, settings.length)
    return Candidates(extract, [(s.document, s.number) for s in chosen])


def _sentences(topic: Topic, settings: SummarySettings) -> list[_Sentence]:
    found = []
    for d, document in enumerate(topic.documents):
        for number, text in enumerate(document):
            tokens = words(text, lower=settings.lower)
            earliness = 1.0 - number / len(document)
            found.append(_Sentence(d, number, earliness, text, tokens, set(ngrams(tokens, settings.order))))
    return found


def _concept_features(
    sentences: Sequence[_Sentence], topic: Topic, order: int, counts: Mapping[str, int], stop_words: frozenset[str]
) -> dict[Concept, FloatVector]:
    """g of every concept."""
    count = Counter(chain.from_iterable(s.concepts for s in sentences))
    documents = Counter(concept for concept, _ in {(c, s.document) for s in sentences for c in s.concepts})
    early: dict[Concept, float] = {}
    begins = {tuple(s.tokens[:order]) for s in sentences}
    for s in sentences:
        for concept in s.concepts:
            early[concept] = max(early.get(concept, 0.0), s.earliness)
    most, n = max(count.values(), default=1), len(sentences)
    found = {}
    for concept, c in count.items():
        frequency = _frequency(c, n)
        stops = sum(word in stop_words for word in concept)
        none, some = float(stops == 0), float(0 < stops < len(concept))
        found[concept] = np.array(
            [
                *(float(c >= least) for least in COUNTS),
                frequency,
                frequency * none,
                frequency * some,
                c / most,
                documents[concept] / len(topic.documents),
                none,
                some,
                early[concept],
                float(early[concept] == 1.0),
                float(concept in begins),
                sum(_frequency(counts[word], n) for word in concept) / len(concept),
                float(any(character.isdigit() for word in concept for character in word)),
            ]
        )
    return found


def _sentence_row(
    sentence: _Sentence, length: int, counts: Mapping[str, int], n: int, stop_words: frozenset[str]
) -> list[float]:
    """f of a sentence."""
    tokens = sentence.tokens
    content = [word for word in tokens if word not in stop_words]
    return [
        1.0,
        len(tokens) / length,
        *(float(sentence.number == k) for k in range(3)),
        sentence.earliness,
        sum(_frequency(counts[word], n) for word in content) / max(len(content), 1),
        1.0 - len(content) / len(tokens),
        sum(word.isdigit() for word in tokens) / len(tokens),
        float(sentence.text.rstrip().endswith("?")),
        float(sentence.text.lstrip()[:1].islower()),
    ]


def _frequency(count: int, n: int) -> float:
    return log1p(count) / log1p(n)


def _merge(
    chosen: Sequence[_Sentence],
    holders: Mapping[Concept, list[int]],
    features: Mapping[Concept, FloatVector],
    own: Sequence[Sequence[float]],
    recall: Mapping[Concept, float],
    length: int,
) -> Extract:
    """The extract; concepts of the same sentences are summed up, those of a single sentence are added to it."""
    sentences, sentence_recall = np.zeros((len(chosen), len(NAMES))), np.zeros(len(chosen))
    for k, row in enumerate(own):
        sentences[k, N_CONCEPT:] = row
    groups: dict[tuple[int, ...], list[Concept]] = {}
    for concept, having in holders.items():
        if len(having) == 1:
            sentences[having[0], :N_CONCEPT] += features[concept]
            sentence_recall[having[0]] += recall.get(concept, 0)
        else:
            groups.setdefault(tuple(having), []).append(concept)
    concepts, concept_recall = np.zeros((len(groups), len(NAMES))), np.zeros(len(groups))
    for g, together in enumerate(groups.values()):
        concepts[g, :N_CONCEPT] = sum(features[concept] for concept in together)
        concept_recall[g] = sum(recall.get(concept, 0) for concept in together)
    items = np.array([k for having in groups for k in having], dtype=np.int32)
    costs = np.array([len(s.tokens) for s in chosen], dtype=np.int64)
    coverage = Coverage(boundaries(map(len, groups)), items, costs, length)
    return Extract(coverage, sentences, concepts, sentence_recall, concept_recall)
