"""Features of chains: θ = F w, from weights to the scores of labels and pairs of labels, and back.

    emission[t, l] = Σ_f x_tf W[f, l]
    transition[t, k, l] = T[k, l] + Σ_g z_tg G[g, k, l],   one table for all t where there are no features z

x_t are the features of position t, z_t its optional features on the transition into it.
"""

from collections.abc import Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import NO_ROWS, Rows, add_features, coalesce, new_table, transposed
from widemargin.errors import DataError
from widemargin.structures.chain import ChainCounts, ChainScores
from widemargin.structures.label_rows import (
    add_label_scores,
    add_thin_label_scores,
    append,
    append_features,
    count_features,
    sum_by_feature,
    sum_by_row,
)
from widemargin.structures.parts import Parts
from widemargin.structures.support import distinct, runs
from widemargin.tasks.tag.weights import ChainShape, ChainWeights


@kernel
def _add_tables(
    indptr: LongVector,
    rows: Rows,
    conditional: FloatMatrix,
    shared: FloatMatrix,
    batch: IntVector,
    starts: LongVector,
    tables: FloatMatrix,
) -> None:
    """The transition scores of positions that have features of their own."""
    n_pairs = shared.shape[0] * shared.shape[1]
    flat, same = conditional.reshape(len(conditional), n_pairs), shared.reshape(n_pairs)
    for k in range(len(batch)):
        first = indptr[batch[k]]
        for t in range(indptr[batch[k] + 1] - first):
            table = tables[starts[k] + t].reshape(n_pairs)
            for j in range(n_pairs):
                table[j] = same[j]
            add_features(rows, first + t, flat, table)


@kernel
def _push(
    rows: Rows, t: int, width: int, place: int, value: float, other: int, against: float, psi: Rows, at: int
) -> int:
    """Append x_t times `value` from the weight `place` on, and times `against` from `other` on, `width` apart.

    The two weights of a feature follow one another, as they do in memory: sweeps over cuts then fetch them together.
    Nothing is appended for an `against` of 0. Returns where the entries end.
    """
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        x, offset = rows.values[k] if len(rows.values) > 0 else 1.0, rows.indices[k] * width
        psi.indices[at], psi.values[at] = offset + place, value * x
        at += 1
        if against != 0.0:
            psi.indices[at], psi.values[at] = offset + other, against * x
            at += 1
    return at


@kernel
def _gather(
    indptr: LongVector,
    features: Rows,
    transition_features: Rows,
    n_labels: int,
    n_features: int,
    batch: IntVector,
    parts: Parts,
) -> Rows:
    n_pairs, conditional = n_labels * n_labels, len(transition_features.indptr) > 1
    room = most = indptr[0]
    for k in range(len(batch)):
        first, size = indptr[batch[k]], 0
        at_pairs = (indptr[batch[k] + 1] - first) * n_labels
        at_begin = at_pairs * (n_labels + 1)
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            number, rows = parts.numbers[j], 1
            if number < at_pairs:
                t = first + number // n_labels
                rows = features.indptr[t + 1] - features.indptr[t]
            elif conditional and number < at_begin:
                t = first + (number - at_pairs) // n_pairs
                rows += transition_features.indptr[t + 1] - transition_features.indptr[t]
            size += rows
        room, most = room + size, max(most, size)
    table = new_table(most)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    at_transition = n_features * n_labels
    at_conditional = at_transition + n_pairs + 2 * n_labels
    end = psi.indptr[0]
    for k in range(len(batch)):
        first, write, j = indptr[batch[k]], end, parts.indptr[k]
        at_pairs = (indptr[batch[k] + 1] - first) * n_labels
        at_begin = at_pairs * (n_labels + 1)
        while j < parts.indptr[k + 1]:
            number, value, other, against = parts.numbers[j], parts.values[j], parts.numbers[j], 0.0
            width = n_labels if number < at_pairs else n_pairs
            start = 0 if number < at_pairs else at_pairs
            t = (number - start) // width if number < at_begin else -1
            # Gold and output follow one another: if both are parts of one position, so do their weights.
            if t >= 0 and j + 1 < parts.indptr[k + 1]:
                following = parts.numbers[j + 1]
                if start + t * width <= following < start + (t + 1) * width:
                    other, against = following, parts.values[j + 1]
            j += 1 if against == 0.0 else 2
            if number < at_pairs:
                place, second = number - t * width, other - t * width
                write = _push(features, first + t, width, place, value, second, against, psi, write)
                continue
            # Pairs of labels, first labels and last labels have weights of their own, in this order.
            shift = at_begin - n_pairs if t < 0 else at_pairs + t * width
            psi.indices[write], psi.values[write] = at_transition + number - shift, value
            write += 1
            if against != 0.0:
                psi.indices[write], psi.values[write] = at_transition + other - shift, against
                write += 1
            if conditional and t >= 0:
                place, second = at_conditional + number - shift, at_conditional + other - shift
                write = _push(transition_features, first + t, width, place, value, second, against, psi, write)
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[k + 1] = end
    return Rows(psi.indptr, psi.indices[:end], psi.values[:end])


@kernel
def _gather_counts(
    indptr: LongVector,
    features: Rows,
    transition_features: Rows,
    n_features: int,
    batch: IntVector,
    counts: ChainCounts,
) -> Rows:
    n_labels, by_row = counts.labels.shape[1], len(transition_features.indptr) > 1
    n_pairs = n_labels * n_labels
    room, most = count_features(features, indptr, batch)
    room_pairs, most_pairs = count_features(transition_features, indptr, batch)
    room = room * n_labels + room_pairs * n_pairs + len(batch) * (n_pairs + 2 * n_labels)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, names = new_table(max(most, most_pairs)), np.empty(max(most, most_pairs), dtype=np.int32)
    sums, pair_sums, pairs = np.empty((most, n_labels)), np.empty((most_pairs, n_pairs)), np.empty(n_pairs)
    at_transition = n_features * n_labels
    at_begin = at_transition + n_pairs
    at_end = at_begin + n_labels
    write = psi.indptr[0]
    for k in range(len(batch)):
        first, row, n = indptr[batch[k]], counts.starts[k], counts.sizes[k]
        if n > 0:
            labels = counts.labels[row : row + n]
            n_distinct = sum_by_feature(features, first, labels, table, names, sums)
            write = append_features(names, sums, n_distinct, psi.indptr[0], psi, write)
            begin, end = row if by_row else k, row + n if by_row else k + 1
            if by_row:
                flat = counts.pairs[begin:end].reshape(n, n_pairs)
                n_distinct = sum_by_feature(transition_features, first, flat, table, names, pair_sums)
                write = append_features(names, pair_sums, n_distinct, at_end + n_labels, psi, write)
            for j in range(n_pairs):
                pairs[j] = 0.0
            for t in range(begin, end):
                own = counts.pairs[t].reshape(n_pairs)
                for j in range(n_pairs):
                    pairs[j] += own[j]
            write = append(pairs, at_transition, psi, write)
            write = append(labels[0], at_begin, psi, write)
            write = append(labels[n - 1], at_end, psi, write)
        psi.indptr[k + 1] = write
    return Rows(psi.indptr, psi.indices[:write], psi.values[:write])


@kernel
def _put(
    indptr: LongVector, batch: IntVector, counts: ChainCounts, c: FloatVector, out: FloatMatrix, shared: FloatVector
) -> None:
    """Write c times the counts of labels to the positions of the batch, and sum those of pairs, begin and end."""
    n_labels = counts.labels.shape[1]
    n_pairs = n_labels * n_labels
    for j in range(len(shared)):
        shared[j] = 0.0
    for k in range(len(batch)):
        first, row, n = indptr[batch[k]], counts.starts[k], counts.sizes[k]
        for t in range(n):
            for label in range(n_labels):
                out[first + t, label] = c[k] * counts.labels[row + t, label]
        if n > 0:
            pairs = counts.pairs[k].reshape(n_pairs)
            for j in range(n_pairs):
                shared[j] += c[k] * pairs[j]
            for label in range(n_labels):
                shared[n_pairs + label] += out[first, label]
                shared[n_pairs + n_labels + label] += out[first + n - 1, label]


class ChainFeatures:
    """The features of sequences (`structures.parts.Features`).

    Parameters
    ----------
    shape : of the weights
    indptr : (n + 1,) where each sequence begins among the positions
    features : the features of each position, a row per position
    transition_features : those on the transition into each position, or no rows
    """

    def __init__(
        self, shape: ChainShape, indptr: LongVector, features: Rows, transition_features: Rows = NO_ROWS
    ) -> None:
        self.shape, self.indptr = shape, indptr
        self.rows, self.transition_rows = features, transition_features
        self.n_weights, self.sizes = shape.n_weights, np.diff(indptr)
        # Measured: a nanosecond for 6 label pairs and for 2 weights of features, ten to fetch a feature's weights.
        n_features = len(features.indices) / max(indptr[-1], 1)
        self.work = self.sizes * (shape.n_labels**2 / 6 + n_features * (10 + shape.n_labels / 2)) / 1000

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        self._check_rows("features", self.rows, self.shape.n_features)
        if self.shape.n_transition_features:
            self._check_rows("transition_features", self.transition_rows, self.shape.n_transition_features)

    def _check_rows(self, name: str, rows: Rows, width: int) -> None:
        n_positions = int(self.indptr[-1])
        if len(rows.indptr) != n_positions + 1 or rows.indptr[-1] != len(rows.indices):
            raise DataError(f"there are {n_positions} positions, but {len(rows.indptr) - 1} rows of {name}")
        if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
            raise DataError(f"{name} has an index outside 0 … {width - 1}")

    def scores(self, w: FloatVector | ChainWeights, batch: IntVector, room: ChainScores) -> ChainScores:
        """Add the scores of features; transitions that all positions share are the weights themselves."""
        weights = w if isinstance(w, ChainWeights) else self.shape.parts(w)
        starts, sizes, emission, tables, *_ = room
        if len(weights.emission):
            add_label_scores(self.indptr, self.rows, weights.emission, batch, starts, emission)
        else:
            add_thin_label_scores(self.indptr, self.rows, weights.thin_emission, batch, starts, emission)
        if self.shape.n_transition_features:
            given = weights.conditional, weights.transition, batch, starts, tables
            _add_tables(self.indptr, self.transition_rows, *given)
        else:
            tables = weights.transition[None]
        return ChainScores(starts, sizes, emission, tables, weights.begin, weights.end)

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        shape = self.shape
        return _gather(self.indptr, self.rows, self.transition_rows, shape.n_labels, shape.n_features, batch, parts)

    def gather_counts(self, batch: IntVector, counts: ChainCounts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        given = self.indptr, self.rows, self.transition_rows
        return _gather_counts(*given, self.shape.n_features, batch, counts)

    def most_entries(self) -> FloatVector:
        """How many entries ψ of each sequence may have."""
        entries = 4.0 * (self.sizes + 1.0)
        for rows in (self.rows, self.transition_rows):
            if len(rows.indptr) > 1:
                entries += 2.0 * np.diff(rows.indptr[self.indptr])
        return entries

    def summed(self, batches: Sequence[IntVector]) -> "SummedFeatures | None":
        """Sums over all sequences; not with features on transitions."""
        return None if self.shape.n_transition_features else SummedFeatures(self, batches)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        shape, indptr = self.shape, self.indptr
        after_emission = shape.n_features * shape.n_labels
        after_end = after_emission + shape.n_labels * (shape.n_labels + 2)
        parts = [
            runs(distinct(self.rows, indptr, batch), shape.n_labels, 0),
            np.array([[after_emission, after_end]]),
        ]
        if shape.n_transition_features:
            parts.append(runs(distinct(self.transition_rows, indptr, batch), shape.n_labels**2, after_end))
        return np.concatenate(parts)


class SummedFeatures:
    """Σ_i c_i F_iᵀ z_i over all sequences (`structures.parts.Summed`), with no row for any of them.

    Every sequence writes its coefficients of labels to rows of its own. Then each feature sums the rows of its
    positions, for which the features are transposed once. No two threads ever add to the same number, and every sum
    has a fixed order.
    """

    def __init__(self, features: ChainFeatures, batches: Sequence[IntVector]) -> None:
        self.features, self.batches = features, batches
        shape = features.shape
        self.rows = np.zeros((int(features.indptr[-1]), shape.n_labels))
        self.shared = np.zeros((len(batches), shape.n_labels * (shape.n_labels + 2)))
        self.positions = NO_ROWS  # of each feature, once they are asked for

    def put(self, number: int, counts: ChainCounts, c: FloatVector) -> None:
        """Take the coefficients of a batch."""
        _put(self.features.indptr, self.batches[number], counts, c, self.rows, self.shared[number])

    def total(self, n_threads: int) -> FloatVector:
        """The sum over all batches."""
        shape = self.features.shape
        if self.positions is NO_ROWS:
            self.positions = transposed(self.features.rows, shape.n_features)
        total = np.empty(shape.n_weights)
        sum_by_row(self.positions, self.rows, shape.parts(total).emission, n_threads)
        self.shared.sum(axis=0, out=total[shape.n_features * shape.n_labels :])
        return total
