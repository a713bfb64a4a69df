"""Sparse rows × labels: the linear map that gives every label of a row a score, and its transpose.

    scores[r, l] += Σ_f x_rf W[f, l] + intercept · bias[l],   ψ[f, l] = Σ_r x_rf residual[r, l]

Example i has the rows indptr[i] … indptr[i + 1] − 1: the positions of a sequence, or one row if the example is
classified as a whole. Part r · L + l is label l of its row r. Shared parts, such as pairs of neighbouring labels, come
next, with a weight each. The flat weight vector begins with W, whose last row is the bias if there is an intercept; the
shared weights follow.

A row of weights or sums may also have an entry per role and label, or per pair of labels. If every label has some
probability, each feature has a whole row of entries. Then the distinct features are found first and whole rows are
summed, so that no single entry is looked up.
"""

from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import run
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import NO_ROWS, Rows, add_features, add_thin_features, coalesce, new_table
from widemargin.structures.flat import Counts, Parts, Scores
from widemargin.structures.part_rows import distinct, runs


@kernel
def add_label_scores(
    indptr: LongVector,
    rows: Rows,
    W: FloatMatrix,
    intercept: float,
    batch: IntVector,
    starts: LongVector,
    scores: FloatVector,
) -> None:
    """Add the scores of all labels of the batch's rows; with an intercept, the last row of W is the bias."""
    # W is (features, labels): the weights of one feature for all labels are neighbours, and are fetched together.
    n_labels = W.shape[1]
    for k in range(len(batch)):
        begin = starts[k]
        for row in range(indptr[batch[k]], indptr[batch[k] + 1]):
            out = scores[begin : begin + n_labels]
            add_features(rows, row, W, out)
            if intercept != 0.0:
                bias = W[len(W) - 1]
                for label in range(n_labels):
                    out[label] += intercept * bias[label]
            begin += n_labels


@kernel
def add_thin_label_scores(
    indptr: LongVector, rows: Rows, W: Rows, batch: IntVector, starts: LongVector, scores: FloatVector, n_labels: int
) -> None:
    """The same with sparse rows of weights."""
    for k in range(len(batch)):
        begin = starts[k]
        for row in range(indptr[batch[k]], indptr[batch[k] + 1]):
            add_thin_features(rows, row, W, scores[begin : begin + n_labels])
            begin += n_labels


@kernel
def sum_by_feature(
    features: Rows, first: int, residual: FloatMatrix, table: IntVector, names: IntVector, sums: FloatMatrix
) -> int:
    """sums[k] = Σ_t x_tf residual[t] for every distinct f = names[k] of the positions from `first` on; return how many.

    `table` comes from `sparse.new_table` and is all −1 before and after.
    """
    # Open addressing: one look-up gives a whole row of sums. The table is larger than the number of features and its
    # size a power of two, so probing ends and `mask` replaces a division.
    mask = len(table) - 1
    width = residual.shape[1]
    n_distinct = 0
    for t in range(len(residual)):
        row = residual[t]
        for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
            feature = features.indices[k]
            value = features.values[k] if len(features.values) > 0 else 1.0
            h = (int(feature) * 40503) & mask
            while table[h] >= 0 and names[table[h]] != feature:
                h = (h + 1) & mask
            if table[h] < 0:
                table[h] = n_distinct
                names[n_distinct] = feature
                for j in range(width):
                    sums[n_distinct, j] = value * row[j]
                n_distinct += 1
            else:
                total = sums[table[h]]
                for j in range(width):
                    total[j] += value * row[j]
    for k in range(len(table)):
        table[k] = -1
    return n_distinct


@kernel
def append(row: FloatVector, offset: int, psi: Rows, write: int) -> int:
    """Append the non-zero entries of `row` at the weights from `offset` on; return where the entries end."""
    for j in range(len(row)):
        if row[j] != 0.0:
            psi.indices[write] = offset + j
            psi.values[write] = row[j]
            write += 1
    return write


@kernel
def append_features(names: IntVector, sums: FloatMatrix, n: int, offset: int, psi: Rows, write: int) -> int:
    """Append the first `n` rows of `sums`, that of feature f at the weights from offset + f · width on."""
    for k in range(n):
        write = append(sums[k], offset + names[k] * sums.shape[1], psi, write)
    return write


@kernel
def count_features(features: Rows, indptr: LongVector, batch: IntVector) -> tuple[int, int]:
    """The number of features of all examples of the batch, and of the example with the most.

    The rows of example i are indptr[i] … indptr[i + 1] − 1.
    """
    total = most = indptr[0]
    if len(features.indptr) > 1:
        for i in batch:
            size = features.indptr[indptr[i + 1]] - features.indptr[indptr[i]]
            total, most = total + size, max(most, size)
    return total, most


@kernel
def _sum_rows(rows: Rows, matrix: FloatMatrix, first: int, last: int, out: FloatMatrix) -> None:
    for r in range(first, last):
        for j in range(out.shape[1]):
            out[r, j] = 0.0
        add_features(rows, r, matrix, out[r])


def sum_by_row(rows: Rows, matrix: FloatMatrix, out: FloatMatrix, n_threads: int) -> None:
    """out[r] = Σ_k x_rk matrix[k]; each thread takes rows with about the same number of entries."""
    shares = np.linspace(0, rows.indptr[-1] + len(out), n_threads + 1)
    ends = np.searchsorted(rows.indptr + np.arange(len(rows.indptr)), shares)
    ends[-1] = len(out)
    run([partial(_sum_rows, rows, matrix, a, b, out) for a, b in pairwise(ends.tolist()) if a < b])


@kernel
def _push(rows: Rows, t: int, width: int, parts: Parts, first: int, last: int, offset: int, psi: Rows, at: int) -> int:
    """Append x_t times the parts [first, last), all of row t; return where the entries end.

    Feature f has its weight of part p at offset + f · width + p. The weights of a feature follow one another, as they
    do in memory: sweeps over cuts then fetch them together.
    """
    # Unless outputs may have many labels per row, a row has two parts at most, gold and output: they stay in registers.
    one, other, few = parts.numbers[first], parts.numbers[last - 1], last - first <= 2
    value, against, two = parts.values[first], parts.values[last - 1], last - first == 2
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        x, begin = rows.values[k] if len(rows.values) > 0 else 1.0, rows.indices[k] * width + offset
        if few:
            psi.indices[at], psi.values[at] = begin + one, value * x
            at += 1
            if two:
                psi.indices[at], psi.values[at] = begin + other, against * x
                at += 1
            continue
        for j in range(first, last):
            psi.indices[at], psi.values[at] = begin + parts.numbers[j], parts.values[j] * x
            at += 1
    return at


@kernel
def _push_shared(parts: Parts, first: int, last: int, offset: int, x: float, psi: Rows, at: int) -> int:
    """Append x times the parts [first, last), that of part p at the weight offset + p."""
    for j in range(first, last):
        psi.indices[at], psi.values[at] = offset + parts.numbers[j], parts.values[j] * x
        at += 1
    return at


@kernel
def _gather(
    indptr: LongVector,
    rows: Rows,
    transition_rows: Rows,
    n_labels: int,
    n_features: int,
    intercept: float,
    unique: bool,
    batch: IntVector,
    parts: Parts,
) -> Rows:
    n_pairs, conditional, biased = n_labels * n_labels, len(transition_rows.indptr) > 1, intercept != 0.0
    room = most = indptr[0]
    for k in range(len(batch)):
        first, size = indptr[batch[k]], 0
        at_pairs = (indptr[batch[k] + 1] - first) * n_labels
        at_shared = at_pairs * (n_labels + 1) if conditional else at_pairs
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            number, entries = parts.numbers[j], 1
            if number < at_pairs:
                t = first + number // n_labels
                entries = rows.indptr[t + 1] - rows.indptr[t] + biased
            elif conditional and number < at_shared:
                t = first + (number - at_pairs) // n_pairs
                entries += transition_rows.indptr[t + 1] - transition_rows.indptr[t]
            size += entries
        room, most = room + size, max(most, size)
    table = new_table(0 if unique else most)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    at_bias = n_features * n_labels
    at_transition = at_bias + n_labels if biased else at_bias
    at_conditional = at_transition + n_pairs + 2 * n_labels
    end = psi.indptr[0]
    for k in range(len(batch)):
        first, write, j, last = indptr[batch[k]], end, parts.indptr[k], parts.indptr[k + 1]
        at_pairs = (indptr[batch[k] + 1] - first) * n_labels
        at_shared = at_pairs * (n_labels + 1) if conditional else at_pairs
        while j < last:
            number, stop = parts.numbers[j], j + 1
            if number >= at_shared:
                shift = at_shared - (n_pairs if conditional else 0)
                write = _push_shared(parts, j, stop, at_transition - shift, 1.0, psi, write)
                j = stop
                continue
            # Gold and output follow one another: if both are parts of one row, their weights are pushed together.
            width, start = (n_labels, 0) if number < at_pairs else (n_pairs, at_pairs)
            t = (number - start) // width
            low = start + t * width
            while stop < last and low <= parts.numbers[stop] < low + width:
                stop += 1
            if number < at_pairs:
                write = _push(rows, first + t, width, parts, j, stop, -low, psi, write)
                if biased:
                    write = _push_shared(parts, j, stop, at_bias - low, intercept, psi, write)
            else:
                write = _push_shared(parts, j, stop, at_transition - low, 1.0, psi, write)
                write = _push(transition_rows, first + t, width, parts, j, stop, at_conditional - low, psi, write)
            j = stop
        end = write if unique else coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[k + 1] = end
    return Rows(psi.indptr, psi.indices[:end], psi.values[:end])


@kernel
def _append_products(rows: Rows, row: int, residual: FloatVector, psi: Rows, write: int) -> int:
    """Append x ⊗ residual for the features x of a row, without zeros; return where the entries end."""
    width = len(residual)
    for k in range(rows.indptr[row], rows.indptr[row + 1]):
        value, offset = rows.values[k] if len(rows.values) > 0 else 1.0, rows.indices[k] * width
        for label in range(width):
            if residual[label] != 0.0:
                psi.indices[write], psi.values[write] = offset + label, value * residual[label]
                write += 1
    return write


@kernel
def _gather_counts(
    indptr: LongVector,
    rows: Rows,
    transition_rows: Rows,
    n_labels: int,
    n_features: int,
    intercept: float,
    unique: bool,
    batch: IntVector,
    counts: Counts,
) -> Rows:
    # An example of one row has distinct features, so its products need no summing (`unique`); in a sequence the same
    # feature recurs at many positions, and its row is summed first.
    conditional, biased = len(transition_rows.indptr) > 1, intercept != 0.0
    n_pairs = n_labels * n_labels if conditional else 0
    room, most = count_features(rows, indptr, batch)
    room_pairs, most_pairs = count_features(transition_rows, indptr, batch)
    room = room * n_labels + room_pairs * n_pairs + len(batch) * (n_labels + n_pairs + counts.shared.shape[1])
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    most = 0 if unique else most
    table, names = new_table(max(most, most_pairs)), np.empty(max(most, most_pairs), dtype=np.int32)
    sums, pair_sums, pairs = np.empty((most, n_labels)), np.empty((most_pairs, n_pairs)), np.empty(n_pairs)
    at_bias = n_features * n_labels
    at_transition = at_bias + n_labels if biased else at_bias
    at_shared = at_transition + n_pairs
    write = psi.indptr[0]
    for k in range(len(batch)):
        first, begin, n = indptr[batch[k]], counts.starts[k], counts.sizes[k]
        at_pairs = begin + n * n_labels
        labels = counts.own[begin:at_pairs].reshape(n, n_labels)
        if unique:
            write = _append_products(rows, first, labels[0], psi, write)
            if biased:
                write = append(intercept * labels[0], at_bias, psi, write)
        elif n > 0:
            n_distinct = sum_by_feature(rows, first, labels, table, names, sums)
            write = append_features(names, sums, n_distinct, psi.indptr[0], psi, write)
        if conditional and n > 0:
            flat = counts.own[at_pairs : at_pairs + n * n_pairs].reshape(n, n_pairs)
            n_distinct = sum_by_feature(transition_rows, first, flat, table, names, pair_sums)
            write = append_features(names, pair_sums, n_distinct, at_shared + 2 * n_labels, psi, write)
            for j in range(n_pairs):
                pairs[j] = 0.0
            for t in range(n):
                for j in range(n_pairs):
                    pairs[j] += flat[t, j]
            write = append(pairs, at_transition, psi, write)
        if n > 0:
            write = append(counts.shared[k], at_shared, psi, write)
        psi.indptr[k + 1] = write
    return Rows(psi.indptr, psi.indices[:write], psi.values[:write])


class LabelRows:
    """Features that score the labels of rows (`structures.parts.Features`).

    Parameters
    ----------
    rows : the features, a row for each example
    n_features, n_labels : the shape of W
    intercept : the value of the feature that all rows share; 0 for none
    n_shared : the number of weights after W and bias
    indptr : where each example begins among the rows, if it may have several; the features of a row may then occur
        twice, otherwise they are distinct
    transition_rows : the features on the transition into each row, or no rows
    """

    def __init__(
        self,
        rows: Rows,
        n_features: int,
        n_labels: int,
        *,
        intercept: float = 0.0,
        n_shared: int = 0,
        indptr: LongVector | None = None,
        transition_rows: Rows = NO_ROWS,
    ) -> None:
        self.indptr = np.arange(len(rows.indptr)) if indptr is None else indptr
        self.rows, self.transition_rows, self.sizes = rows, transition_rows, np.diff(self.indptr)
        self.n_features, self.n_labels, self.intercept = n_features, n_labels, float(intercept)
        self.n_linear = (n_features + bool(intercept)) * n_labels
        self.n_weights = self.n_linear + n_shared
        sizes = n_labels, n_features, self.intercept, indptr is None
        self._given = self.indptr, rows, transition_rows, *sizes

    @cached_property
    def work(self) -> FloatVector:
        """Measured: ten nanoseconds to fetch a feature's weights, and one for every two of them."""
        return np.diff(self.rows.indptr[self.indptr]) * (10 + self.n_labels / 2) / 1000

    def scores(self, w: Any, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of labels; those of shared parts are the weights themselves."""
        W = w[: self.n_linear].reshape(-1, self.n_labels)
        add_label_scores(self.indptr, self.rows, W, self.intercept, batch, room.starts, room.own)
        return room._replace(shared=w[self.n_linear :])

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(*self._given, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        return _gather_counts(*self._given, batch, counts)

    def most_entries(self) -> FloatVector:
        """The most entries of ψ of each example, if outputs have one label for each row."""
        entries = 4.0 * (self.sizes + 1.0)
        for rows in (self.rows, self.transition_rows):
            if len(rows.indptr) > 1:
                entries += 2.0 * np.diff(rows.indptr[self.indptr])
        return entries

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those that all examples share."""
        read = runs(distinct(self.rows, self.indptr, batch), self.n_labels, 0)
        return np.concatenate([read, [[self.n_features * self.n_labels, self.n_weights]]])
