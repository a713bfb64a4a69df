"""Documents as arrays: items to be partitioned, and pairs of them, each with a row of features x_ij.

Pairs that are not given have no features, and nothing can link them directly. `ItemPairs` is what structures ask of
such documents, however they keep their features; `Documents` has them as sparse rows.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, distinct_entries, new_table, with_room
from widemargin.decoders.kruskal import Flags
from widemargin.errors import DataError
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

    @property
    def work(self) -> FloatVector:
        """The estimated decoding time of each document in microseconds."""

    def checked(self, n_weights: int) -> Self:
        """The same documents, after a look at everything that kernels trust."""

    def scores(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """⟨w, x⟩ of the pairs of the batch's documents, document after document."""

    def differences(self, batch: IntVector, gold: Flags, links: Flags) -> Rows:
        """Σ x over the gold links less Σ x over the other ones, for each document of the batch, entries coalesced.

        `gold` has an entry per pair of all documents, `links` one per pair of the batch, document after document.
        """

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that the scores of the batch's documents read."""


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
    def n_documents(self) -> int:
        """The number of documents."""
        return len(self.items) - 1

    @property
    def layout(self) -> Layout:
        """Items and pairs."""
        return Layout(self.items, self.pairs, self.first, self.second)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features in the batch's documents."""
        return runs(distinct(self.features, self.pairs, batch), 1, 0)

    def checked(self, n_weights: int) -> "Documents":
        """The documents with distinct entries in every row; kernels trust them from here on."""
        return checked(self, n_weights)

    def scores(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """⟨w, x⟩ of the pairs of the batch's documents, document after document."""
        return _scores(self, w, batch)

    def differences(self, batch: IntVector, gold: Flags, links: Flags) -> Rows:
        """Features of gold links less those of other ones (`ItemPairs`)."""
        return link_differences(self, batch, gold, links)

    @property
    def work(self) -> FloatVector:
        """The estimated decoding time of each document in microseconds."""
        # About a nanosecond to look up a weight, and forty to decide about a pair.
        entries = self.features.indptr[self.pairs[1:]] - self.features.indptr[self.pairs[:-1]]
        work: FloatVector = (1.2 * entries + 40.0 * np.diff(self.pairs) + 50.0 * np.diff(self.items)) / 1000
        return work


def checked(documents: Documents, n_features: int) -> Documents:
    """The documents with distinct entries in every row; kernels trust them from here on."""
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
    if len(features.indices) and not 0 <= features.indices.min() <= features.indices.max() < n_features:
        raise DataError(f"features has an index outside 0 … {n_features - 1}")
    return documents._replace(features=distinct_entries(features, n_features))


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
def pair_scores(documents: Documents, w: FloatVector, i: int, scores: FloatVector) -> None:
    """scores[p] = ⟨w, x⟩ for the pairs p of document i, counted from its first."""
    begin = documents.pairs[i]
    for pair in range(begin, documents.pairs[i + 1]):
        scores[pair - begin] = _score(documents.features, pair, w)


@kernel
def _scores(documents: Documents, w: FloatVector, batch: IntVector) -> FloatVector:
    scores = np.empty(count_in(documents.pairs, batch))
    at = 0
    for i in batch:
        n = documents.pairs[i + 1] - documents.pairs[i]
        pair_scores(documents, w, i, scores[at : at + n])
        at += n
    return scores


@kernel
def count_in(indptr: LongVector, batch: IntVector) -> int:
    """How many items, or pairs, the batch's documents have together."""
    count = 0
    for i in batch:
        count += indptr[i + 1] - indptr[i]
    return count


@kernel
def link_counts(layout: Layout, batch: IntVector, inside: BoolVector, links: Flags) -> LongMatrix:
    """For each document of the batch, how many of its links lie inside clusters, and how many across.

    `inside` has an entry per pair of all documents, `links` one per pair of the batch, document after document.
    """
    counts = np.zeros((len(batch), 2), dtype=np.int64)
    at = 0
    for position in range(len(batch)):
        begin, end = layout.pairs[batch[position]], layout.pairs[batch[position] + 1]
        right = total = 0
        for pair in range(begin, end):
            total += links[at + pair - begin]
            right += links[at + pair - begin] * inside[pair]
        counts[position, 0], counts[position, 1] = right, total - right
        at += end - begin
    return counts


@kernel
def link_differences(documents: Documents, batch: IntVector, gold: Flags, links: Flags) -> Rows:
    """Σ x over the gold links less Σ x over the other ones, for each document of the batch, entries coalesced.

    `gold` has an entry per pair of all documents, `links` one per pair of the batch, document after document.
    """
    features = documents.features
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr = np.zeros(len(batch) + 1, dtype=np.int64)
    at, write = documents.pairs[0], features.indptr[0]
    for position in range(len(batch)):
        begin, end = documents.pairs[batch[position]], documents.pairs[batch[position] + 1]
        count = 0
        for pair in range(begin, end):
            if gold[pair] != links[at + pair - begin]:
                count += features.indptr[pair + 1] - features.indptr[pair]
        draft = with_room(draft, write, count)
        fill = write
        for pair in range(begin, end):
            sign = float(gold[pair]) - float(links[at + pair - begin])
            if sign != 0.0:
                for k in range(features.indptr[pair], features.indptr[pair + 1]):
                    draft.indices[fill] = features.indices[k]
                    draft.values[fill] = sign * features.values[k] if len(features.values) > 0 else sign
                    fill += 1
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        at += end - begin
        indptr[position + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())
