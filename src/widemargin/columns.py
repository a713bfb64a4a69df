"""Tokens as columns: what readers produce and feature templates consume.

A corpus of n sequences is a handful of named columns (word, part of speech, label, …), each one string per token,
all sequences end to end, with `indptr` marking where each begins. Strings are touched once: a column keeps its
*distinct* values and an integer code per token, so whatever is computed from a string is computed once per value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column:
    """One string per token, stored as `values[codes[t]]` with distinct `values`."""

    codes: IntVector
    values: list[str]

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Column":
        """Intern `strings`, numbering the distinct ones in order of appearance.

        >>> Column.of(["to", "be", "or", "not", "to", "be"]).codes.tolist()
        [0, 1, 2, 3, 0, 1]
        """
        codes, values = numbered(strings if isinstance(strings, Sequence) else list(strings))
        return cls(codes, values)

    def strings(self) -> list[str]:
        """One string per token again."""
        values = self.values
        return [values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Columns:
    """Named columns over the same tokens; sequence i holds the tokens `indptr[i]:indptr[i + 1]`."""

    columns: Mapping[str, Column]
    indptr: LongVector
    source: str = "input"

    @property
    def n_sequences(self) -> int:
        """How many sequences there are, empty ones included."""
        return len(self.indptr) - 1

    @property
    def n_tokens(self) -> int:
        """How many tokens there are over all sequences."""
        return int(self.indptr[-1])

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise DataError(f"{self.source} has no column {name!r}; it has {', '.join(map(repr, self.columns))}")
        return self.columns[name]

    def only(self, *names: str) -> "Columns":
        """These columns alone, so that the rest, and the file they were read from, can be forgotten."""
        return Columns({name: self[name] for name in names}, self.indptr, self.source)

    def alone(self, i: int) -> "Columns":
        """Sequence i alone."""
        begin, end = self.indptr[i : i + 2].tolist()
        cut = {name: Column(column.codes[begin:end], column.values) for name, column in self.columns.items()}
        return Columns(cut, np.array([0, end - begin]), self.source)

    def sequences(self, name: str) -> list[list[str]]:
        """The column `name` as one list of strings per sequence."""
        return split(self[name].strings(), self.indptr)


def numbered(values: Sequence[T]) -> tuple[IntVector, list[T]]:
    """A code per value, and the distinct values in order of appearance: all of it at the speed of C.

    >>> numbered(["b", "a", "b"])
    (array([0, 1, 0], dtype=int32), ['b', 'a'])
    """
    distinct = list(dict.fromkeys(values))
    code = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(code.__getitem__, values), dtype=np.int32, count=len(values)), distinct


def boundaries(lengths: Iterable[int] | LongVector) -> LongVector:
    """Where sequences of these `lengths` begin when laid end to end, and where the last one ends.

    >>> boundaries([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    if not isinstance(lengths, np.ndarray):
        lengths = np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def split(flat: Sequence[T], indptr: LongVector) -> list[list[T]]:
    """Cut a flat sequence back into lists at `indptr`."""
    cuts = indptr.tolist()
    return [list(flat[begin:end]) for begin, end in pairwise(cuts)]
