"""Texts with their summaries, as a web page or for a terminal, and why sentences are chosen."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.errors import WidemarginError
from widemargin.report.explain import Explanation, Option, Question, compare_options, list_parts
from widemargin.report.svg import web_page
from widemargin.report.text import printable
from widemargin.tasks.summarise.features import NAMES, Candidates, Summary, Topic, candidates_of

if TYPE_CHECKING:
    from widemargin.tasks.summarise.model import SummaryModel

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
            yield printable(topic.name)
        for d, document in enumerate(topic.documents):
            if d:
                yield ""
            for s, sentence in enumerate(document):
                yield ("> " if (d, s) in summary.places else "  ") + printable(sentence)


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
    return escape(printable(text))


def explain_sentences(model: "SummaryModel", X: Any, question: Question) -> Explanation:
    """The chosen sentences and what each adds; with a token n, the reasons for and against sentence n alone."""
    (topic,) = model.topics(X)
    candidates = candidates_of(topic, model.settings)
    if question.token is None:
        return list_parts(_contributions(model, topic, candidates))
    places = [(d, s) for d, document in enumerate(topic.documents) for s in range(len(document))]
    if not 1 <= question.token <= len(places):
        raise WidemarginError(f"there is no sentence {question.token} in a topic of {len(places)}")
    place = places[question.token - 1]
    if place not in candidates.places:
        raise WidemarginError(
            f"sentence {question.token} cannot be chosen: it is empty, longer than {model.settings.length} words, "
            "or occurs further up"
        )
    extract = candidates.extract
    one = np.zeros(extract.coverage.n_items, dtype=np.bool_)
    one[candidates.places.index(place)] = True
    votes = zip(NAMES, (model.weights * extract.features(one)).tolist(), strict=True)
    taken, left = Option(topic.documents[place[0]][place[1]], list(votes)), Option("left out", [])
    return compare_options(taken, left) if taken.score > 0.0 else compare_options(left, taken)


def _contributions(model: "SummaryModel", topic: Topic, candidates: Candidates) -> list[tuple[str, float, str]]:
    """For each chosen sentence, the score that its removal would cost, the largest first."""
    extract, (summary,) = candidates.extract, model.predict([topic])
    chosen = np.array([place in summary.places for place in candidates.places], dtype=np.bool_)
    score, found = float(model.weights @ extract.features(chosen)), []
    for k in np.flatnonzero(chosen).tolist():
        others = chosen.copy()
        others[k] = False
        d, s = candidates.places[k]
        found.append((topic.documents[d][s], score - float(model.weights @ extract.features(others)), "left out"))
    return sorted(found, key=lambda each: -each[1])
