"""Summaries as pictures: the documents of each topic with the chosen sentences marked, for terminals and as a web page.

The page has no scripts and needs no network.
"""

from collections.abc import Iterator, Sequence
from html import escape

from widemargin.report.html import web_page
from widemargin.report.text import shown
from widemargin.tasks.summarise.topics import Summary, Topic

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
    """The summaries, each above its documents, as a web page."""
    parts = "".join(_article(*each) for each in zip(topics, summaries, strict=True))
    return web_page("Summaries", parts, STYLE)


def _article(topic: Topic, summary: Summary) -> str:
    heading = f"<h1>{_written(topic.name)}</h1>\n" if topic.name else ""
    chosen = "".join(f"<p>{_written(sentence)}</p>\n" for sentence in summary.sentences)
    documents = ""
    for d, document in enumerate(topic.documents):
        sentences = (_sentence(s, marked=(d, k) in summary.places) for k, s in enumerate(document))
        documents += f'<div class="source">\n{"".join(sentences)}</div>\n<hr>\n'
    return f'<article>\n{heading}<div class="summary">\n{chosen}</div>\n{documents}</article>\n'


def _sentence(text: str, *, marked: bool) -> str:
    written = _written(text)
    return f"<p><mark>{written}</mark></p>\n" if marked else f"<p>{written}</p>\n"


def _written(text: str) -> str:
    return escape(shown(text))
