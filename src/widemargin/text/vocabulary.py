"""What has been worked out about tokens: a row of arrays for every distinct one, kept from one prediction to the next.

Texts repeat their words, so most tokens of a new sentence are found in a dictionary and only the rest is worked out.
The table holds a limited number of bytes. A text that would fill it beyond that starts a new one.

Predictions may run in several threads. Rows are only ever added, and before their tokens are entered, so a reader needs
no lock: whoever finds a token finds its row in the arrays asked for afterwards. A new table leaves the old one, which
others may be reading, as it is.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import filterfalse
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from widemargin._types import AnyArray, IntVector

Token: TypeAlias = Hashable
Tables: TypeAlias = tuple[AnyArray, ...]

MOST_BYTES, BYTES_PER_ENTRY = 1 << 23, 200
"""How much is kept, and about how much a token takes beside its row: a string, and an entry of the dictionary."""


class _Table:
    """The numbers of tokens, and arrays with a row per number and room for more."""

    def __init__(self, first: Tables) -> None:
        self.numbers: dict[Token, int] = {}
        self.size = len(first[0])
        self.arrays = first

    def add(self, tokens: Sequence[Token], rows: Tables) -> None:
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
    work_out : rows for tokens that are not yet known, a row for each in every array
    first : rows that precede those of tokens, for what is not a token; one at least, as a sample
    """

    def __init__(self, work_out: Callable[[Sequence[Any]], Tables], first: Tables) -> None:
        self._work_out, self._first = work_out, first
        self._limit = MOST_BYTES // (BYTES_PER_ENTRY + sum(array[:1].nbytes for array in first))
        self._table = _Table(first)
        self._adding = Lock()

    def look_up(self, tokens: Sequence[Token]) -> tuple[IntVector, Tables]:
        """For each token the number of its row, and the arrays."""
        table = self._table
        try:
            numbers = _numbers(table, tokens)
        except KeyError:
            table = self._table_with(tokens)
            numbers = _numbers(table, tokens)
        return numbers, table.arrays

    def _table_with(self, tokens: Sequence[Token]) -> _Table:
        with self._adding:
            table = self._table
            new = list(dict.fromkeys(filterfalse(table.numbers.__contains__, tokens)))
            if len(table.numbers) + len(new) > self._limit:
                table, new = _Table(self._first), list(dict.fromkeys(tokens))
            if new:  # unless another thread has just added them
                table.add(new, self._work_out(new))
            if len(new) <= self._limit:
                self._table = table
            return table


def _numbers(table: _Table, tokens: Sequence[Token]) -> IntVector:
    return np.fromiter(map(table.numbers.__getitem__, tokens), dtype=np.int32, count=len(tokens))


def _with_room(array: AnyArray, n: int) -> AnyArray:
    larger = np.empty((n, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
