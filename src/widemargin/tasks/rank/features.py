"""Documents grouped by query, in the forms that users pass.

- a matrix with a row per document, and `group`, the number of documents of each query, or `qid`, the query of each
  document, as LightGBM and XGBoost have them;
- a list of matrices, one per query.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.sparse import Matrix, Rows, boundaries, stack, take_rows
from widemargin.errors import DataError
from widemargin.tasks.rank import HIGHEST_GRADE
from widemargin.text.matrices import as_matrix


class Queries(NamedTuple):
    """A matrix with a row per document, and where the documents of each query begin."""

    matrix: Matrix
    indptr: LongVector

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.indptr) - 1

    def chosen(self, numbers: LongVector) -> "Queries":
        """The queries with these numbers."""
        sizes = np.diff(self.indptr)[numbers]
        indptr = boundaries(sizes)
        documents = np.arange(indptr[-1]) + np.repeat(self.indptr[numbers] - indptr[:-1], sizes)
        return Queries(Matrix(take_rows(self.matrix.rows, documents), self.matrix.width), indptr)


def as_queries(X: Any, group: Any = None, qid: Any = None, width: int | None = None) -> Queries:
    """Documents in any of the forms above."""
    if isinstance(X, Queries):
        return X
    if group is not None and qid is not None:
        raise DataError("give group, the sizes of queries, or qid, the query of each document, but not both")
    if group is None and qid is None:
        return _join(X, width)
    matrix = as_matrix(X, width)
    n = len(matrix.rows.indptr) - 1
    return Queries(matrix, by_size(group, n, "group") if qid is None else by_name(qid, n))


def by_size(sizes: Any, n_documents: int, what: str) -> LongVector:
    """Where queries begin, from their sizes; `what` is the name of these in messages."""
    found = np.asarray(sizes)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise DataError(f"{what} must hold the number of documents of each query, not {sizes!r:.60}")
    if (found < 1).any():
        at = int(np.flatnonzero(found < 1)[0])
        raise DataError(f"{what} says that query {at} has {found[at]} documents; at least one is wanted")
    if found.sum() != n_documents:
        raise DataError(f"{what} counts {found.sum()} documents, but there are {n_documents}")
    return boundaries(found.astype(np.int64))


def by_name(names: Any, n_documents: int) -> LongVector:
    """Where queries begin, from the name of the query of each document; documents of a query must be together."""
    found = np.asarray(names)
    if found.shape != (n_documents,):
        raise DataError(f"qid has the shape {found.shape}, but there are {n_documents} documents")
    if not n_documents:
        return np.zeros(1, dtype=np.int64)
    begins = np.flatnonzero(np.concatenate([[True], found[1:] != found[:-1]]))
    twice = apart(found[begins])
    if twice is not None:
        raise DataError(f"documents of the query {found[begins[twice]]} are not together; sort them by query")
    return np.append(begins, n_documents).astype(np.int64)


def apart(names: Any) -> int | None:
    """The place of the first repeated name; None if all are distinct."""
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse] != np.arange(len(names)))
    return int(repeated[0]) if len(repeated) else None


def _join(X: Any, width: int | None) -> Queries:
    """A list of matrices, one per query."""
    if isinstance(X, Matrix) or hasattr(X, "shape") or not isinstance(X, list | tuple):
        raise DataError(
            "say which documents belong to the same query: group=sizes, qid=names, or X as a list of matrices"
        )
    parts = [as_matrix(each, width) for each in X]
    widths = {part.width for part in parts} | ({width} if width is not None else set())
    if len(widths) > 1:
        raise DataError(f"all queries must have the same features, but there are matrices {sorted(widths)} wide")
    if not parts:
        raise DataError("there are no queries")
    for i, part in enumerate(parts):
        if len(part.rows.indptr) < 2:
            raise DataError(f"query {i} has no documents")
    rows = stack([part.rows for part in parts])
    return Queries(Matrix(rows, widths.pop()), boundaries(len(part.rows.indptr) - 1 for part in parts))


def as_grades(y: Any, indptr: LongVector) -> IntVector:
    """The grade of each document: whole numbers from 0 to 30, in one vector or in one per query."""
    if isinstance(y, list | tuple) and len(y) and np.ndim(y[0]) == 1:
        for i, (each, (begin, end)) in enumerate(zip(y, pairwise(indptr.tolist()), strict=False)):
            if len(each) != end - begin:
                raise DataError(f"query {i} has {end - begin} documents, but {len(each)} grades")
        y = np.concatenate([np.asarray(each) for each in y])
    try:
        grades = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y must hold a grade for each document, not {y!r:.60}") from None
    if grades.shape != (indptr[-1],):
        raise DataError(f"y has the shape {grades.shape}, but there are {indptr[-1]} documents")
    bad = np.flatnonzero(~((grades >= 0) & (grades <= HIGHEST_GRADE) & (grades == np.rint(grades))))
    if len(bad):
        raise DataError(
            f"the grade of document {bad[0]} is {grades[bad[0]]:g}; whole numbers from 0 to {HIGHEST_GRADE} are wanted"
        )
    return grades.astype(np.int32)


def normalise(rows: Rows, width: int, indptr: LongVector) -> Rows:
    """Each feature divided by the length of its range within the query; features without a range are left out.

    Rankings are the same as after scaling to 0 … 1, whose offset is the same for all documents of a query. Without the
    offset, zeros stay zeros.
    """
    return rows._replace(values=_scaled_values(rows, width, indptr))


@kernel
def _scaled_values(rows: Rows, width: int, indptr: LongVector) -> FloatVector:
    values = np.empty(len(rows.values))
    low, high, count = np.zeros(width), np.zeros(width), np.zeros(width, dtype=np.int64)
    for q in range(len(indptr) - 1):
        begin, end = rows.indptr[indptr[q]], rows.indptr[indptr[q + 1]]
        for k in range(begin, end):
            f, value = rows.indices[k], rows.values[k]
            low[f] = value if count[f] == 0 else min(low[f], value)
            high[f] = value if count[f] == 0 else max(high[f], value)
            count[f] += 1
        for k in range(begin, end):
            f = rows.indices[k]
            # A feature that some documents lack is 0 there.
            least, most = low[f], high[f]
            if count[f] < indptr[q + 1] - indptr[q]:
                least, most = min(least, 0.0), max(most, 0.0)
            values[k] = rows.values[k] / (most - least) if most > least else 0.0
        # The features met are cleared one by one: the whole width may be far larger.
        for k in range(begin, end):
            count[rows.indices[k]] = 0
    return values
