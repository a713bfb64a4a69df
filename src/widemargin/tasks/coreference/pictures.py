"""Texts with their entities in colours: a web page without scripts, or lines for a terminal.

Entities of several mentions have a colour and a number; single mentions have only a faint line.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from widemargin.clusterings import clusters_of
from widemargin.report.svg import web_page
from widemargin.report.text import shown
from widemargin.text.mentions import Mentions

COLOURS = ("#1f5fa8", "#c2410c", "#15803d", "#7e22ce", "#b45309", "#be123c", "#0f766e", "#4d7c0f", "#a21caf", "#334155")
CODES = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95)
"""Colours of a page, and those of a terminal."""
STYLE = """
body { font-size: 1.06rem; line-height: 2.1; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 0.5rem; } p { margin: 0 0 0.6rem; }
span { border-bottom: 1px dotted var(--strong); padding: 0 1px 1px; }
span.e { border-bottom: 2px solid; border-radius: 3px; }
span.e span.e { padding-bottom: 0; }
b { font-size: 0.65em; vertical-align: super; margin-left: 1px; }
"""


class Piece(NamedTuple):
    """A run of tokens of a mention; a mention that crosses another has several, and `is_last` marks the last."""

    start: int
    end: int
    entity: int
    is_last: bool


def text_page(X: Sequence[Mentions], outputs: Sequence[Sequence[int]]) -> str:
    """The documents as a web page."""
    body = "".join(_section(document, entities) for document, entities in zip(X, outputs, strict=True))
    return web_page("Entities", body, STYLE, dark=False)  # the colours of entities are made for white


def text_lines(X: Sequence[Mentions], outputs: Sequence[Sequence[int]]) -> str:
    """The documents as lines, a sentence each; coloured if standard output is a terminal with colours."""
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines = []
    for document, entities in zip(X, outputs, strict=True):
        if document.name:
            lines.append(shown(document.name))
        lines += [*_lines(document, entities, coloured=coloured), ""]
    return "\n".join(lines)


def _lines(document: Mentions, entities: Sequence[int], *, coloured: bool = False) -> Iterator[str]:
    r"""The sentences of a document.

    >>> import numpy as np
    >>> document = Mentions({"word": "Ada saw her .".split()}, np.zeros(4, dtype=int), [(0, 1), (2, 3)])
    >>> list(_lines(document, [0, 0]))
    ['[Ada]1 saw [her]1 .']
    """
    numbers, codes = _numbers(entities), list[int]()

    def begin(piece: Piece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return ""
        codes.append(CODES[(number - 1) % len(CODES)])
        return f"\x1b[{codes[-1]}m[" if coloured else "["

    def end(piece: Piece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return ""
        codes.pop()  # the mention around this one, if any, goes on in its own colour
        return f"]{number if piece.is_last else '…'}" + (f"\x1b[{codes[-1] if codes else 0}m" if coloured else "")

    return _sentences(document, entities, begin, end, shown)


def _section(document: Mentions, entities: Sequence[int]) -> str:
    numbers = _numbers(entities)

    def begin(piece: Piece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return "<span>"
        colour = COLOURS[(number - 1) % len(COLOURS)]
        return f'<span class="e" style="border-color:{colour};background:{colour}18" title="entity {number}">'

    def end(piece: Piece) -> str:
        number = numbers.get(piece.entity)
        if number is None or not piece.is_last:
            return "</span>"
        return f'<b style="color:{COLOURS[(number - 1) % len(COLOURS)]}">{number}</b></span>'

    written = _sentences(document, entities, begin, end, lambda word: escape(shown(word)))
    return f"<h2>{escape(shown(document.name))}</h2>\n" + "".join(f"<p>{sentence}</p>\n" for sentence in written)


def _numbers(entities: Sequence[int]) -> dict[int, int]:
    """A number for each entity with several mentions, from 1 on."""
    several = [entities[members[0]] for members in clusters_of(entities) if len(members) > 1]
    return {entity: number for number, entity in enumerate(several, start=1)}


def _sentences(
    document: Mentions,
    entities: Sequence[int],
    begin: Callable[[Piece], str],
    end: Callable[[Piece], str],
    spelt: Callable[[str], str],
) -> Iterator[str]:
    """The sentences; `begin` and `end` give the text before and after each piece of a mention."""
    words, sentence = document.columns["word"], document.sentence.tolist()
    opened: list[list[Piece]] = [[] for _ in words]
    closed: list[list[Piece]] = [[] for _ in words]
    for piece in _pieces(document, entities):
        opened[piece.start].append(piece)
        closed[piece.end - 1].insert(0, piece)
    line: list[str] = []
    for token, word in enumerate(words):
        if token and sentence[token] != sentence[token - 1]:
            yield " ".join(line)
            line = []
        around = "".join(map(begin, opened[token])), "".join(map(end, closed[token]))
        line.append(f"{around[0]}{spelt(word)}{around[1]}")
    if line:
        yield " ".join(line)


def _pieces(document: Mentions, entities: Sequence[int]) -> Iterator[Piece]:
    """The pieces of all mentions, properly nested, outer ones first; mentions are also cut at ends of sentences."""
    sentence = document.sentence.tolist()
    around: list[int] = []
    order = sorted(zip(document.spans, entities, strict=True), key=lambda each: (each[0][0], -each[0][1]))
    waiting = [(start, end, entity) for (start, end), entity in order]
    while waiting:
        start, end, entity = waiting.pop(0)
        around = [each for each in around if each > start]
        last = next((t for t in range(start, end - 1) if sentence[t] != sentence[t + 1]), end - 1) + 1
        stop = min([last, end, *around])
        if stop < end:
            waiting.append((stop, end, entity))
            waiting.sort(key=lambda each: (each[0], -each[1]))
        around.append(stop)
        yield Piece(start, stop, entity, stop == end)
