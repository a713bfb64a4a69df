"""Spans of tokens, and the labels that mark them: IOB1, IOB2 (BIO), BIOES and BILOU.

The conventions are those of conlleval, the script of the CoNLL shared tasks that computes published F1 scores:
an `I-` that continues nothing starts a span. Every file that marks spans is read as a column of such labels.

A label is a prefix and a type: B begins a span, I continues it, E (or L) continues and ends it, S (or U) is a span by
itself, and O is outside. As rules on neighbouring labels (`SpanLabels`): if there are labels with E, S, L or U, an open
span must be closed. Otherwise a span ends where no label continues it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import BoolMatrix, BoolVector
from widemargin.errors import DataError

Labels: TypeAlias = Sequence[str]
OUTSIDE = "O"

STARTS = frozenset("BSU")
ENDS = frozenset("ESLU")
PREFIXES = STARTS | ENDS | {"I"}


class Span(NamedTuple):
    """The tokens `start:end` of a sequence, and their type."""

    start: int
    end: int
    type: str


def spans(labels: Labels) -> list[Span]:
    """The spans that the labels of one sequence mark, in IOB1, IOB2 (BIO), BIOES or BILOU.

    Any other label is outside all spans.

    >>> spans(["B-PER", "I-PER", "O", "I-LOC", "I-ORG"])  # doctest: +NORMALIZE_WHITESPACE
    [Span(start=0, end=2, type='PER'), Span(start=3, end=4, type='LOC'), Span(start=4, end=5, type='ORG')]
    """
    found = []
    start, inside = 0, None
    for position, label in enumerate(labels):
        if label == "O" and inside is None:
            continue
        prefix, type_ = parse_label(label)
        if inside is not None and (prefix in STARTS or prefix == "O" or type_ != inside):
            found.append(Span(start, position, inside))
            inside = None
        if inside is None and prefix != "O":
            start, inside = position, type_
        if inside is not None and prefix in ENDS:
            found.append(Span(start, position + 1, inside))
            inside = None
    if inside is not None:
        found.append(Span(start, len(labels), inside))
    return found


def bio(found: Iterable[Span], length: int) -> list[str]:
    """The labels that mark these spans, which must not overlap, in a sequence of this `length`.

    >>> bio([Span(0, 2, "PER"), Span(2, 3, "PER")], 4)
    ['B-PER', 'I-PER', 'B-PER', 'O']
    """
    labels = ["O"] * length
    for start, end, type_ in found:
        labels[start:end] = [f"B-{type_}", *[f"I-{type_}"] * (end - start - 1)]
    return labels


def bioes(found: Iterable[Span], length: int) -> list[str]:
    """The same in BIOES, where the last token of a span has a label of its own.

    >>> bioes([Span(0, 2, "PER"), Span(2, 3, "PER")], 4)
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    found = list(found)
    labels = bio(found, length)
    for start, end, type_ in found:
        labels[end - 1] = f"{'S' if end - start == 1 else 'E'}-{type_}"
    return labels


def is_bio(labels: Iterable[str]) -> bool:
    """Whether a set of labels marks spans, so that `span_scores` makes sense for it.

    Labels without a type must include `B`, since a set like `E`, `I` (exon, intron) means something else.

    >>> is_bio(["B-PER", "I-PER", "O"]), is_bio(["NN", "VB"]), is_bio(["O"])
    (True, False, False)
    """
    distinct = set(labels) - {"O"}
    return all(parse_label(label)[0] != "O" for label in distinct) and any(
        label == "B" or label[1:2] == "-" for label in distinct
    )


@lru_cache(maxsize=4096)
def parse_label(label: str) -> tuple[str, str]:
    """The prefix and the type of a label; the prefix is `O` if the label marks no span."""
    return (label[0], label[2:]) if label[:1] in PREFIXES and label[1:2] in ("", "-") else ("O", "")


def labels_of(found: Sequence[Span], length: int) -> list[str]:
    """The BIO labels of a sequence of this `length` with these spans, which may come in any order.

    >>> labels_of([Span(1, 3, "city")], 4)
    ['O', 'B-city', 'I-city', 'O']

    Raises
    ------
    DataError
        If spans overlap or do not fit into the sequence.
    """
    free = 0
    for span in sorted(found):
        if not 0 <= span.start < span.end <= length:
            raise DataError(f"the span {describe(span)} does not fit into a sequence of {length} tokens")
        if span.start < free:
            raise DataError(f"the span {describe(span)} overlaps with the one before")
        free = span.end
    return bio(found, length)


def spans_of(labels: Sequence[str]) -> list[Span]:
    """The spans that labels mark.

    Raises
    ------
    DataError
        If a label is neither `O` nor the mark of a span: it would be lost.
    """
    for label in dict.fromkeys(labels):
        if label != OUTSIDE and not is_bio([label]):
            raise DataError(f"the label {label!r} marks no span; use labels like 'B-name', 'I-name' and 'O'")
    return spans(labels)


def describe(span: Span) -> str:
    """A span as error messages show it."""
    return f"{span.start}:{span.end} ({span.type!r})"


OPEN = frozenset("BI")
CONTINUING = frozenset("IEL")


def marks_spans(labels: Sequence[Any]) -> bool:
    """Whether these labels, which may be numbers, mark spans."""
    return all(isinstance(label, str) for label in labels) and is_bio(labels)


class SpanLabels:
    """A set of labels that mark spans, numbered by their place in `labels`."""

    def __init__(self, labels: Sequence[Any]) -> None:
        if not marks_spans(labels):
            raise DataError(f"the labels do not mark spans as B-TYPE, I-TYPE and O do: {', '.join(map(str, labels))}")
        self.parsed = [parse_label(label) for label in labels]
        self.types = {type_ for prefix, type_ in self.parsed if prefix != "O"}
        self.closing = any(prefix in "ESLU" for prefix, _ in self.parsed)

    def having(self, prefixes: frozenset[str] | str, type_: str | None = None) -> BoolVector:
        """Which labels have one of these prefixes, and this type unless it is None."""
        return np.array([prefix in prefixes and type_ in (None, own) for prefix, own in self.parsed])

    def of_type(self, type_: str) -> str:
        """The type itself; raises an error if no label has it."""
        if type_ not in self.types:
            raise DataError(f"there is no span type {type_!r}; there are {', '.join(map(repr, sorted(self.types)))}")
        return type_

    def pairs(self) -> BoolMatrix:
        """Whether the column's label may follow the row's."""
        same = np.array([[one == other for _, other in self.parsed] for _, one in self.parsed])
        goes_on = self.having(OPEN)[:, None] & self.having(CONTINUING)[None, :] & same
        free = ~self._must_go_on()[:, None] & ~self.having(CONTINUING)[None, :]
        return goes_on | free

    def begins(self) -> BoolVector:
        """Which labels a sequence may begin with."""
        return ~self.having(CONTINUING)

    def ends(self) -> BoolVector:
        """Which labels a sequence may end with."""
        return ~self._must_go_on()

    def marking(self, type_: str, size: int) -> BoolMatrix:
        """For each token of a span, which labels mark it."""
        if size == 1:
            single = self.having("SU", type_)
            return np.array([single if single.any() else self.having("B", type_)])
        last = self.having("EL" if self.closing else "I", type_)
        return np.array([self.having("B", type_), *[self.having("I", type_)] * (size - 2), last])

    def breaking(self, codes: Sequence[int], span: Span) -> list[tuple[int, BoolVector]]:
        """Labels next to a span, itself labelled `codes`, that would make it longer: (position, which labels).

        An output without the span has one of these labels, or another label inside the span.
        """
        found = []
        if self.parsed[codes[0]][0] in CONTINUING and span.start > 0:
            found.append((span.start - 1, self.having(OPEN, span.type)))
        if self.parsed[codes[-1]][0] in OPEN:
            found.append((span.end, self.having(CONTINUING, span.type)))
        return found

    def _must_go_on(self) -> BoolVector:
        return self.having(OPEN if self.closing else "")
