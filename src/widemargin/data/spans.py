"""Spans and the BIO labels that stand for them in a column: every file that marks spans is read as such a column."""

from collections.abc import Sequence

from widemargin.errors import DataError
from widemargin.metrics import Span, bio, is_bio, spans

OUTSIDE = "O"


def labels_of(found: Sequence[Span], length: int) -> list[str]:
    """The BIO labels of a sequence of this `length` with these spans, which may come in any order.

    >>> labels_of([Span(1, 3, "city")], 4)
    ['O', 'B-city', 'I-city', 'O']

    Raises
    ------
    DataError
        If spans overlap or are not of this sequence.
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
        If one of the labels is no mark of a span: it would be lost.
    """
    for label in dict.fromkeys(labels):
        if label != OUTSIDE and not is_bio([label]):
            raise DataError(f"the label {label!r} marks no span; labels like 'B-name', 'I-name' and 'O' are wanted")
    return spans(labels)


def describe(span: Span) -> str:
    """A span as messages show it."""
    return f"{span.start}:{span.end} ({span.type!r})"
