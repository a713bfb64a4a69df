"""Segmentations as users give and get them: checking and numbering of spans, costs of errors.

Every token outside all spans is a segment of its own, with the label ``"O"``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.text.columns import Column
from widemargin.text.inputs import lengths
from widemargin.text.labels import as_sequences, by_frequency, cost_matrix, is_cost
from widemargin.text.partial import COLLECTIONS, Cell, are_partial, checked_cell, labels_in
from widemargin.text.spans import ENDS, OUTSIDE, STARTS, Span, bio, labels_of, parse_label, spans_of

Lengths = int | Mapping[str, int] | None
"""The most tokens of a segment: None for the training data's own limits, one number for all labels, or one by label."""


class Penalties(NamedTuple):
    """The costs of errors: wrong segments and missed ones by label, and right spans with a wrong label."""

    precision: FloatVector
    recall: FloatVector
    confusion: FloatMatrix | None

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        precision: Mapping[str, float] | None,
        recall: Mapping[str, float] | None,
        confusion: Mapping[Any, float] | None,
    ) -> "Penalties":
        """Penalties by label; unless given, a wrong label on a right span costs a wrong and a missed segment."""
        wrong, missed = _by_label("precision", precision, labels), _by_label("recall", recall, labels)
        both = (missed[:, None] + wrong[None, :]) * (1.0 - np.eye(len(labels)))
        return cls(wrong, missed, cost_matrix(confusion, labels, both))


def as_spans(X: Any, y: Any) -> list[list[Span]]:
    """The spans of every sequence of `X`: `y` holds a list of (start, end, label) or of BIO labels for each.

    Labels must all be known.
    """
    if not isinstance(y, Column) and not _holds_labels(y):
        found = _given_spans(lengths(X), y)
    else:
        found = [_in_sequence(i, spans_of, sequence) for i, sequence in enumerate(as_sequences(X, y))]
    for i, spans in enumerate(found):
        for span in spans:
            if span.type == OUTSIDE:
                raise DataError(f"sequence {i} has a span labelled 'O', the label of tokens outside all spans")
    return found


def partial_labels(X: Any, y: Any) -> list[list[Cell]] | None:
    """The labels of every sequence of `X`, checked, if some are only partly known; else None."""
    if not isinstance(y, Column) and not _holds_labels(y):
        return None
    labels = as_sequences(X, y)
    if not are_partial(labels):
        return None
    cells = [[checked_cell(label, i, t) for t, label in enumerate(each)] for i, each in enumerate(labels)]
    for i, each in enumerate(cells):
        _in_sequence(i, spans_of, [str(label) for cell in each for label in labels_in(cell)])
    return cells


def as_labels(X: Any, y: Any) -> list[list[Any]]:
    """The spans of every sequence of `X` as BIO labels; `y` as for `as_spans`. Labels may be partly known."""
    cells = partial_labels(X, y)
    if cells is not None:
        return cells
    return [bio(spans, size) for spans, size in zip(as_spans(X, y), lengths(X), strict=True)]


def count_tokens(spans: Sequence[Sequence[Span]], sizes: Sequence[int]) -> Counter[str]:
    """How many tokens each label has."""
    tokens = Counter({OUTSIDE: sum(sizes)})
    for span in (span for each in spans for span in each):
        tokens[span.type] += span.end - span.start
        tokens[OUTSIDE] -= span.end - span.start
    return +tokens


def encode_segments(spans: Sequence[Sequence[Span]], sizes: Sequence[int]) -> tuple[list[str], IntVector]:
    """The labels, those with the most tokens first, and for each token 2 · label, plus 1 where a segment begins."""
    labels = by_frequency(count_tokens(spans, sizes))
    if not labels:
        raise DataError("there is no token to learn from")
    number = {label: 2 * k for k, label in enumerate(labels)}
    codes = np.full(sum(sizes), number.get(OUTSIDE, 0) + 1, dtype=np.int32)
    for begin, each in zip(boundaries(sizes).tolist(), spans, strict=False):
        for start, end, type_ in each:
            codes[begin + start : begin + end] = number[type_]
            codes[begin + start] += 1
    return labels, codes


def bio_names(labels: Sequence[str]) -> list[str]:
    """The name of each code in a column of BIO labels.

    >>> bio_names(["O", "city"])
    ['O', 'O', 'I-city', 'B-city']
    """
    return [label if label == OUTSIDE else f"{prefix}-{label}" for label in labels for prefix in "IB"]


def decode_segments(codes: IntVector, labels: Sequence[str], indptr: LongVector) -> list[list[Span]]:
    """The spans that codes stand for, sequence by sequence, without tokens outside all spans.

    >>> decode_segments(np.array([3, 2, 1, 1]), ["O", "city"], np.array([0, 3, 4]))
    [[Span(start=0, end=2, type='city')], []]
    """
    found: list[list[Span]] = [[] for _ in range(len(indptr) - 1)]
    begins = np.flatnonzero(codes & 1)
    numbers = codes[begins] >> 1
    # Most segments are single tokens outside.
    inside = np.flatnonzero(numbers != labels.index(OUTSIDE)) if OUTSIDE in labels else np.arange(len(begins))
    if not len(inside):
        return found
    ends = np.append(begins[1:], len(codes))[inside]
    begins = begins[inside]
    sequence = np.searchsorted(indptr, begins, side="right") - 1
    first = indptr[sequence]
    spans = zip((begins - first).tolist(), (ends - first).tolist(), numbers[inside].tolist(), strict=True)
    for i, (begin, end, label) in zip(sequence.tolist(), spans, strict=True):
        found[i].append(Span(begin, end, labels[label]))
    return found


def longest_spans(spans: Sequence[Sequence[Span]]) -> dict[str, int]:
    """How many tokens the longest span of each label has."""
    longest: dict[str, int] = {}
    for span in (span for each in spans for span in each):
        longest[span.type] = max(longest.get(span.type, 1), span.end - span.start)
    return longest


def max_lengths(given: Lengths, labels: Sequence[str], found: Mapping[str, int]) -> tuple[int, ...]:
    """How many tokens the segments of each label may have; if nothing is `given`, as many as were `found`."""
    longest = {**dict.fromkeys(labels, 1), **found}
    limits = given if isinstance(given, Mapping) else {} if given is None else dict.fromkeys(longest, given)
    for label, limit in limits.items():
        if label not in longest:
            raise DataError(f"max_length names the label {label!r}, which the training data do not have")
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
            raise DataError(f"max_length must be a positive whole number, not {limit!r}")
        if longest[label] > limit:
            raise DataError(
                f"max_length allows segments of {limit} tokens with the label {label!r}, but the training data have "
                f"one of {longest[label]}"
            )
    if isinstance(given, Mapping):
        longest |= {label: int(limit) for label, limit in limits.items() if label != OUTSIDE}
    return tuple(longest[label] for label in labels)


def _holds_labels(y: Any) -> bool:
    """Whether the first entry of `y` is a label rather than a span."""
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of spans or labels for every sequence, not {y!r:.60}")
    known = (entry for each in y if hasattr(each, "__len__") for entry in each if entry is not None)
    first = next(known, "" if _has_none(y) else None)
    return isinstance(first, str) or (isinstance(first, COLLECTIONS) and all(isinstance(each, str) for each in first))


def _has_none(y: Any) -> bool:
    """Whether an entry of `y` is None; labels may be None, spans may not."""
    return any(entry is None for each in y if hasattr(each, "__len__") for entry in each)


def _given_spans(sizes: Sequence[int], y: Any) -> list[list[Span]]:
    if len(y) != len(sizes):
        raise DataError(f"X has {len(sizes)} sequences, but y has {len(y)}")
    found = []
    for i, (each, size) in enumerate(zip(y, sizes, strict=True)):
        if isinstance(each, str | bytes | Mapping) or not hasattr(each, "__len__"):
            raise DataError(f"y[{i}] must be a list of spans, not {each!r:.60}")
        spans = sorted(_span(i, entry) for entry in each)
        _in_sequence(i, labels_of, spans, size)
        found.append(spans)
    return found


def _span(sequence: int, entry: Any) -> Span:
    parts = list(entry) if isinstance(entry, list | tuple) else []
    whole = len(parts) == 3 and all(
        isinstance(part, int | np.integer) and not isinstance(part, bool) for part in parts[:2]
    )
    if not whole or not isinstance(parts[2], str):
        raise DataError(f"sequence {sequence}: a span is (start, end, label), not {entry!r:.60}")
    return Span(int(parts[0]), int(parts[1]), parts[2])


def _in_sequence(sequence: int, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except DataError as error:
        raise DataError(f"sequence {sequence}: {error}") from None


def _by_label(name: str, given: Mapping[str, float] | None, labels: Sequence[str]) -> FloatVector:
    """A penalty for every label; unless given, it is 1, or 0 for tokens outside all spans."""
    if not isinstance(given, Mapping | None):
        raise DataError(f"{name} must be a dict of penalties by label, not {given!r:.60}")
    penalty = {label: float(label != OUTSIDE) for label in labels}
    for label, value in (given or {}).items():
        if label not in penalty:
            raise DataError(f"{name} names the label {label!r}, which the training data do not have")
        if not is_cost(value):
            raise DataError(f"{name}[{label!r}] is {value!r}; penalties are finite and not negative")
        penalty[label] = float(value)
    return np.array([penalty[label] for label in labels])


class PartialSegments(NamedTuple):
    """The labels of segments, the codes that each token may have, whether anything is known of it, and known spans.

    `spans` holds the runs of known tokens of each sequence that may be one segment; the longest run of a label limits
    its segments.
    """

    labels: list[str]
    allowed: BoolMatrix
    given: BoolVector
    spans: list[list[Span]]


def encode_partial(sequences: Sequence[Sequence[Cell]]) -> PartialSegments:
    """Number the labels of segments, those with the most known tokens first.

    A continuing label, such as `I-X`, continues the segment before it if that certainly has the type X, and begins a
    segment if it certainly has not, as everywhere in the library. If that is uncertain, it may do either.
    """
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
    prefix, type_ = parse_label(label)
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
            goes_on = parse_label(label)[0] not in STARTS and type_ in before - {ended, OUTSIDE}
            row[2 * number[type_]] |= goes_on
            row[2 * number[type_] + 1] |= not goes_on or before != {type_}
        if outside >= 0:
            row[2 * outside] = False  # tokens outside are segments of their own
        rows.append(row)
        # An unknown token implies nothing for the next, even if there is only one label.
        before = {*number, ""} if cell is None else set(map(_type, labels_in(cell)))
        ended = _type(cell) if isinstance(cell, str) and parse_label(cell)[0] in ENDS else ""
    return rows


def _known_runs(cells: Sequence[Cell]) -> list[Span]:
    """Runs of tokens of known types that may be one segment."""
    runs: list[Span] = []
    for t, cell in enumerate(cells):
        types, prefixes = set(map(_type, labels_in(cell))), {parse_label(label)[0] for label in labels_in(cell)}
        if len(types) != 1 or types == {OUTSIDE}:
            continue
        (type_,) = types
        if runs and runs[-1].end == t and runs[-1].type == type_ and not prefixes <= STARTS:
            runs[-1] = Span(runs[-1].start, t + 1, type_)
        else:
            runs.append(Span(t, t + 1, type_))
    return runs
