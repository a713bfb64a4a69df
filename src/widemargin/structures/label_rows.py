"""Sparse rows × labels: the linear map that gives every label of a row a score, and its transpose.

    scores[r, l] += Σ_f x_rf W[f, l],   sums[f, l] = Σ_r x_rf residual[r, l]

Example i has the rows indptr[i] … indptr[i + 1] − 1; its scores are written from `starts` on. A row of weights or sums
may also have an entry per role and label, or per pair of labels. If every label has some probability, each feature has
a whole row of entries: the distinct features are found first, then whole rows are summed, and no entry is looked up by
itself.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import run
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, add_features, add_thin_features


@kernel
def add_label_scores(
    indptr: LongVector, rows: Rows, W: FloatMatrix, batch: IntVector, starts: LongVector, scores: FloatMatrix
) -> None:
    """Add the scores of all labels of the batch's rows."""
    for k in range(len(batch)):
        shift = starts[k] - indptr[batch[k]]
        for row in range(indptr[batch[k]], indptr[batch[k] + 1]):
            add_features(rows, row, W, scores[row + shift])


@kernel
def add_thin_label_scores(
    indptr: LongVector, rows: Rows, W: Rows, batch: IntVector, starts: LongVector, scores: FloatMatrix
) -> None:
    """The same with sparse rows of weights."""
    for k in range(len(batch)):
        shift = starts[k] - indptr[batch[k]]
        for row in range(indptr[batch[k]], indptr[batch[k] + 1]):
            add_thin_features(rows, row, W, scores[row + shift])


@kernel
def sum_by_feature(
    features: Rows, first: int, residual: FloatMatrix, table: IntVector, names: IntVector, sums: FloatMatrix
) -> int:
    """sums[k] = Σ_t x_tf residual[t] for every distinct f = names[k] of the positions from `first` on; return how many.

    `table` comes from `sparse.new_table` and is all −1 before and after.
    """
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
    """How many features all examples of the batch have, and how many the example with the most has.

    The rows of example i are those from indptr[i] on.
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
    """out[r] = Σ_k x_rk matrix[k]; each thread takes some of the rows, as many entries as the others."""
    shares = np.linspace(0, rows.indptr[-1] + len(out), n_threads + 1)
    ends = np.searchsorted(rows.indptr + np.arange(len(rows.indptr)), shares)
    ends[-1] = len(out)
    run([partial(_sum_rows, rows, matrix, a, b, out) for a, b in pairwise(ends.tolist()) if a < b])
