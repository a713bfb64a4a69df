"""BIO labels that are known in part, as the codes that tokens may have (`tasks.segment.spans`).

A label that continues a span, such as `I-X`, goes on with the segment before if that one certainly has the type X, and
begins one if it certainly has not, as everywhere in the library. If the token before may have the type X, it may do
either.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector
from widemargin.errors import DataError
from widemargin.text.partial import Cell, labels_in
from widemargin.text.spans import ENDS, OUTSIDE, STARTS, Span, parsed


class PartialSegments(NamedTuple):
    """The labels of segments, the codes that each token may have, whether anything is known of it, and known spans.

    `spans` holds the runs of known tokens of each sequence, as long as they may be one segment: a segment may be as
    long as the longest of its label.
    """

    labels: list[str]
    allowed: BoolMatrix
    given: BoolVector
    spans: list[list[Span]]


def encode_partial(sequences: Sequence[Sequence[Cell]]) -> PartialSegments:
    """Number the labels of segments, those with the most known tokens first."""
    tokens: dict[str, int] = {}
    for cell in (cell for each in sequences for cell in each):
        for label in labels_in(cell):
            tokens[_type(label)] = tokens.get(_type(label), 0) + isinstance(cell, str)
    if not tokens:
        raise DataError("there is no labelled token to learn from")
    labels = sorted(tokens, key=lambda label: (-tokens[label], label))
    number = {label: k for k, label in enumerate(labels)}
    rows = [row for each in sequences for row in _rows(each, number)]
    given = [cell is not None for each in sequences for cell in each]
    spans = [_known_runs(each) for each in sequences]
    return PartialSegments(labels, np.array(rows, dtype=bool), np.array(given, dtype=bool), spans)


def _type(label: str) -> str:
    """The label of the segment that a token with this BIO label is in."""
    prefix, type_ = parsed(label)
    return OUTSIDE if prefix == "O" else type_


def _rows(cells: Sequence[Cell], number: dict[str, int]) -> list[BoolVector]:
    """For each token, whether it may have each code."""
    outside, rows = number.get(OUTSIDE, -1), list[BoolVector]()
    before: set[str] = set()  # the labels that the segment of the token before may have
    ended = ""  # the type whose segment has certainly ended there
    for cell in cells:
        row = np.zeros(2 * len(number), dtype=bool)
        if cell is None:
            row[1::2] = True
            row[[2 * number[label] for label in before & number.keys() - {ended}]] = True
        for label in labels_in(cell):
            type_ = _type(label)
            goes_on = parsed(label)[0] not in STARTS and type_ in before - {ended, OUTSIDE}
            row[2 * number[type_]] |= goes_on
            row[2 * number[type_] + 1] |= not goes_on or before != {type_}
        if outside >= 0:
            row[2 * outside] = False  # tokens outside are segments of their own
        rows.append(row)
        # Nothing follows from an unknown token, not even if there is only one label.
        before = {*number, ""} if cell is None else set(map(_type, labels_in(cell)))
        ended = _type(cell) if isinstance(cell, str) and parsed(cell)[0] in ENDS else ""
    return rows


def _known_runs(cells: Sequence[Cell]) -> list[Span]:
    """Runs of tokens of known types that may be one segment."""
    runs: list[Span] = []
    for t, cell in enumerate(cells):
        types, prefixes = set(map(_type, labels_in(cell))), {parsed(label)[0] for label in labels_in(cell)}
        if len(types) != 1 or types == {OUTSIDE}:
            continue
        (type_,) = types
        if runs and runs[-1].end == t and runs[-1].type == type_ and not prefixes <= STARTS:
            runs[-1] = Span(runs[-1].start, t + 1, type_)
        else:
            runs.append(Span(t, t + 1, type_))
    return runs
