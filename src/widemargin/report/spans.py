"""Spans of words as a picture in SVG: words one after the other, spans as coloured boxes with their types below.

    12  Park Avenue , Leeds       the boxes of one type have one colour
    house  street      city

Lines are broken where they would become too wide; a span that goes on in the next line has a box in each.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from widemargin.errors import WidemarginError
from widemargin.report import svg
from widemargin.report.curves import COLOURS
from widemargin.report.svg import Picture, Text, number
from widemargin.report.text import printable

WORD_SIZE, TYPE_SIZE = 16.0, 10.5
PAD, GAP = 4.0, 6.0  # around the words of a box, and between two words
LINE = 50.0
BOX = 26.0
ROUNDED = 5.0


class Slot(NamedTuple):
    """The room of a word: its line, and from where to where it reaches there."""

    line: int
    left: float
    right: float


def spans_picture(
    words: Sequence[str], spans: Iterable[Sequence[Any]], *, types: Sequence[str] = (), width: float = 520.0
) -> Picture:
    """The words with their spans (start, end, type), which do not overlap, for `svg.page`; notebooks show it.

    `types` have the first colours, so that several pictures can have the same ones. No line is wider than `width`
    pixels, unless a word is.
    """
    ordered = _in_order(len(words), spans)
    kinds = dict.fromkeys([*types, *(kind for *_, kind in ordered)])
    colours = {kind: COLOURS[k % len(COLOURS)] for k, kind in enumerate(kinds)}
    slots = _slots(words, ordered, width)
    boxes, types = "", ""
    for start, end, kind in ordered:
        for line in sorted({slot.line for slot in slots[start:end]}):
            piece = [slot for slot in slots[start:end] if slot.line == line]
            left, right, top = piece[0].left, piece[-1].right, LINE * line
            boxes += f'<rect x="{number(left)}" y="{number(top)}" width="{number(right - left)}" height="{BOX:g}"'
            boxes += f' rx="{ROUNDED:g}" fill="{colours[kind]}" fill-opacity="0.2"/>\n'
            below = [Text((left + right) / 2, top + BOX + TYPE_SIZE + 2, kind)]
            types += svg.texts(below, size=TYPE_SIZE, colour=colours[kind], weight="bold")
    written = [
        Text((left + right) / 2, LINE * line + BOX - 8, word)
        for word, (line, left, right) in zip(words, slots, strict=True)
    ]
    body = svg.title(" ".join(words)) + boxes + svg.texts(written, size=WORD_SIZE, colour=svg.INK) + types
    lines = slots[-1].line if slots else 0
    return Picture(max((slot.right for slot in slots), default=0.0), LINE * lines + BOX + TYPE_SIZE + 6, body)


def _in_order(n_words: int, spans: Iterable[Sequence[Any]]) -> list[tuple[int, int, str]]:
    ordered = sorted((int(start), int(end), printable(str(kind))) for start, end, kind, *_ in map(tuple, spans))
    for (start, end, _), (after, _, _) in pairwise([*ordered, (n_words, n_words, "")]):
        if not 0 <= start < end <= after:
            raise WidemarginError(f"spans must lie within the {n_words} words and not overlap, unlike {start}:{end}")
    return ordered


def _slots(words: Sequence[str], spans: Sequence[tuple[int, int, str]], width: float) -> list[Slot]:
    """The room of every word; spans are padded at their ends, and wide enough for their types."""
    rooms = [svg.width_of(word, WORD_SIZE) for word in words]
    lead, trail = [0.0] * len(words), [0.0] * len(words)
    for start, end, kind in spans:
        lead[start] = trail[end - 1] = PAD
        missing = svg.width_of(kind, TYPE_SIZE) - sum(rooms[start:end]) - GAP * (end - start - 1)
        for t in range(start, end):
            rooms[t] += max(missing, 0.0) / (end - start)
    slots: list[Slot] = []
    line, x = 0, 0.0
    for before, room, after in zip(lead, rooms, trail, strict=True):
        whole = before + room + after
        if x and x + whole > width:
            line, x = line + 1, 0.0
        slots.append(Slot(line, x, x + whole))
        x += whole + GAP
    return slots
