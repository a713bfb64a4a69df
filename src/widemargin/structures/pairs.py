"""Documents as arrays: items to be partitioned, and pairs of them, each with a row of features x_ij.

Pairs that are not given have no features, and nothing can link them directly. `ItemPairs` is what structures ask of
such documents, however they keep their features; `Documents` has them as sparse rows.

The parts of a document are its pairs. It has pairs of its own, so its size is its number.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, distinct_entries, new_table, with_room
from widemargin.decoders.kruskal import Flags
from widemargin.errors import DataError
from widemargin.structures.flat import Flat, Numbers, Parts, Scores
from widemargin.structures.parts import Features
from widemargin.structures.support import distinct, runs


class Layout(NamedTuple):
    """The items and the pairs of documents, as `Documents` has them, without their features."""

    items: LongVector
    pairs: LongVector
    first: IntVector
    second: IntVector

    def for_pairs(self, of_documents: AnyArray) -> AnyArray:
        """A value per document, repeated for each of its pairs."""
        return np.repeat(of_documents, np.diff(self.pairs))

    def within(self, clusters: IntVector | None) -> BoolVector:
        """Which pairs lie inside a cluster; `clusters` has a number per item, or is None if none are known."""
        if clusters is None:
            return np.zeros(len(self.first), dtype=np.bool_)
        if len(clusters) != self.items[-1]:
            raise DataError(f"there are {self.items[-1]} items, but {len(clusters)} clusters")
        begin = self.for_pairs(self.items[:-1])
        same: BoolVector = clusters[begin + self.first] == clusters[begin + self.second]
        return same


class ItemPairs(Protocol):
    """Documents whose pairs have scores that are linear in w."""

    @property
    def layout(self) -> Layout:
        """Items and pairs."""

    def checked(self, n_weights: int) -> Features:
        """The features of all pairs, after a look at everything that kernels trust."""


class Documents(NamedTuple):
    """Document i has the items items[i]:items[i + 1] and the pairs pairs[i]:pairs[i + 1], a row of `features` each.

    `first` and `second` are the items of each pair, first < second, counted from the beginning of their document.
    """

    items: LongVector
    pairs: LongVector
    first: IntVector
    second: IntVector
    features: Rows

    @property
    def layout(self) -> Layout:
        """Items and pairs."""
        return Layout(self.items, self.pairs, self.first, self.second)

    def checked(self, n_weights: int) -> "PairRows":
        """The features of all pairs."""
        return PairRows(self, n_weights)


class PairRows:
    """Features of pairs as sparse rows (`structures.parts.Features`)."""

    def __init__(self, documents: Documents, n_weights: int) -> None:
        items, pairs, first, second, features = documents
        n_pairs = len(first)
        if not (len(items) == len(pairs) and items[0] == pairs[0] == 0 and pairs[-1] == n_pairs == len(second)):
            raise DataError("items and pairs must have an end for each document, and first and second an item per pair")
        if len(features.indptr) != n_pairs + 1:
            raise DataError(f"there are {n_pairs} pairs, but {len(features.indptr) - 1} rows of features")
        if (np.diff(items) < 0).any() or (np.diff(pairs) < 0).any():
            raise DataError("items and pairs must ascend")
        if not ((first >= 0) & (first < second) & (second < documents.layout.for_pairs(np.diff(items)))).all():
            raise DataError("pairs must be numbers of items of their document, the smaller one first")
        if len(features.indices) and not 0 <= features.indices.min() <= features.indices.max() < n_weights:
            raise DataError(f"features has an index outside 0 … {n_weights - 1}")
        self.n_weights, self.pairs, self.rows = n_weights, pairs, distinct_entries(features, n_weights)
        self.sizes = np.arange(len(items) - 1)
        # About a nanosecond to look up a weight, and forty to decide about a pair.
        entries = np.diff(features.indptr[pairs])
        self.work: FloatVector = (1.2 * entries + 40.0 * np.diff(pairs) + 50.0 * np.diff(items)) / 1000

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of pairs."""
        _add_scores(self.pairs, self.rows, w, batch, room.starts, room.own)
        return room

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """The rows of pairs, times their coefficients."""
        return _gather(self.pairs, self.rows, batch, parts)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features in the batch's documents."""
        return runs(distinct(self.rows, self.pairs, batch), 1, 0)


@kernel
def _score(features: Rows, row: int, w: FloatVector) -> float:
    """⟨w, x⟩ of one row."""
    # Unsigned indices, as in `core.sparse`: signed ones are checked for wrap-around.
    total = 0.0
    if len(features.values) == 0:
        for k in range(features.indptr[row], features.indptr[row + 1]):
            total += w[np.uint64(features.indices[np.uint64(k)])]
    else:
        for k in range(features.indptr[row], features.indptr[row + 1]):
            total += features.values[np.uint64(k)] * w[np.uint64(features.indices[np.uint64(k)])]
    return total


@kernel
def _add_scores(
    pairs: LongVector, features: Rows, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    for k in range(len(batch)):
        begin = pairs[batch[k]]
        for pair in range(begin, pairs[batch[k] + 1]):
            own[starts[k] + pair - begin] += _score(features, pair, w)


@kernel
def _gather(pairs: LongVector, features: Rows, batch: IntVector, parts: Parts) -> Rows:
    # Rows are short once their entries are coalesced, so there is only room for one that is not.
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write = np.zeros(len(batch) + 1, dtype=np.int64), parts.indptr[0]
    for k in range(len(batch)):
        begin, count = pairs[batch[k]], 0
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            pair = begin + parts.numbers[j]
            count += features.indptr[pair + 1] - features.indptr[pair]
        draft = with_room(draft, write, count)
        fill = write
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            pair, value = begin + parts.numbers[j], parts.values[j]
            for entry in range(features.indptr[pair], features.indptr[pair + 1]):
                draft.indices[fill] = features.indices[entry]
                draft.values[fill] = value * features.values[entry] if len(features.values) > 0 else value
                fill += 1
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


@kernel
def _numbers(indptr: LongVector, flags: Flags) -> LongVector:
    """The numbers of the pairs that have a flag, in their places; −1 in all others."""
    numbers = np.full(len(flags), -1, dtype=np.int64)
    for k in range(len(indptr) - 1):
        for j in range(indptr[k], indptr[k + 1]):
            if flags[j] != 0:
                numbers[j] = j - indptr[k]
    return numbers


@dataclass(frozen=True, slots=True)
class Linked(Flat):
    """Structures whose outputs are sets of pairs."""

    layout: Layout

    def n_own(self, documents: LongVector) -> LongVector:
        """The number of pairs."""
        n_pairs: LongVector = self.layout.pairs[documents + 1] - self.layout.pairs[documents]
        return n_pairs

    def flags(self, documents: LongVector, outputs: Any) -> Flags:
        """1 for the pairs of an output, 0 for all others, document after document."""
        raise NotImplementedError

    def parts(self, documents: LongVector, outputs: Any) -> Numbers:
        """The pairs of an output."""
        indptr = boundaries(self.n_own(documents))
        return Numbers(indptr, _numbers(indptr, self.flags(documents, outputs)))
