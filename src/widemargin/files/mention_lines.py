"""Mentions in JSON lines: a document per line.

    {"id": "a", "sentences": [["The", "pope", "spoke"], ["He", …]], "clusters": [[[0, 1], [3, 3]], …]}

Spans are the numbers of their first and last token, counted from 0 in the document, both included, as in most systems
for coreference. ``mentions`` may list spans that are in no cluster, or all spans to be clustered. ``lemma``, ``upos``,
``xpos``, ``feats``, ``head``, ``deprel`` and ``parse`` may also have a list per sentence. Predictions replace
``clusters``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.files.jsonlines import json_object, with_member
from widemargin.files.mentions import USED, some_mentions
from widemargin.files.raw import RawText, shorten
from widemargin.text.mentions import Mentions

Span = tuple[int, int]


class MentionLines(NamedTuple):
    """The documents of a file, and the line of each."""

    raw: RawText
    X: list[Mentions]
    y: list[list[str]]
    lines: list[int]
    names: Sequence[str] = ()
    facts: Mapping[str, Any] = {}

    @property
    def sizes(self) -> list[int]:
        """The number of mentions of each document."""
        return list(map(len, self.X))

    def rewrite(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with these clusters of its mentions."""
        return self.mark_mentions([mentions.spans for mentions in self.X], outputs)

    def mark_mentions(self, spans: Sequence[Sequence[Span]], outputs: Sequence[Sequence[int]]) -> str:
        """The file with these clusters of these mentions."""
        written = list(self.raw.lines)
        for line, mentions, clusters in zip(self.lines, spans, outputs, strict=True):
            found: dict[int, list[list[int]]] = {}
            for (start, end), cluster in zip(mentions, clusters, strict=True):
                found.setdefault(cluster, []).append([start, end - 1])
            written[line] = with_member(written[line], "clusters", list(found.values()))
        return self.raw.text(written)


def read(raw: RawText, *, gold: bool, required: bool = True) -> MentionLines:
    """Read JSON lines of mentions; if mentions are `required`, there must be some."""
    objects = {number: json_object(raw, number) for number, line in enumerate(raw.lines) if line.strip()}
    X, y = [], []
    for number, members in objects.items():
        columns, sentence = _columns(raw, number, members)
        entity = _entities(raw, number, members, len(sentence))
        spans = sorted(entity, key=lambda span: (span[0], -span[1]))
        title = members.get("id", members.get("doc_key", ""))
        X.append(Mentions(columns, sentence, spans, title if isinstance(title, str) else str(title)[:60]))
        y.append([entity[span] for span in spans])
    if required and not some_mentions(raw, any(map(len, X))):
        raise DataError(f"{raw.source} has no mentions, neither in clusters nor under mentions")
    return MentionLines(raw, X, y, list(objects))


def _columns(raw: RawText, number: int, members: dict[str, Any]) -> tuple[dict[str, list[str]], Any]:
    """The columns of the tokens of a document, and the sentence of each token."""
    sentences = _strings(raw, number, members, "sentences")
    lengths = list(map(len, sentences))
    columns = {"word": [word for sentence in sentences for word in sentence]}
    for name in USED[1:]:
        if name in members:
            given = _strings(raw, number, members, name)
            if list(map(len, given)) != lengths:
                raise raw.fault(number, f'"{name}" has not as many items as "sentences"')
            columns[name] = [value for sentence in given for value in sentence]
    return columns, np.repeat(np.arange(len(lengths)), lengths)


def _strings(raw: RawText, number: int, members: dict[str, Any], key: str) -> list[list[str]]:
    if key not in members:
        raise raw.fault(number, f'the object has no "{key}"')
    lists = members[key]
    for each in lists if isinstance(lists, list) else [lists]:
        if not isinstance(each, list) or not all(isinstance(item, str | int) for item in each):
            raise raw.fault(number, f'"{key}" has {shorten(repr(each))} where a list of strings is wanted')
    return [list(map(str, each)) for each in lists]


def _entities(raw: RawText, number: int, members: dict[str, Any], n: int) -> dict[Span, str]:
    """The name of the entity of each span; mentions in no cluster are entities of their own."""
    found: dict[Span, str] = {}
    for k, cluster in enumerate(_list(raw, number, members, "clusters")):
        for item in _list(raw, number, {"a cluster": cluster}, "a cluster"):
            span = _span(raw, number, item, n)
            if span in found:
                raise raw.fault(number, f"the span {shorten(repr(item))} is in two clusters")
            found[span] = f"cluster {k}"
    for k, item in enumerate(_list(raw, number, members, "mentions")):
        found.setdefault(_span(raw, number, item, n), f"mention {k}")
    return found


def _list(raw: RawText, number: int, members: dict[str, Any], key: str) -> list[Any]:
    value = members.get(key, [])
    if not isinstance(value, list):
        raise raw.fault(number, f'"{key}" is {shorten(repr(value))} where a list is wanted')
    return value


def _span(raw: RawText, number: int, item: Any, n: int) -> Span:
    whole = isinstance(item, list) and len(item) == 2 and all(type(each) is int for each in item)
    if not whole or not 0 <= item[0] <= item[1] < n:
        raise raw.fault(number, f"{shorten(repr(item))} is not a span [first, last] of the {n} tokens")
    return item[0], item[1] + 1
