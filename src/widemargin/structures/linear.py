"""Scores of labels, for classes and sets of labels: one linear function of the same features per label.

    s_l(x) = Σ_f x_f W[f, l] + intercept · bias[l]

W comes first in the flat weight vector, with bias as its last row if there is an intercept. φ of such scores is a
product of features and labels, and so is the difference of two φ: ψ = x ⊗ r with a residual r per label.
"""

from collections.abc import Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.contents import parts_of_rows
from widemargin.core.sparse import NO_ROWS, Rows, add_features, distinct_entries
from widemargin.errors import DataError
from widemargin.structures.classes import ClassScores
from widemargin.structures.parts import Parts
from widemargin.structures.support import distinct, runs


@kernel
def _add_scores(features: Rows, W: FloatMatrix, intercept: float, batch: IntVector, scores: FloatMatrix) -> None:
    for position in range(len(batch)):
        add_features(features, batch[position], W, scores[position])
        if intercept != 0.0:
            bias = W[len(W) - 1]
            for label in range(len(bias)):
                scores[position, label] += intercept * bias[label]


@kernel
def _append(value: float, residual: FloatVector, offset: int, psi: Rows, write: int) -> int:
    """Append value · residual without zeros, at the weights from `offset` on; return where the entries end."""
    for label in range(len(residual)):
        if residual[label] != 0.0:
            psi.indices[write] = offset + label
            psi.values[write] = value * residual[label]
            write += 1
    return write


@kernel
def _products(
    features: Rows, n_features: int, intercept: float, batch: IntVector, residual: FloatMatrix, rest: Rows
) -> Rows:
    width = residual.shape[1]
    at_bias = n_features * width
    at_rest = at_bias + width if intercept != 0.0 else at_bias
    room, write = len(rest.indices), 0
    for position in range(len(batch)):
        count = 0
        for label in range(width):
            count += residual[position, label] != 0.0
        room += count * (features.indptr[batch[position] + 1] - features.indptr[batch[position]] + 1)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    for position in range(len(batch)):
        for k in range(features.indptr[batch[position]], features.indptr[batch[position] + 1]):
            value = features.values[k] if len(features.values) > 0 else 1.0
            write = _append(value, residual[position], features.indices[k] * width, psi, write)
        if intercept != 0.0:
            write = _append(intercept, residual[position], at_bias, psi, write)
        if len(rest.indices) > 0:
            for k in range(rest.indptr[position], rest.indptr[position + 1]):
                psi.indices[write], psi.values[write] = at_rest + rest.indices[k], rest.values[k]
                write += 1
        psi.indptr[position + 1] = write
    return Rows(psi.indptr, psi.indices[:write], psi.values[:write])


class LinearScores:
    """The scores of every label for every example.

    Parameters
    ----------
    features : the features, one row per example
    n_features, n_labels : the shape of W
    intercept : the value of the feature that all examples share; 0 for none
    n_rest : the number of other weights, after W and bias
    """

    def __init__(self, features: Rows, n_features: int, n_labels: int, intercept: float = 0.0, n_rest: int = 0) -> None:
        if len(features.indices) and not 0 <= features.indices.min() <= features.indices.max() < n_features:
            raise DataError(f"features has an index outside 0 … {n_features - 1}")
        self.n_examples = len(features.indptr) - 1
        self.sizes = np.ones(self.n_examples, dtype=np.int64)
        self.n_features, self.n_labels, self.intercept = n_features, n_labels, float(intercept)
        self.n_linear = (n_features + bool(intercept)) * n_labels
        self.n_weights = self.n_linear + n_rest
        if self.n_weights > np.iinfo(np.int32).max:
            raise DataError(f"{n_features:,} features × {n_labels} labels is more weights than can be indexed (2³¹)")
        self.features = distinct_entries(features, n_features)
        # As for chains (`tasks.tag`): ten nanoseconds to fetch a feature's weights, and one for every two of them.
        self.work = np.diff(features.indptr) * (10 + n_labels / 2) / 1000

    def rows(self, w: FloatVector, batch: IntVector) -> FloatMatrix:
        """A row of scores for each example of the batch."""
        scores = np.zeros((len(batch), self.n_labels))
        _add_scores(self.features, w[: self.n_linear].reshape(-1, self.n_labels), self.intercept, batch, scores)
        return scores

    # What follows makes of it features of classes (`structures.parts.Features`).

    def scores(self, w: FloatVector, batch: IntVector, room: ClassScores) -> ClassScores:
        """Add the scores of classes."""
        _add_scores(self.features, w[: self.n_linear].reshape(-1, self.n_labels), self.intercept, batch, room.emission)
        return room

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """x ⊗ the coefficients of each example."""
        residual = np.zeros((len(batch), self.n_labels))
        np.add.at(residual, (np.repeat(np.arange(len(batch)), np.diff(parts.indptr)), parts.numbers), parts.values)
        return self.products(batch, residual)

    def gather_counts(self, batch: IntVector, counts: FloatMatrix) -> Rows:
        """x ⊗ the coefficients of each example."""
        return self.products(batch, counts)

    def most_entries(self) -> FloatVector:
        """Two classes for each feature."""
        return 2.0 * (np.diff(self.features.indptr) + 1.0)

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: rows are as good."""
        return

    def products(self, batch: IntVector, residual: FloatMatrix, rest: Rows = NO_ROWS) -> Rows:
        """x ⊗ residual for each example of the batch, followed by a row of `rest` at the other weights."""
        return _products(self.features, self.n_features, self.intercept, batch, residual, rest)

    def parts(self, features: LongVector | None = None) -> list[tuple[LongVector, AnyArray]]:
        """The features of each example, with other numbers, as `core.contents.digests_of_parts` takes them."""
        return parts_of_rows(np.arange(self.n_examples + 1), self.features, features)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those that all examples share."""
        examples = np.arange(self.n_examples + 1, dtype=np.int64)
        read = runs(distinct(self.features, examples, batch), self.n_labels, 0)
        return np.concatenate([read, [[self.n_features * self.n_labels, self.n_weights]]])
