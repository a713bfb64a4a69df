"""Tokens as columns: readers of files produce them, and feature templates read them.

A corpus of n sequences is a handful of named columns (word, part of speech, label, …), each one string per token,
all sequences end to end, with `indptr` marking where each begins. Strings are touched once: a column keeps its
*distinct* values and an integer code per token, so whatever is computed from a string is computed once per value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from widemargin._types import AnyArray, IntVector, LongVector
from widemargin.errors import DataError

T = TypeVar("T")


class Notation(NamedTuple):
    """How a column writes unknown labels, and what separates alternatives; None if it has no such labels.

    >>> Notation(alternatives="|").cell("NN|NNP") == {"NN", "NNP"}, Notation().cell("_")
    (True, None)
    """

    unknown: str | None = "_"
    alternatives: str | None = None

    def cell(self, text: str) -> str | frozenset[str] | None:
        """The label itself, a set of possible labels, or None if it is unknown."""
        if text == self.unknown:
            return None
        labels = frozenset(text.split(self.alternatives)) if self.alternatives else {text}
        return frozenset(labels) if len(labels) > 1 else next(iter(labels))


USUAL = Notation()
VALUED = ("feats", "misc")
"""Columns of CoNLL-U where _ means that a token has no value, not that the value is unknown."""


@dataclass(frozen=True, slots=True)
class Column:
    """One string per token, stored as `values[codes[t]]` with distinct `values`.

    If this is a column of labels, `notation` says which values do not name a label.
    """

    codes: IntVector
    values: list[str]
    notation: Notation = USUAL

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Column":
        """Intern `strings`, numbering the distinct ones in order of appearance.

        >>> Column.of(["to", "be", "or", "not", "to", "be"]).codes.tolist()
        [0, 1, 2, 3, 0, 1]
        """
        codes, values = number_values(strings if isinstance(strings, Sequence) else list(strings))
        return cls(codes, values)

    def strings(self) -> list[str]:
        """One string per token."""
        values = self.values
        return [values[code] for code in self.codes.tolist()]

    def cells(self) -> list[str | frozenset[str] | None]:
        """Each token's label, set of possible labels, or None (`Notation.cell`)."""
        values = list(map(self.notation.cell, self.values))
        return [values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Columns:
    """Named columns over the same tokens; sequence i holds the tokens `indptr[i]:indptr[i + 1]`."""

    by_name: Mapping[str, Column]
    indptr: LongVector
    source: str = "input"

    @property
    def n_sequences(self) -> int:
        """The number of sequences, empty ones included."""
        return len(self.indptr) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens in all sequences."""
        return int(self.indptr[-1])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.by_name)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __getitem__(self, name: str) -> Column:
        if name not in self.by_name:
            raise DataError(f"{self.source} has no column {name!r}; it has {', '.join(map(repr, self.names))}")
        return self.by_name[name]

    def only(self, *names: str) -> "Columns":
        """Only these columns, so that the rest and the file they were read from can be freed."""
        return Columns({name: self[name] for name in names}, self.indptr, self.source)

    def alone(self, i: int) -> "Columns":
        """Sequence i alone."""
        return self.part(i, i + 1)

    def part(self, first: int, last: int) -> "Columns":
        """The sequences first:last alone."""
        indptr = self.indptr[first : last + 1]
        here = slice(int(indptr[0]), int(indptr[-1]))
        cut = {name: Column(column.codes[here], column.values) for name, column in self.by_name.items()}
        return Columns(cut, indptr - indptr[0], self.source)

    def chosen(self, numbers: AnyArray) -> "Columns":
        """The sequences with these numbers alone.

        >>> words = Column.of(["to", "be", "or", "not"])
        >>> Columns({"word": words}, np.array([0, 2, 3, 4])).chosen(np.array([0, 2])).sequences("word")
        [['to', 'be'], ['not']]
        """
        sizes = np.diff(self.indptr)[numbers]
        indptr = np.append(0, np.cumsum(sizes))
        tokens = np.arange(indptr[-1]) + np.repeat(self.indptr[numbers] - indptr[:-1], sizes)
        cut = {name: Column(column.codes[tokens], column.values) for name, column in self.by_name.items()}
        return Columns(cut, indptr, self.source)

    def strings(self, name: str) -> list[str]:
        """The column `name` as one string per token; a lazy column need not be made for it."""
        if name in self.by_name and isinstance(self.by_name, LazyColumns):
            return self.by_name.strings(name)
        return self[name].strings()

    def sequences(self, name: str) -> list[list[str]]:
        """The column `name` as one list of strings per sequence."""
        return split(self.strings(name), self.indptr)


def number_values(values: Sequence[T]) -> tuple[IntVector, list[T]]:
    """A code per value, and the distinct values in order of appearance, computed at the speed of C.

    >>> number_values(["b", "a", "b"])
    (array([0, 1, 0], dtype=int32), ['b', 'a'])
    """
    distinct = list(dict.fromkeys(values))
    code = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(code.__getitem__, values), dtype=np.int32, count=len(values)), distinct


def places(sequences: Iterable[Sequence[T]]) -> LongVector:
    """Where sequences begin when laid end to end, and where the last one ends; quick for a few.

    >>> places(["to", "", "be"]).tolist()
    [0, 2, 2, 4]
    """
    return np.fromiter(accumulate(map(len, sequences), initial=0), dtype=np.int64)


def place_of(t: int, indptr: LongVector, source: str) -> str:
    """Where token `t` is, counted over all sequences, in words that count from 1.

    >>> place_of(2, np.array([0, 2, 3]), "a.conllu")
    'a.conllu, sentence 2, token 1'
    """
    sequence = int(np.searchsorted(indptr, t, side="right"))
    return f"{source}, sentence {sequence}, token {t - int(indptr[sequence - 1]) + 1}"


def split(flat: Sequence[T], indptr: LongVector) -> list[list[T]]:
    """Cut a flat sequence back into lists at `indptr`."""
    cuts = indptr.tolist()
    return [list(flat[begin:end]) for begin, end in pairwise(cuts)]


class LazyColumns(Mapping[str, Column]):
    """Columns by name, each made from its strings on first use and kept.

    Aliases are second names: they can be looked up, but iteration gives every column once, under its own name.

    >>> columns = LazyColumns({"word": lambda: ["to", "be"]}, {"form": "word"})
    >>> columns["form"].strings(), list(columns)
    (['to', 'be'], ['word'])
    """

    def __init__(self, strings: Mapping[str, Callable[[], list[str]]], aliases: Mapping[str, str]) -> None:
        self._strings = dict(strings)
        self._aliases = aliases
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        name = self._aliases.get(name, name)
        if name not in self._made:
            made = self._made[name] = Column.of(self._strings[name]())
            self._strings[name] = made.strings  # so that the source of the column can be freed
        return self._made[name]

    def strings(self, name: str) -> list[str]:
        """One string per token."""
        return self._strings[self._aliases.get(name, name)]()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._aliases.get(name, name) in self._strings

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def __len__(self) -> int:
        return len(self._strings)
