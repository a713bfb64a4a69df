"""Labels that mark spans, as rules on neighbouring labels: BIO (IOB2), BIOES and BILOU.

A label is a prefix and a type: B begins a span, I continues it, E (or L) continues and ends it, S (or U) is a span by
itself, and O is outside. If there are labels with E, S, L or U, an open span must be closed. Otherwise a span ends
where no label continues it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, BoolVector
from widemargin.errors import DataError
from widemargin.text.spans import Span, is_bio, parsed

OPEN = frozenset("BI")
CONTINUING = frozenset("IEL")
STARTING = frozenset("BSU")


def marks_spans(labels: Sequence[Any]) -> bool:
    """Whether these labels, which may be numbers, mark spans."""
    return all(isinstance(label, str) for label in labels) and is_bio(labels)


class SpanLabels:
    """A set of labels that mark spans, numbered by their place in `labels`."""

    def __init__(self, labels: Sequence[Any]) -> None:
        if not marks_spans(labels):
            raise DataError(f"the labels do not mark spans as B-TYPE, I-TYPE and O do: {', '.join(map(str, labels))}")
        self.parsed = [parsed(label) for label in labels]
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
