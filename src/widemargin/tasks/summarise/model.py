"""Trained summarisers: settings and weights. Model files call their structure ``summaries``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, flag, names, number, optional, whole
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.decoders.coverage import Limits
from widemargin.errors import WidemarginError
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Option, Question, compared, listed
from widemargin.report.svg import web_page
from widemargin.report.text import shown
from widemargin.summaries import mean_rouge
from widemargin.tasks.base import Corpus, Model, Piece, Reading
from widemargin.tasks.strongest import Part, strongest
from widemargin.tasks.summarise.examples import ExtractExamples
from widemargin.tasks.summarise.features import (
    NAMES,
    Candidates,
    Summary,
    SummarySettings,
    Topic,
    as_references,
    as_topics,
    candidates_of,
)
from widemargin.tasks.summarise.files import cut, is_utf8, read_topics, rouge_evaluation

LONGEST, WIDEST = 1_000_000, 10  # the longest summaries and concepts


def chosen_sentences(
    topics: Sequence[Topic], compiled: Sequence[Candidates], w: FloatVector, limits: Limits, n_threads: int = 1
) -> list[Summary]:
    """The summaries of topics."""
    examples = ExtractExamples([each.extract for each in compiled], len(NAMES), limits)
    found = [each for part in predict(examples, w, n_threads) for each in part]
    summaries = []
    for topic, (_, places), output in zip(topics, compiled, found, strict=True):
        chosen = sorted(places[k] for k in np.flatnonzero(output.chosen).tolist())
        summaries.append(Summary([topic.documents[d][s] for d, s in chosen], chosen))
    return summaries


@dataclass
class SummaryModel(Model):
    """A trained summariser: an extract scores the sum of its sentences and of the concepts that they cover."""

    kind: ClassVar[str] = "summaries"
    predicts: ClassVar[str] = "summaries"
    counts: ClassVar[str] = "sentences"
    draws: ClassVar[bool] = True
    explains: ClassVar[bool] = True
    drawn_as: ClassVar[str] = ".html"
    fields: ClassVar[Fields] = {
        "length": whole(at_least=1, at_most=LONGEST),
        "order": whole(at_least=1, at_most=WIDEST),
        "lower": flag(),
        "split_sentences": flag(),
        "stop_words": names(str),
        "time_limit": optional(number(at_least=0.0)),
        "node_limit": optional(whole(at_least=1, at_most=2**31 - 1)),
        "features": names(str),
    }

    settings: SummarySettings
    limits: Limits
    weights: FloatVector

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of features and weights."""
        return {"labels": 0, "features": len(NAMES), "weights": len(self.weights)}

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights

    # With data at hand.

    def predict(self, X: Any, n_threads: int = 1) -> list[Summary]:
        """The summary of each topic."""
        topics = as_topics(X, split=self.settings.split_sentences)
        compiled = [candidates_of(topic, self.settings) for topic in topics]
        return chosen_sentences(topics, compiled, self.weights, self.limits, n_threads)

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """ROUGE by the references."""
        begin = perf_counter()
        summaries = self.predict(X, n_threads)
        seconds = {"summarising": perf_counter() - begin}
        references = as_references(y, len(summaries))
        scores = mean_rouge(references, [summary.text for summary in summaries])
        return rouge_evaluation(scores, [("length", f"at most {self.settings.length} words")], seconds)

    # With files at hand.

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two topics."""
        return cut(head, reading)

    def pieces(self, path: str, reading: Reading) -> Iterator[Piece]:
        """A file of topics piece by piece, if it is in UTF-8."""
        if is_utf8(self.about):
            yield from super().pieces(path, reading)
        else:
            yield Piece(self.read(path, reading, gold=False))

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file or folder of topics."""
        return read_topics(path, reading, self.about, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The summaries as text, a sentence per line and an empty line between topics; or as JSON lines."""
        text: str = corpus.document.text_with(outputs, as_json="jsonl" in (reading.format, corpus.document.format))
        return text

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The documents with the chosen sentences marked."""
        topics = as_topics(corpus.X, split=self.settings.split_sentences)
        if terminal:
            return "".join(f"{line}\n" for line in summary_lines(topics, outputs))
        return summary_page(topics, outputs)

    # About itself.

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        return {"features": Part("Features for and against", strongest(self.weights, top, NAMES.__getitem__))}

    def remarks(self) -> list[tuple[str, str]]:
        """The largest length of summaries, and how many integer programmes were cut short."""
        found = [("summaries", f"of at most {self.settings.length} words")]
        n = self.summary.get("cut_short", 0)
        bounds = "the bounds on what they missed are part of the certificate"
        return [*found, ("cut short", f"{n:,} integer programmes; {bounds}")] if n else found

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One topic of a file alone, counted from 1."""
        if not 1 <= number <= len(corpus.X):
            raise WidemarginError(f"there is no topic {number} in a file of {len(corpus.X)}")
        return corpus._replace(X=[corpus.X[number - 1]], y=None)

    def explain(self, X: Any, question: Question) -> Explanation:
        """The chosen sentences and what each adds; with a token n, the reasons for and against sentence n alone."""
        if question.head is not None or question.span is not None or question.label is not None:
            raise WidemarginError(f"the model predicts {self.predicts}; ask for a sentence of the topic by --token N")
        (topic,) = as_topics(X, split=self.settings.split_sentences)
        candidates = candidates_of(topic, self.settings)
        if question.token is None:
            return listed(self._contributions(topic, candidates))
        places = [(d, s) for d, document in enumerate(topic.documents) for s in range(len(document))]
        if not 1 <= question.token <= len(places):
            raise WidemarginError(f"there is no sentence {question.token} in a topic of {len(places)}")
        place = places[question.token - 1]
        if place not in candidates.places:
            raise WidemarginError(
                f"sentence {question.token} cannot be chosen: it is empty, longer than {self.settings.length} words, "
                "or occurs further up"
            )
        extract = candidates.extract
        one = np.zeros(extract.coverage.n_items, dtype=np.bool_)
        one[candidates.places.index(place)] = True
        votes = zip(NAMES, (self.weights * extract.features(one)).tolist(), strict=True)
        taken, left = Option(topic.documents[place[0]][place[1]], list(votes)), Option("left out", [])
        return compared(taken, left) if taken.score > 0.0 else compared(left, taken)

    def _contributions(self, topic: Topic, candidates: Candidates) -> list[tuple[str, float, str]]:
        """For each chosen sentence, the score that its removal would cost, the largest first."""
        extract, (summary,) = candidates.extract, self.predict([topic])
        chosen = np.array([place in summary.places for place in candidates.places], dtype=np.bool_)
        score, found = float(self.weights @ extract.features(chosen)), []
        for k in np.flatnonzero(chosen).tolist():
            others = chosen.copy()
            others[k] = False
            d, s = candidates.places[k]
            found.append((topic.documents[d][s], score - float(self.weights @ extract.features(others)), "left out"))
        return sorted(found, key=lambda each: -each[1])

    # Its file.

    def compacted(self) -> Self:
        """The model itself: it has a few dozen weights."""
        return self

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        limits = {"time_limit": self.limits.seconds, "node_limit": self.limits.nodes}
        return {**self.settings._asdict(), **limits, "features": list(NAMES)}, {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header = stored.header
        if header["features"] != list(NAMES):
            raise WidemarginError("its features are not those of this version")
        settings = SummarySettings(*(header[name] for name in SummarySettings._fields))
        limits = Limits(header["time_limit"], header["node_limit"])
        weights = stored.vector("weights", np.float64, len(NAMES))
        return cls([], settings, limits, weights, summary=header["summary"])


STYLE = """
h1 { font-size: 1.3rem; margin-top: 3rem; }
.summary { border-left: 4px solid var(--accent); padding-left: 1rem; }
.source { color: var(--faint); } .source p { margin: 0.15rem 0; }
mark { background: #fde68a; color: #1b1f24; }
"""


def summary_lines(topics: Sequence[Topic], summaries: Sequence[Summary]) -> Iterator[str]:
    r"""The documents, a sentence per line, with an arrow before the chosen ones.

    >>> topic, summary = Topic([["It rains.", "We stay."]], "weather"), Summary(["We stay."], [(0, 1)])
    >>> print(*summary_lines([topic], [summary]), sep="\n")
    weather
      It rains.
    > We stay.
    """
    for k, (topic, summary) in enumerate(zip(topics, summaries, strict=True)):
        if k:
            yield ""
        if topic.name:
            yield shown(topic.name)
        for d, document in enumerate(topic.documents):
            if d:
                yield ""
            for s, sentence in enumerate(document):
                yield ("> " if (d, s) in summary.places else "  ") + shown(sentence)


def summary_page(topics: Sequence[Topic], summaries: Sequence[Summary]) -> str:
    """The summaries, each above its documents, as a web page without scripts, which needs no network."""
    parts = "".join(_article(*each) for each in zip(topics, summaries, strict=True))
    return web_page("Summaries", parts, STYLE)


def _article(topic: Topic, summary: Summary) -> str:
    heading = f"<h1>{_escape(topic.name)}</h1>\n" if topic.name else ""
    chosen = "".join(f"<p>{_escape(sentence)}</p>\n" for sentence in summary.sentences)
    documents = ""
    for d, document in enumerate(topic.documents):
        sentences = (_sentence(s, marked=(d, k) in summary.places) for k, s in enumerate(document))
        documents += f'<div class="source">\n{"".join(sentences)}</div>\n<hr>\n'
    return f'<article>\n{heading}<div class="summary">\n{chosen}</div>\n{documents}</article>\n'


def _sentence(text: str, *, marked: bool) -> str:
    written = _escape(text)
    return f"<p><mark>{written}</mark></p>\n" if marked else f"<p>{written}</p>\n"


def _escape(text: str) -> str:
    return escape(shown(text))
