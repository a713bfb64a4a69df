"""Topics to summarise, in the forms that users pass, and their references.

A topic is a list of documents, or a text, which is one document. A document is a list of sentences, or a text with a
sentence on each line. Where lines hold paragraphs, `split_sentences` cuts them at full stops, question marks and
exclamation marks that a space and anything but a small letter follow; abbreviations before a capital are cut, too.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from widemargin.errors import DataError

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
    """The chosen sentences in the order of the documents, and the place of each: its document and its number there."""

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
