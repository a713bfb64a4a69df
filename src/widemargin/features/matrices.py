"""Features as rows of numbers: NumPy arrays or SciPy sparse matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector, IntVector
from widemargin.columns import boundaries
from widemargin.errors import DataError
from widemargin.features.base import Arrays, Features, binary
from widemargin.model import vector
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
        matrices = (_matrix(i, given) for i, given in enumerate(X))
        self.width = next((int(matrix.shape[1]) for matrix in matrices if matrix.ndim == 2), 0)
        return self.transform(X)

    def transform(self, X: Sequence[Any]) -> Features:
        """The non-zero entries of all matrices."""
        from scipy import sparse  # only this extractor needs it, and it is slow to import

        parts = []
        for i, given in enumerate(X):
            matrix = _matrix(i, given)
            if matrix.shape == (0,):
                matrix = matrix.reshape(0, self.width or 0)
            if matrix.ndim != 2 or matrix.shape[1] != self.width:
                width = f" of {self.width} features" if self.width else ""
                raise DataError(f"sequence {i} has the shape {matrix.shape}; a row{width} per position is wanted")
            parts.append(sparse.csr_array(matrix, dtype=np.float64))
        lengths = [part.shape[0] for part in parts]
        joined = (
            sparse.csr_array(sparse.vstack(parts, format="csr")) if parts else sparse.csr_array((0, self.width or 1))
        )
        joined.sum_duplicates()
        bad = np.flatnonzero(~np.isfinite(joined.data))
        if len(bad):
            row = int(np.searchsorted(joined.indptr, bad[0], side="right")) - 1
            i = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
            position, feature = row - sum(lengths[:i]), joined.indices[bad[0]]
            raise DataError(f"sequence {i}, position {position}: feature {feature} is {joined.data[bad[0]]}")
        if self.columns is not None:
            joined = joined[:, self.columns]
        joined.eliminate_zeros()
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
        width, columns = header["width"], vector(arrays, "columns", np.int32)
        if type(width) is not int or (len(columns) and not 0 <= columns.min() <= columns.max() < width):
            raise ValueError("columns that the input does not have")
        return cls(width, columns)

    def _every_column(self) -> IntVector:
        return np.arange(self.width or 0, dtype=np.int32) if self.columns is None else self.columns


def _matrix(i: int, given: Any) -> Any:
    """Sequence i as an array of numbers; sparse matrices are left as they are."""
    if hasattr(given, "tocsr"):
        return given
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"sequence {i} is not a matrix of numbers with a row per position") from None
