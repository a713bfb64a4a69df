"""Sequences of letters, such as DNA: their texts, names, and perhaps known sites in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin.errors import DataError


class Span(NamedTuple):
    """The letters `start:end` of a sequence, counted from 0, read from the strand ``"+"`` or ``"-"``."""

    start: int
    end: int
    strand: str = "+"


@dataclass(frozen=True)
class Sequences:
    """Sequences of letters; `len` counts them.

    `sites` holds the known sites of every sequence, or is None; `lines` says where in the file `source` each is.
    """

    texts: Sequence[str]
    names: Sequence[str] | None = None
    sites: Sequence[Sequence[Span]] | None = None
    source: str = ""
    lines: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_letters(self) -> int:
        """The number of letters in all sequences."""
        return sum(map(len, self.texts))

    def name(self, i: int) -> str:
        """The name of a sequence; its number, counted from 1, if it has none."""
        return str(i + 1) if self.names is None else self.names[i]

    def place(self, i: int) -> str:
        """The place of a sequence, for error messages."""
        if i < len(self.lines):
            return f"{self.source}, line {self.lines[i] + 1}: the sequence {self.name(i)!r:.60}"
        return f"sequence {i + 1}"

    def followed_by(self, more: "Sequences") -> "Sequences":
        """These sequences and `more`; only the former keep their places in a file."""
        names = [each.name(i) for each in (self, more) for i in range(len(each))]
        sites = None if self.sites is None else [*self.sites, *[[]] * len(more)]
        return replace(self, texts=[*self.texts, *more.texts], names=names, sites=sites)


def as_sequences(X: Any) -> Sequences:
    """The user's sequences: a list or an array of strings, or sequences that were read from a file."""
    if isinstance(X, Sequences):
        return X
    if isinstance(X, str) or not hasattr(X, "__len__") or np.ndim(X) != 1:
        raise DataError(f"X must be a list of sequences, each a string of letters, not {type(X).__name__}")
    for i, each in enumerate(X):
        if not isinstance(each, str):
            raise DataError(f"sequence {i + 1} must be a string of letters, not {each!r:.60}")
    return Sequences([str(each) for each in X])
