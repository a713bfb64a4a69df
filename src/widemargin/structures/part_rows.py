"""Features and costs of any structure of parts: sparse rows of features, and a cost for each part.

    θ_p = ⟨w, x_p⟩ for the own part p,   Δ(y) = Σ over the own parts p of y of costs[p]

With `PartFeatures`, each own part has a row of features; each part that examples share has a weight, at the end of w.
The rows and costs of all examples stand end to end, in the order of the numbers of parts. Your own structure needs no
other features and costs.

With `TiedRows`, each *item* of an example has a row, and its parts share the weights of its kind:

    θ_p = sign_p · Σ_f x_rf w[first + f · width + column_p]

The items of a graph are its nodes, then its edges. Those of a kind have the same parts, the labels of a node or the
pairs of labels of an edge. Each part of a kind takes one of the `width` weights of a feature, or none; so parts may be
tied, as (a, b) and (b, a) are if pairs are symmetric. Several items may begin at the same part: then they have the same
parts, and their scores add up.

`distinct` and `runs` say which weights decoding reads, for all features that are numbered.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, sums, with_room
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Flat, InUnits, Parts, Scores, longest_of, places_of


@kernel
def distinct(features: Rows, indptr: LongVector, batch: IntVector) -> IntVector:
    """The features that occur anywhere in the rows of the batch's examples, in the order of their first appearance."""
    # A hash table of the batch's size: sorting would cost more, and a mark for every feature would be as long as w.
    most = features.indptr[0]
    for i in batch:
        most += features.indptr[indptr[i + 1]] - features.indptr[indptr[i]]
    table = new_table(most)
    mask = len(table) - 1
    found = np.empty(most, dtype=np.int32)
    n = 0
    for i in batch:
        for k in range(features.indptr[indptr[i]], features.indptr[indptr[i + 1]]):
            feature = features.indices[k]
            h = (int(feature) * 40503) & mask
            while table[h] >= 0 and table[h] != feature:
                h = (h + 1) & mask
            if table[h] < 0:
                table[h] = feature
                found[n] = feature
                n += 1
    return found[:n]


def runs(numbers: IntVector, width: int, offset: int) -> LongMatrix:
    """The runs of weights of the features with these `numbers`, `width` weights each, from `offset` on."""
    begin = offset + numbers.astype(np.int64) * width
    return np.stack([begin, begin + width], axis=1)


@kernel
def _add_row_scores(
    places: LongVector, rows: Rows, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    # Unsigned indices, as in `core.sparse`: signed ones are checked for wrap-around. Here and in gathering, the kernels
    # for items would do, but they take more arrays: rankings and clusters would train a tenth more slowly (measured).
    for k in range(len(batch)):
        shift = starts[k] - places[batch[k]]
        for row in range(places[batch[k]], places[batch[k] + 1]):
            total = 0.0
            if len(rows.values) == 0:
                for j in range(rows.indptr[row], rows.indptr[row + 1]):
                    total += w[np.uint64(rows.indices[np.uint64(j)])]
            else:
                for j in range(rows.indptr[row], rows.indptr[row + 1]):
                    total += rows.values[np.uint64(j)] * w[np.uint64(rows.indices[np.uint64(j)])]
            own[row + shift] += total


@kernel
def _gather_rows(places: LongVector, rows: Rows, at_shared: int, batch: IntVector, parts: Parts) -> Rows:
    # Coalesced rows are short, so the draft has room for them and for one row that is not coalesced yet.
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write = np.zeros(len(batch) + 1, dtype=np.int64), places[0]
    for k in range(len(batch)):
        begin, n_own, count = places[batch[k]], places[batch[k] + 1] - places[batch[k]], 0
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            row, is_own = begin + parts.numbers[j], parts.numbers[j] < n_own
            count += rows.indptr[row + 1] - rows.indptr[row] if is_own else 1
        draft, fill = with_room(draft, write, count), write
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            number, value = parts.numbers[j], parts.values[j]
            if number >= n_own:
                draft.indices[fill], draft.values[fill] = at_shared + number - n_own, value
                fill += 1
                continue
            for entry in range(rows.indptr[begin + number], rows.indptr[begin + number + 1]):
                draft.indices[fill] = rows.indices[entry]
                draft.values[fill] = value * rows.values[entry] if len(rows.values) > 0 else value
                fill += 1
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


class _RowFeatures:
    """Features in sparse rows, of examples with `n_own` parts; the weights of shared parts begin at `at_shared`."""

    def __init__(self, sizes: LongVector, n_own: LongVector, n_weights: int, at_shared: int) -> None:
        self.sizes, self.n_own, self.n_weights, self.at_shared = sizes, n_own, n_weights, at_shared

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        raise NotImplementedError

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        n_own = self.n_own[batch]
        rows = [
            np.concatenate([counts.own[begin : begin + n], shared])
            for begin, n, shared in zip(counts.starts, n_own, counts.shared, strict=True)
        ]
        n_parts, values = n_own + self.n_weights - self.at_shared, np.concatenate([np.empty(0), *rows])
        return self.gather(batch, Parts(boundaries(n_parts), places_of(0 * n_parts, n_parts), values))


class PartFeatures(_RowFeatures):
    """A row of features for each own part of each example (`structures.parts.Features`).

    Parameters
    ----------
    structure : what outputs are
    sizes : how large each example is
    rows : the features of all own parts, example after example
    n_features : the number of features; the weights of shared parts follow theirs
    """

    work: Any = None

    def __init__(self, structure: Flat, sizes: LongVector, rows: Rows, n_features: int) -> None:
        n_own = structure.n_own(sizes)
        self.rows, self.places = rows, boundaries(n_own)
        super().__init__(sizes, n_own, n_features + structure.n_shared, n_features)
        if len(rows.indptr) - 1 != self.places[-1]:
            raise DataError(f"there are {self.places[-1]} own parts, but {len(rows.indptr) - 1} rows of features")
        if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < n_features:
            raise DataError(f"the rows have an index outside 0 … {n_features - 1}")

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features; shared parts score their weights."""
        _add_row_scores(self.places, self.rows, w, batch, room.starts, room.own)
        return room._replace(shared=w[self.at_shared :])

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather_rows(self.places, self.rows, self.at_shared, batch, parts)

    def most_entries(self) -> FloatVector:
        """The number of all entries of each example."""
        return np.diff(self.rows.indptr[self.places]) + float(self.n_weights - self.at_shared)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of shared parts."""
        shared = np.array([[self.at_shared, self.n_weights]])
        read = runs(distinct(self.rows, self.places, batch), 1, 0)
        return np.concatenate([read, shared[: self.n_weights - self.at_shared]])


class PartCosts(InUnits):
    """A cost for each own part of each example (`structures.parts.Costs`).

    Parameters
    ----------
    structure : what outputs are
    sizes : how large each example is
    costs : of all own parts, example after example; 0 for those of gold
    """

    def __init__(self, structure: Flat, sizes: LongVector, costs: FloatVector) -> None:
        self.structure, self.sizes, self.costs = structure, sizes, costs
        self.places = boundaries(structure.n_own(sizes))
        if len(costs) != self.places[-1] or not np.all(np.isfinite(costs) & (costs >= 0.0)):
            raise DataError(f"costs must be {self.places[-1]} numbers from 0 on, one for each own part")

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of the own parts, times each example's scale."""
        n_own = np.diff(self.places)[batch]
        np.multiply(np.repeat(scales, n_own), self.costs[places_of(self.places[batch], n_own)], out=room.own)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The costs of the parts of outputs."""
        scores = Scores(self.places[batch], self.sizes[batch], self.costs, np.empty(0))
        return self.structure.total(scores, outputs)

    def most(self) -> FloatVector:
        """The error with all parts, which no output can exceed."""
        return sums(self.costs, self.places)


class PartLimits(PartCosts):
    """Limits of partly known gold: own parts that are not `allowed` cost −∞."""

    def __init__(self, structure: Flat, sizes: LongVector, allowed: BoolVector) -> None:
        super().__init__(structure, sizes, np.zeros(len(allowed)))
        self.costs = np.where(allowed, 0.0, -np.inf)


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
def _add_item_scores(
    given: Items, kinds: Kinds, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    sums, rows = np.empty(longest_of(kinds.width)), given.rows
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
def _gather_items(given: Items, kinds: Kinds, batch: IntVector, parts: Parts) -> Rows:
    rows, draft = given.rows, Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write = np.zeros(len(batch) + 1, dtype=np.int64), given.items[0]
    for k in range(len(batch)):
        first, last, fill = given.items[batch[k]], given.items[batch[k] + 1], write
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            r = _item_of(given.places, first, last, parts.numbers[j])
            place = given.places[r]
            while r >= first and given.places[r] == place:
                kind, begin, end = given.kinds[r], rows.indptr[r], rows.indptr[r + 1]
                part = kinds.parts[kind] + parts.numbers[j] - place
                value, column = parts.values[j] * kinds.signs[part], kinds.columns[part]
                if fill + end - begin > len(draft.indices):
                    draft = with_room(draft, fill, end - begin)
                for entry in range(begin, end if column >= 0 and value != 0.0 else begin):
                    draft.indices[fill] = kinds.first[kind] + rows.indices[entry] * kinds.width[kind] + column
                    draft.values[fill] = value * rows.values[entry] if len(rows.values) > 0 else value
                    fill += 1
                r -= 1
        draft = with_room(draft, write, fill - write)  # also in the table
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


class TiedRows(_RowFeatures):
    """Features of items whose parts share weights (`structures.parts.Features`).

    Parameters
    ----------
    sizes, n_own : how large each example is, and how many parts it has
    given : the items of all examples
    kinds : the weights of each kind of item
    n_weights : how many weights there are
    """

    def __init__(self, sizes: LongVector, n_own: LongVector, given: Items, kinds: Kinds, n_weights: int) -> None:
        self.given, self.kinds = given, kinds
        super().__init__(sizes, n_own, n_weights, n_weights)

    @property
    def work(self) -> FloatVector:
        """Measured on grids: a part takes about a tenth of a microsecond, most of it while messages are passed."""
        return self.n_own / 10.0

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of parts; none are shared."""
        _add_item_scores(self.given, self.kinds, w, batch, room.starts, room.own)
        return room._replace(shared=w[self.n_weights :])

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather_items(self.given, self.kinds, batch, parts)

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
