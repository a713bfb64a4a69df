"""Products of dense vectors and matrices, and of one sparse row with many others.

**Dense** sums always run in the same order. BLAS splits long sums over its threads. Their number depends on the machine
and its settings, and so do the last bits of a sum, which may send a solver down another path. These kernels wait for
memory as BLAS does, and so are as fast.

**A sparse row** is entered into a hash table from its indices to its values, and each other row looks up its own
indices there. The table is kept so empty that the first place looked at nearly always decides: whether an index is
present is hard to predict, and a wrong guess of the processor costs as much as ten products. By measurement, cuts of
chains are multiplied three times as fast as with a table of two to four places per entry.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.core.sparse import Rows


@kernel
def inner(u: FloatVector, v: FloatVector) -> float:
    """⟨u, v⟩.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    total = 0.0
    for k in range(len(u)):
        total += u[k] * v[k]
    return total


@kernel
def times(A: FloatMatrix, v: FloatVector) -> FloatVector:
    """Av.

    >>> times(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    out = np.empty(len(A))
    for row in range(len(A)):
        out[row] = inner(A[row], v)
    return out


@kernel
def weighted_sum(u: FloatVector, A: FloatMatrix) -> FloatVector:
    """uᵀA, the sum of the rows of A times their factors u.

    >>> weighted_sum(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([31., 42.])
    """
    out = np.zeros(A.shape[1])
    for row in range(len(A)):
        factor, of_row = u[row], A[row]
        for column in range(len(out)):
            out[column] += factor * of_row[column]
    return out


PLACES_PER_ENTRY = 8


class Lookup(NamedTuple):
    """A hash table: `keys` are indices, −1 at empty places, and `values` are 0 there."""

    keys: IntVector
    values: FloatVector


@kernel
def new_lookup(n: int) -> Lookup:
    """An empty table for rows of up to `n` entries."""
    size = 16
    while size < PLACES_PER_ENTRY * n:
        size *= 2
    return Lookup(np.full(size, -1, dtype=np.int32), np.zeros(size))


@kernel
def lookup_for(rows: Rows) -> Lookup:
    """An empty table for any of the rows."""
    longest = rows.indptr[0]
    for r in range(len(rows.indptr) - 1):
        longest = max(longest, rows.indptr[r + 1] - rows.indptr[r])
    return new_lookup(longest)


@kernel
def _place(index: int, keys: IntVector) -> np.uint64:
    """The place of `index` in the table, or else the empty place where it belongs."""
    # Unsigned, as everywhere in the inner loops: see `sparse.dot`.
    mask = np.uint64(len(keys) - 1)
    place = np.uint64(int(index) * 40503) & mask
    while keys[place] != index and keys[place] >= 0:
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def enter(indices: IntVector, values: FloatVector, begin: int, end: int, lookup: Lookup) -> None:
    """Enter the row (indices, values)[begin:end], whose indices are distinct, into an empty table."""
    for k in range(begin, end):
        place = _place(indices[k], lookup.keys)
        lookup.keys[place], lookup.values[place] = indices[k], values[k]


@kernel
def dot_entered(indices: IntVector, values: FloatVector, begin: int, end: int, lookup: Lookup) -> float:
    """⟨a, a'⟩ for a = (indices, values)[begin:end] and the row in the table."""
    total = 0.0
    for k in range(begin, end):
        total += values[np.uint64(k)] * lookup.values[_place(indices[np.uint64(k)], lookup.keys)]
    return total


@kernel
def leave(indices: IntVector, begin: int, end: int, lookup: Lookup) -> None:
    """Remove the row from the table: last in, first out, since a gap would hide entries that were placed behind it."""
    for k in range(end - 1, begin - 1, -1):
        place = _place(indices[k], lookup.keys)
        lookup.keys[place], lookup.values[place] = -1, 0.0


@kernel
def products(rows: Rows, first: int, last: int, lookup: Lookup, K: FloatMatrix) -> None:
    """K[p, q] = ⟨a, a'⟩ of the rows first + p and first + q, for all rows [first:last].

    `lookup` is large enough for each row, and empty before and after.
    """
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    for p in range(first, last):
        norm = 0.0
        for k in range(indptr[p], indptr[p + 1]):
            norm += values[k] * values[k]
        K[p - first, p - first] = norm
        if p + 1 < last:
            enter(indices, values, indptr[p], indptr[p + 1], lookup)
            for q in range(p + 1, last):
                product = dot_entered(indices, values, indptr[q], indptr[q + 1], lookup)
                K[p - first, q - first] = K[q - first, p - first] = product
            leave(indices, indptr[p], indptr[p + 1], lookup)
