"""Features and costs of any structure of parts: a sparse row of features, and a cost, for each part.

    θ_p = ⟨w, x_p⟩ for the own part p,   Δ(y) = Σ over the own parts p of y of costs[p]

The rows and costs of all examples stand end to end, in the order of the numbers of parts. Each part that examples share
has a weight, at the end of w. Your own structure needs no other features and costs.

`distinct` and `runs` say which weights decoding reads, for all features that are numbered.
"""

from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, sums, with_room
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Flat, InUnits, Parts, Scores, places_of


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
def _score(rows: Rows, row: int, w: FloatVector) -> float:
    """⟨w, x⟩ of one row."""
    # Unsigned indices, as in `core.sparse`: signed ones are checked for wrap-around.
    total = 0.0
    if len(rows.values) == 0:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            total += w[np.uint64(rows.indices[np.uint64(k)])]
    else:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            total += rows.values[np.uint64(k)] * w[np.uint64(rows.indices[np.uint64(k)])]
    return total


@kernel
def _add_scores(
    places: LongVector, rows: Rows, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    for k in range(len(batch)):
        shift = starts[k] - places[batch[k]]
        for row in range(places[batch[k]], places[batch[k] + 1]):
            own[row + shift] += _score(rows, row, w)


@kernel
def _gather(places: LongVector, rows: Rows, n_weights: int, n_shared: int, batch: IntVector, parts: Parts) -> Rows:
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
                draft.indices[fill], draft.values[fill] = n_weights - n_shared + number - n_own, value
                fill += 1
                continue
            for entry in range(rows.indptr[begin + number], rows.indptr[begin + number + 1]):
                draft.indices[fill] = rows.indices[entry]
                draft.values[fill] = value * rows.values[entry] if len(rows.values) > 0 else value
                fill += 1
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


class PartFeatures:
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
        self.sizes, self.rows, self.n_shared = sizes, rows, structure.n_shared
        self.n_weights = n_features + self.n_shared
        self.places = boundaries(structure.n_own(sizes))
        if len(rows.indptr) - 1 != self.places[-1]:
            raise DataError(f"there are {self.places[-1]} own parts, but {len(rows.indptr) - 1} rows of features")
        if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < n_features:
            raise DataError(f"the rows have an index outside 0 … {n_features - 1}")

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features; shared parts score their weights."""
        _add_scores(self.places, self.rows, w, batch, room.starts, room.own)
        return room._replace(shared=w[self.n_weights - self.n_shared :])

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.places, self.rows, self.n_weights, self.n_shared, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        n_own = np.diff(self.places)[batch]
        rows = [
            np.concatenate([counts.own[begin : begin + n], shared])
            for begin, n, shared in zip(counts.starts, n_own, counts.shared, strict=True)
        ]
        n_parts = n_own + self.n_shared
        return self.gather(batch, Parts(boundaries(n_parts), places_of(0 * n_parts, n_parts), np.concatenate(rows)))

    def most_entries(self) -> FloatVector:
        """The number of all entries of each example."""
        return np.diff(self.rows.indptr[self.places]) + float(self.n_shared)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of shared parts."""
        shared = np.array([[self.n_weights - self.n_shared, self.n_weights]])
        return np.concatenate([runs(distinct(self.rows, self.places, batch), 1, 0), shared[: self.n_shared]])


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
