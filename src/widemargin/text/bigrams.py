"""Counts of words and of pairs of neighbouring words, gathered piece by piece: only the counts stay in memory.

A mark stands before, between and after sentences, so that the first and last words also have two neighbours. It is
word 0. Words are numbered by rank: the most frequent is 1, and equally frequent words are sorted by spelling. So
nothing depends on the order of the sentences.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.text.columns import Columns, place_of
from widemargin.text.inputs import as_columns

BATCH = 10_000  # sentences that are counted at once
FEWEST_WAITING = 1 << 20  # pairs that wait before they are added to the others
MARK = ""
HALF = 32  # bits of a word's number in the key of a pair


class Neighbours(NamedTuple):
    """Word r has the neighbours `words[indptr[r]:indptr[r + 1]]` on one side, `counts` times each."""

    indptr: LongVector
    words: IntVector
    counts: LongVector


class Bigrams(NamedTuple):
    """The mark and the words of a text by rank, their counts, and the words after and before them."""

    words: list[str]
    counts: LongVector
    after: Neighbours
    before: Neighbours

    @property
    def total(self) -> int:
        """N, the number of pairs."""
        return int(self.after.counts.sum())


class BigramCounter:
    """Counts words and pairs.

    >>> counter = BigramCounter()
    >>> counter.add(as_columns([["to", "be"], ["not", "to", "be"]]))
    >>> found = counter.bigrams()
    >>> found.words, found.counts.tolist(), found.total
    (['', 'be', 'to', 'not'], [2, 2, 2, 1], 7)
    """

    def __init__(self) -> None:
        self._numbers = {MARK: 0}
        self._counts = np.zeros(1, dtype=np.int64)
        self._pairs = _NO_PAIRS
        self._waiting: list[tuple[LongVector, LongVector]] = []
        self._n_waiting = 0

    def add(self, sentences: Columns) -> None:
        """Count the column ``word`` of these sentences."""
        column, indptr = sentences["word"], sentences.indptr
        if MARK in column.values:
            t = int(np.argmax(column.codes == column.values.index(MARK)))
            raise DataError(f"{place_of(t, indptr, sentences.source)}: a word is wanted, not an empty string")
        numbers = self._numbers
        known = [numbers.setdefault(word, len(numbers)) for word in column.values]
        begins = indptr[:-1][np.diff(indptr) > 0]
        tokens = np.append(np.insert(np.array(known, dtype=np.int64)[column.codes], begins, 0), 0)
        self._counts = np.pad(self._counts, (0, len(numbers) - len(self._counts)))
        self._counts += np.bincount(tokens[1:], minlength=len(numbers))
        new = np.unique((tokens[:-1] << HALF) | tokens[1:], return_counts=True)
        self._waiting.append(new)
        self._n_waiting += len(new[0])
        # Wait until as many pairs have come as there are already, so that every pair is moved only a few times.
        if self._n_waiting > max(FEWEST_WAITING, len(self._pairs[0])):
            self._gather()

    def bigrams(self, min_count: int = 1) -> Bigrams:
        """The counts so far, without words rarer than `min_count` and without their pairs."""
        self._gather()
        spelling = list(self._numbers)
        kept = [n for n, count in enumerate(self._counts.tolist()) if n and count >= min_count]
        kept = [0, *sorted(kept, key=lambda n: (-self._counts[n], spelling[n]))]
        rank = np.full(len(spelling), -1, dtype=np.int64)
        rank[kept] = np.arange(len(kept))
        keys, counts = self._pairs
        first, second = rank[keys >> HALF], rank[keys & ((1 << HALF) - 1)]
        both = (first >= 0) & (second >= 0)
        first, second, counts = first[both], second[both], counts[both]
        return Bigrams(
            [spelling[n] for n in kept],
            self._counts[kept],
            _neighbours(first, second, counts, len(kept)),
            _neighbours(second, first, counts, len(kept)),
        )

    def _gather(self) -> None:
        """Add the waiting pairs to the others."""
        keys, counts = (np.concatenate(parts) for parts in zip(self._pairs, *self._waiting, strict=True))
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, places, counts)
        self._pairs, self._waiting, self._n_waiting = (distinct, sums), [], 0


def in_batches(sentences: Columns | Iterable[Sequence[str]]) -> Iterator[Columns]:
    """Sentences as columns, some thousands at a time."""
    if isinstance(sentences, Columns):
        yield sentences
        return
    left, n_before = iter(sentences), 0
    while batch := list(islice(left, BATCH)):
        where = f"from sentence {n_before + 1} on" if n_before else ""  # errors count within a batch
        try:
            columns = as_columns(batch)
        except DataError as error:
            raise DataError(f"{where}: {error}" if where else str(error)) from error
        yield replace(columns, source=where or columns.source)
        n_before += len(batch)


_NO_PAIRS: tuple[LongVector, LongVector] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def _neighbours(words: LongVector, others: LongVector, counts: LongVector, n_words: int) -> Neighbours:
    order = np.lexsort((others, words))
    indptr = boundaries(np.bincount(words, minlength=n_words))
    return Neighbours(indptr, others[order].astype(np.int32), counts[order])
