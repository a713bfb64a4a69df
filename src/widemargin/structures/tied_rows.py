"""A sparse row of features for each item of an example, whose parts share the weights of its kind.

    θ_p = sign_p · Σ_f x_rf w[first + f · width + column_p]

The items of a graph are its nodes, then its edges. Those of a kind have the same parts, the labels of a node or the
pairs of labels of an edge. Each part of a kind takes one of the `width` weights of a feature, or none; so parts may be
tied, as (a, b) and (b, a) are if pairs are symmetric. Several items may begin at the same part: then they have the same
parts, and their scores add up.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, with_room
from widemargin.structures.flat import Counts, Parts, Scores
from widemargin.structures.part_rows import distinct, runs


class Kinds(NamedTuple):
    """The weights of each kind of item: from `first` on, `width` for each feature.

    The parts of kind k take the columns columns[parts[k]:parts[k + 1]], −1 for none, with these `signs`.
    """

    first: LongVector
    width: LongVector
    parts: LongVector
    columns: LongVector
    signs: FloatVector


class Items(NamedTuple):
    """The items of all examples, end to end: example i has items[i] … items[i + 1] − 1.

    Item r is of the kind `kinds[r]`, and its parts begin at places[r], counted from the first part of its example.
    """

    items: LongVector
    kinds: LongVector
    places: LongVector
    rows: Rows


@kernel
def _add_scores(
    given: Items, kinds: Kinds, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    widest = 1
    for width in kinds.width:
        widest = max(widest, width)
    sums, rows = np.empty(widest), given.rows
    for k in range(len(batch)):
        for r in range(given.items[batch[k]], given.items[batch[k] + 1]):
            kind = given.kinds[r]
            first, width, begin = kinds.first[kind], kinds.width[kind], starts[k] + given.places[r]
            sums[:width] = 0.0
            for j in range(rows.indptr[r], rows.indptr[r + 1]):
                x, at = rows.values[j] if len(rows.values) > 0 else 1.0, first + rows.indices[j] * width
                for column in range(width):
                    sums[column] += x * w[np.uint64(at + column)]
            for p in range(kinds.parts[kind + 1] - kinds.parts[kind]):
                column = kinds.columns[kinds.parts[kind] + p]
                if column >= 0:
                    own[begin + p] += kinds.signs[kinds.parts[kind] + p] * sums[column]


@kernel
def _item_of(places: LongVector, first: int, last: int, number: int) -> int:
    """The last of the items first … last − 1 whose parts begin at most at `number`."""
    while last - first > 1:
        middle = (first + last) // 2
        if places[middle] <= number:
            first = middle
        else:
            last = middle
    return first


@kernel
def _gather(given: Items, kinds: Kinds, batch: IntVector, parts: Parts) -> Rows:
    # As in `part_rows`: coalesced rows are short, so the draft has room for them and one that is not coalesced yet.
    rows, draft = given.rows, Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write, most = np.zeros(len(batch) + 1, dtype=np.int64), given.items[0], given.items[0]
    for k in range(len(batch)):
        most = max(most, parts.indptr[k + 1] - parts.indptr[k])
    at = np.empty(most, dtype=np.int64)
    for k in range(len(batch)):
        first, last, count = given.items[batch[k]], given.items[batch[k] + 1], 0
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            r = _item_of(given.places, first, last, parts.numbers[j])
            at[j - parts.indptr[k]] = r
            place = given.places[r]
            while r >= first and given.places[r] == place:
                count += rows.indptr[r + 1] - rows.indptr[r]
                r -= 1
        draft, fill = with_room(draft, write, count), write
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            r = at[j - parts.indptr[k]]
            place = given.places[r]
            while r >= first and given.places[r] == place:
                kind = given.kinds[r]
                part = kinds.parts[kind] + parts.numbers[j] - place
                value, column = parts.values[j] * kinds.signs[part], kinds.columns[part]
                for entry in range(rows.indptr[r], rows.indptr[r + 1] if column >= 0 and value != 0.0 else 0):
                    draft.indices[fill] = kinds.first[kind] + rows.indices[entry] * kinds.width[kind] + column
                    draft.values[fill] = value * rows.values[entry] if len(rows.values) > 0 else value
                    fill += 1
                r -= 1
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


class TiedRows:
    """Features of items whose parts share weights (`structures.parts.Features`).

    Parameters
    ----------
    sizes, n_own : how large each example is, and how many parts it has
    given : the items of all examples
    kinds : the weights of each kind of item
    n_weights : how many weights there are
    """

    def __init__(self, sizes: LongVector, n_own: LongVector, given: Items, kinds: Kinds, n_weights: int) -> None:
        self.sizes, self.n_own, self.given, self.kinds, self.n_weights = sizes, n_own, given, kinds, n_weights

    @property
    def work(self) -> FloatVector:
        """Measured on grids: a part takes about a tenth of a microsecond, most of it while messages are passed."""
        return self.n_own / 10.0

    def with_sizes(self, sizes: LongVector) -> "TiedRows":
        """The same features of examples whose shapes have other numbers."""
        return TiedRows(sizes, self.n_own, self.given, self.kinds, self.n_weights)

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of parts; none are shared."""
        _add_scores(self.given, self.kinds, w, batch, room.starts, room.own)
        return room._replace(shared=w[self.n_weights :])

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.given, self.kinds, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        n_own = self.n_own[batch]
        own = [counts.own[begin : begin + n] for begin, n in zip(counts.starts.tolist(), n_own.tolist(), strict=True)]
        numbers = [np.arange(n) for n in n_own.tolist()]
        nothing = np.empty(0)
        return self.gather(
            batch,
            Parts(
                boundaries(n_own), np.concatenate([nothing.astype(np.int64), *numbers]), np.concatenate([nothing, *own])
            ),
        )

    def most_entries(self) -> FloatVector:
        """Two entries for each feature of each item: one of gold's part and one of another."""
        return 2.0 * np.diff(self.given.rows.indptr[self.given.items])

    def summed(self, batches: Sequence[IntVector]) -> Any:
        """None: rows are as fast."""
        return None

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features of each kind of item."""
        items = [np.arange(self.given.items[i], self.given.items[i + 1]) for i in batch.tolist()]
        numbers = np.concatenate([np.empty(0, np.int64), *items])
        ones, found = np.arange(len(self.given.kinds) + 1), [np.empty((0, 2), dtype=np.int64)]
        for kind in np.unique(self.given.kinds[numbers]).tolist():
            read = distinct(self.given.rows, ones, numbers[self.given.kinds[numbers] == kind].astype(np.int32))
            found.append(runs(read, int(self.kinds.width[kind]), int(self.kinds.first[kind])))
        return np.concatenate(found)
