"""Sparse rows × labels: the linear map that gives every label of a row a score, scores[r, l] += Σ_f x_rf W[f, l].

Example i has the rows indptr[i] … indptr[i + 1] − 1; its scores are written from `starts` on.
"""

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector, LongVector
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
