"""Features as rows of numbers: NumPy arrays or SciPy sparse matrices."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.header import whole
from widemargin.core.sparse import Matrix, Rows, binary, boundaries, distinct_entries, with_entries
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.text.extractor import Extended, Extractor, FeatureRows

WIDEST = 2**31 - 1
"""The most columns of a matrix: their numbers have 32 bits."""
FAR, SHOWN = 1e5, 3
"""The largest factor between the entries of a column and the usual ones; the most columns that a warning names."""
SHARE = 2**20
"""How many entries of a dense matrix are read at a time; it may be on disk, and too large for memory."""


class MatrixExtractor(Extractor):
    """Rows of numbers: NumPy arrays or SciPy sparse matrices, one per sequence, all of the same width.

    `columns` maps kept features to columns of the input; None keeps all.
    """

    def __init__(self, width: int | None = None, columns: IntVector | None = None) -> None:
        self.width, self.columns = width, columns

    @property
    def n_features(self) -> int:
        """How many features describe a position."""
        return (self.width or 0) if self.columns is None else len(self.columns)

    def fit(self, X: Sequence[Any]) -> FeatureRows:
        """Note the width of the training matrices."""
        matrices = (_numbers(given, f"sequence {i}", "position") for i, given in enumerate(X))
        self.width = next((int(matrix.shape[1]) for matrix in matrices if matrix.ndim == 2), 0)
        features = self.transform(X)
        warn_of_scales(features.rows)
        return features

    def transform(self, X: Sequence[Any]) -> FeatureRows:
        """The non-zero entries of all matrices."""
        from scipy import sparse  # only this extractor needs it, and it is slow to import

        parts = []
        for i, given in enumerate(X):
            matrix = _numbers(given, f"sequence {i}", "position")
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
        return FeatureRows(boundaries(lengths), binary(_rows(joined)))

    def extend(self, X: Sequence[Any]) -> Extended:
        """The features of more training sequences, as wide as the first ones."""
        return Extended(self.transform(X) if self.width else self.fit(X), lambda _: [])

    def grown(self, X: Sequence[Any], min_count: int) -> "MatrixExtractor":
        """An extractor of all columns."""
        return self if self.columns is None else MatrixExtractor(self.width)

    def rows(self, X: Any) -> Rows:
        """The non-zero entries of one matrix whose rows are examples, not positions of sequences."""
        rows, width = as_matrix(X, self.width)
        if width != self.width:
            raise DataError(f"X has rows of {width} features, but the model knows {self.width}")
        if self.columns is not None and len(self.columns) < width:
            rows = _only(rows, self.columns)
        return binary(rows)

    def names(self) -> list[str]:
        """The column numbers."""
        return [f"column {j}" for j in self._every_column().tolist()]

    def keep(self, used: BoolVector) -> "MatrixExtractor":
        """An extractor of the `used` columns only."""
        return MatrixExtractor(self.width, self._every_column()[used])

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The columns in use and the width of the input."""
        return {"width": self.width}, {"columns": self._every_column()}

    @classmethod
    def restore(cls, stored: Stored) -> "MatrixExtractor":
        """The extractor that `describe` described."""
        width = stored.checked({"width": whole(at_least=0, at_most=WIDEST)})["width"]
        columns = stored.indices("columns", np.int32, width)
        if not (columns[1:] > columns[:-1]).all():
            raise stored.place.damaged("the numbers in its tensor columns do not ascend")
        return cls(width, columns)

    def _every_column(self) -> IntVector:
        return np.arange(self.width or 0, dtype=np.int32) if self.columns is None else self.columns


def as_matrix(X: Any, width: int | None = None) -> Matrix:
    """A matrix of numbers, dense or sparse, as rows with distinct entries; an empty list gets the given width."""
    if isinstance(X, Matrix):
        return Matrix(distinct_entries(X.rows, X.width), X.width)
    from scipy import sparse

    given = _numbers(X, "X", "example")
    if given.shape == (0,):
        given = given.reshape(0, width or 0)
    if given.ndim != 2:
        raise DataError(f"X has the shape {given.shape}; a matrix with a row per example is wanted")
    if isinstance(given, np.ndarray):
        rows = _not_zero(given)
        joined = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=given.shape)
    else:
        joined = sparse.csr_array(given, dtype=np.float64, copy=True)
    joined.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(joined.data))
    if len(bad):
        row = int(np.searchsorted(joined.indptr, bad[0], side="right")) - 1
        raise DataError(f"example {row}: feature {joined.indices[bad[0]]} is {joined.data[bad[0]]}")
    joined.eliminate_zeros()
    return Matrix(_rows(joined), int(joined.shape[1]))


class Scales:
    """The largest entry of each column of a matrix, which may come in pieces."""

    def __init__(self) -> None:
        self.columns: LongVector = np.empty(0, dtype=np.int64)
        self.sizes: FloatVector = np.empty(0)

    def add(self, rows: Rows) -> None:
        """Look at more rows."""
        values = np.abs(rows.values) if len(rows.values) else np.ones(len(rows.indices))
        found = np.concatenate([self.columns, rows.indices]), np.concatenate([self.sizes, values])
        self.columns, places = np.unique(found[0], return_inverse=True)
        self.sizes = np.zeros(len(self.columns))
        np.maximum.at(self.sizes, places, found[1])

    def warn(self) -> None:
        """Warn of columns whose largest entries are far larger or smaller than those of the other columns."""
        columns, sizes = self.columns, self.sizes
        if not len(sizes):
            return
        usual = np.sort(sizes)[(len(sizes) - 1) // 2]
        far = np.maximum(sizes / usual, usual / sizes)
        worst = [k for k in np.argsort(-far, kind="stable").tolist() if far[k] > FAR]
        if worst:
            named = ", ".join(f"column {columns[k]} with entries up to {sizes[k]:.2g}" for k in worst[:SHOWN])
            more = f" and {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
            warnings.warn(
                f"features have very different scales: {named}{more}, where others have entries up to {usual:.2g}; "
                "small ones hardly count, and training is slow. Scale them first, with scikit-learn's StandardScaler "
                "say",
                stacklevel=3,
            )


def warn_of_scales(rows: Rows) -> None:
    """Warn of columns of a whole matrix whose scales are far from those of the others."""
    if len(rows.values):  # otherwise all entries are 1
        scales = Scales()
        scales.add(rows)
        scales.warn()


def in_shares(X: Any) -> Iterator[Any]:
    """A matrix in shares of rows, so that no copy has the size of the whole; anything else as one share."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.size <= SHARE:
        yield X
        return
    step = max(SHARE // X.shape[1], 1)
    for first in range(0, len(X), step):
        yield X[first : first + step]


def _not_zero(matrix: AnyArray) -> Rows:
    """The entries of a dense matrix that are not zero."""
    counts = np.concatenate([np.count_nonzero(share, axis=1) for share in in_shares(matrix)])
    indptr = boundaries(counts)
    rows = Rows(indptr, np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1]))
    begin = 0
    for share in in_shares(matrix):
        at, columns = np.nonzero(share)
        here = slice(begin, begin + len(at))
        rows.indices[here], rows.values[here] = columns, share[at, columns]
        begin = here.stop
    return rows


def _only(rows: Rows, columns: IntVector) -> Rows:
    """Only these columns, which ascend, renumbered."""
    # By bisection: a table of all columns would be as large as the widest possible matrix.
    found = np.searchsorted(columns, rows.indices).astype(np.int32)
    return with_entries(rows._replace(indices=found), np.append(columns, -1)[found] == rows.indices)


def _rows(matrix: Any) -> Rows:
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


def _numbers(given: Any, what: str, row: str) -> Any:
    """The given matrix as an array of numbers; sparse matrices stay as they are."""
    if hasattr(given, "tocsr") or (isinstance(given, np.ndarray) and given.dtype.kind in "biuf"):
        return given
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} is not a matrix of numbers with a row per {row}") from None
