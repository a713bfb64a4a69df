"""Spans of tokens, and the labels that mark them: IOB1, IOB2 (BIO), BIOES and BILOU.

The conventions are those of conlleval, the script of the CoNLL shared tasks that computes published F1 scores:
an `I-` that continues nothing starts a span. Every file that marks spans is read as a column of such labels.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

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
        prefix, type_ = parsed(label)
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
    return all(parsed(label)[0] != "O" for label in distinct) and any(
        label == "B" or label[1:2] == "-" for label in distinct
    )


@lru_cache(maxsize=4096)
def parsed(label: str) -> tuple[str, str]:
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
