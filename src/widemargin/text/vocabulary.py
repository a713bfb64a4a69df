"""A cache of tokens: a row of arrays for every distinct token, kept from one prediction to the next.

Texts repeat their words, so most tokens of a new sentence are found in a dictionary and only the rest is computed. The
table holds a limited number of bytes. A text that would exceed this limit starts a new table.

Predictions may run in several threads. Rows are only ever added, and a token is entered after its row. So a reader
needs no lock: if it finds a token, and reads the arrays afterwards, these have the token's row. A new table does not
change the old one, which other threads may be reading.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import repeat
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from widemargin._types import AnyArray, IntVector

Token: TypeAlias = Hashable
Tables: TypeAlias = tuple[AnyArray, ...]

MOST_BYTES, BYTES_PER_ENTRY = 1 << 23, 200
"""The most bytes of a table, and the bytes of a token besides its row: a string, and an entry of the dictionary."""


class _Table:
    """The numbers of tokens, and arrays with a row per number and room for more."""

    def __init__(self, first: Tables) -> None:
        self.numbers: dict[Token, int] = {}
        self.size = len(first[0])
        self.arrays = first

    def find(self, tokens: Sequence[Token]) -> IntVector:
        """The numbers of tokens, −1 for those that have none."""
        return np.fromiter(map(self.numbers.get, tokens, repeat(-1)), dtype=np.int32, count=len(tokens))

    def add(self, tokens: Sequence[Token], rows: Tables) -> None:
        """Add new tokens with their rows."""
        size = self.size + len(tokens)
        if size > len(self.arrays[0]):
            self.arrays = tuple(_with_room(each, 2 * size) for each in self.arrays)
        for array, new in zip(self.arrays, rows, strict=True):
            array[self.size : size] = new
        self.numbers.update(zip(tokens, range(self.size, size), strict=True))
        self.size = size


class Vocabulary:
    """Rows of arrays by token.

    Parameters
    ----------
    work_out : computes the rows of new tokens: arrays with a row for each
    first : rows before those of tokens, for positions without a token; at least one, as a sample
    """

    def __init__(self, work_out: Callable[[Sequence[Any]], Tables], first: Tables) -> None:
        self._work_out, self._first = work_out, first
        self._limit = MOST_BYTES // (BYTES_PER_ENTRY + sum(array[:1].nbytes for array in first))
        self._table = _Table(first)
        self._changing = Lock()

    def look_up(self, tokens: Sequence[Token]) -> tuple[IntVector, Tables]:
        """The row number of each token, and the arrays."""
        table = self._table
        numbers = table.find(tokens)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            new = [tokens[k] for k in missing.tolist()]
            if self._add(table, new):
                numbers[missing] = table.find(new)
            else:
                table = self._start(tokens)
                numbers = table.find(tokens)
        return numbers, table.arrays

    def _add(self, table: _Table, tokens: Sequence[Token]) -> bool:
        """Add tokens to the current table; False if they do not fit in, or another thread has begun a new table."""
        with self._changing:
            new = [token for token in dict.fromkeys(tokens) if token not in table.numbers]
            if table is not self._table or len(table.numbers) + len(new) > self._limit:
                return False
            if new:
                table.add(new, self._work_out(new))
            return True

    def _start(self, tokens: Sequence[Token]) -> _Table:
        """A new table with these tokens; unless it is too large, it also serves later predictions."""
        table, distinct = _Table(self._first), list(dict.fromkeys(tokens))
        table.add(distinct, self._work_out(distinct))
        if len(distinct) <= self._limit:
            with self._changing:
                self._table = table
        return table


def _with_room(array: AnyArray, n: int) -> AnyArray:
    larger = np.empty((n, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
