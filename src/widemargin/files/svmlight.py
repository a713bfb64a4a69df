"""Files of the svmlight format: one example per line, its labels first, then ``index:value`` pairs.

    spam 3:1 17:0.25 120:1  # a comment
    sweet,salty qid:4 2:1.5
     7:1

Labels are any words, separated by commas if there are several; a line that begins with a blank, or whose first word is
a feature, has none. Indices are whole numbers from 0 on, and stay as they are. ``qid:n`` is the query of an example.
Empty lines and lines with only a comment are not examples.
"""

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._types import LongVector
from widemargin.core.sparse import Matrix, Rows, of_width
from widemargin.errors import DataError
from widemargin.files.raw import RawText, shorten

LARGEST = 2**31 - 2


class SvmlightData(NamedTuple):
    """The examples of a file: their labels, features, queries (−1: none), and the lines they come from."""

    labels: list[list[str]]
    rows: Rows
    queries: LongVector
    lines: LongVector
    raw: RawText

    @property
    def width(self) -> int:
        """One more than the largest index."""
        return int(self.rows.indices.max(initial=-1)) + 1

    def classes(self) -> list[str]:
        """The one label of every example; raises an error about the first example that has none or several."""
        for line, labels in zip(self.lines.tolist(), self.labels, strict=True):
            if len(labels) != 1:
                raise self.raw.fault(line, f"one label is wanted, not {len(labels)}")
        return [label for (label,) in self.labels]

    def matrix(self, width: int) -> Matrix:
        """The features as a matrix of this width; indices beyond it are left out."""
        return of_width(Matrix(self.rows, self.width), width)

    def relabel(self, labels: Sequence[str]) -> str:
        """The text of the file with these labels, otherwise unchanged."""
        lines = list(self.raw.lines)
        for line, label in zip(self.lines.tolist(), labels, strict=True):
            first, blank, rest = lines[line].partition(" ")
            lines[line] = f"{label} {lines[line].lstrip()}" if _is_feature(first) else label + blank + rest
        return self.raw.text(lines)


def parse(raw: RawText) -> SvmlightData:
    """Read a file; errors name the file, the line and the value."""
    labels: list[list[str]] = []
    indices, values, ends, queries, lines = array("i"), array("d"), array("q", [0]), array("q"), array("q")
    for number, line in enumerate(raw.lines):
        words = line.partition("#")[0].split()
        if not words:
            continue
        bare = _is_feature(words[0]) or line[0] in " \t"
        labels.append([] if bare else _labels(words[0], raw, number))
        query = -1
        for word in words if bare else words[1:]:
            name, colon, value = word.partition(":")
            if not colon:
                raise raw.fault(number, f"{shorten(word)!r} is not of the form index:value")
            if name == "qid":
                query = _whole(value, "qid", raw, number)
                continue
            indices.append(_whole(name, "the index", raw, number))
            values.append(_value(value, word, raw, number))
        queries.append(query)
        lines.append(number)
        ends.append(len(indices))
    if not labels and raw.first == 0:
        raise DataError(f"{raw.source} has no examples")
    rows = Rows(np.array(ends, dtype=np.int64), np.array(indices, dtype=np.int32), np.array(values, dtype=np.float64))
    return SvmlightData(labels, rows, np.array(queries, dtype=np.int64), np.array(lines, dtype=np.int64), raw)


def cut(lines: Sequence[str]) -> int:
    """The number of lines of whole examples (`files.pieces`); each example is one line."""
    return len(lines) if any(map(_has_example, lines)) else 0


def _has_example(line: str) -> bool:
    return bool(line.partition("#")[0].strip())


def _is_feature(word: str) -> bool:
    name, colon, _ = word.partition(":")
    return (bool(colon) and (name == "qid" or name.isdecimal())) or not word


def _labels(word: str, raw: RawText, number: int) -> list[str]:
    labels = word.split(",")
    if not all(labels) or len(set(labels)) != len(labels):
        raise raw.fault(number, f"the labels {shorten(word)!r} are not distinct words with commas between them")
    return labels


def _whole(text: str, what: str, raw: RawText, number: int) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > LARGEST:
        raise raw.fault(number, f"{what} {shorten(text)!r} is not a whole number from 0 to {LARGEST}")
    return int(text)


def _value(text: str, word: str, raw: RawText, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise raw.fault(number, f"the value of {shorten(word)!r} is not a finite number")
    return value
