"""Features as rows of numbers: NumPy arrays or SciPy sparse matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector, IntVector
from widemargin.columns import boundaries
from widemargin.errors import DataError
from widemargin.features.base import Arrays, Features, binary
from widemargin.sparse import Rows


class MatrixExtractor:
    """Rows of numbers: NumPy arrays or SciPy sparse matrices, one per sequence, all of the same width.

    `columns` maps kept features to columns of the input; None keeps all.
    """

    n_transition_features = 0

    def __init__(self, width: int | None = None, columns: IntVector | None = None) -> None:
        self.width, self.columns = width, columns

    @property
    def n_features(self) -> int:
        """How many features describe a position."""
        return (self.width or 0) if self.columns is None else len(self.columns)

    def fit(self, X: Sequence[Any]) -> Features:
        """Note the width of the training matrices."""
        self.width = next((int(matrix.shape[1]) for matrix in X if np.ndim(matrix) == 2), 0)
        return self.transform(X)

    def transform(self, X: Sequence[Any]) -> Features:
        """The non-zero entries of all matrices."""
        from scipy import sparse  # noqa: PLC0415 — only this extractor needs it, and it is slow to import

        parts = []
        for i, matrix in enumerate(X):
            if np.ndim(matrix) != 2 or matrix.shape[1] != self.width:
                raise DataError(
                    f"sequence {i} has the shape {np.shape(matrix)}; rows of {self.width} features are wanted"
                )
            parts.append(sparse.csr_array(matrix, dtype=np.float64))
        lengths = [part.shape[0] for part in parts]
        joined = (
            sparse.csr_array(sparse.vstack(parts, format="csr")) if parts else sparse.csr_array((0, self.width or 1))
        )
        if self.columns is not None:
            joined = joined[:, self.columns]
        joined.sum_duplicates()
        joined.eliminate_zeros()
        bad = np.flatnonzero(~np.isfinite(joined.data))
        if len(bad):
            row = int(np.searchsorted(joined.indptr, bad[0], side="right")) - 1
            i = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
            position, feature = row - sum(lengths[:i]), joined.indices[bad[0]]
            raise DataError(f"sequence {i}, position {position}: feature {feature} is {joined.data[bad[0]]}")
        rows = Rows(joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data)
        return Features(boundaries(lengths), binary(rows))

    def names(self) -> list[str]:
        """The column numbers."""
        return [f"column {j}" for j in self._every_column().tolist()]

    def keep(self, used: BoolVector) -> "MatrixExtractor":
        """An extractor of the `used` columns only."""
        return MatrixExtractor(self.width, self._every_column()[used])

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Which columns are used, of how many."""
        return {"width": self.width}, {"columns": self._every_column()}

    @classmethod
    def restore(cls, header: dict[str, Any], arrays: Arrays) -> "MatrixExtractor":
        """The extractor that `describe` described."""
        return cls(header["width"], arrays["columns"])

    def _every_column(self) -> IntVector:
        return np.arange(self.width or 0, dtype=np.int32) if self.columns is None else self.columns
