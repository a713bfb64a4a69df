"""Sparse vectors in compressed rows: how features, feature differences and cuts are stored."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector

SHARE = 1 << 20
"""How many entries are looked at together."""


class Rows(NamedTuple):
    """Row r holds `values[indptr[r]:indptr[r + 1]]` at the columns `indices[indptr[r]:indptr[r + 1]]`.

    Empty `values` stand for ones throughout: binary features need no memory for their values.
    """

    indptr: LongVector
    indices: IntVector
    values: FloatVector


class Matrix(NamedTuple):
    """Rows and their number of columns."""

    rows: Rows
    width: int


NO_ROWS = Rows(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))


def boundaries(lengths: Iterable[int] | LongVector) -> LongVector:
    """Where sequences of these `lengths` begin when laid end to end, and where the last one ends.

    >>> boundaries([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    if not isinstance(lengths, np.ndarray):
        lengths = np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def sums(values: AnyArray, indptr: LongVector) -> FloatVector:
    """The sums of values[indptr[r]:indptr[r + 1]], for every r.

    >>> sums(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    array([3., 0., 3.])
    """
    running: FloatVector = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.diff(running[indptr])


def compressed(matrix: FloatMatrix) -> Rows:
    """The rows of `matrix` without zeros; a row that is more than a third non-zero is stored whole."""
    present = matrix != 0.0
    present[present.sum(axis=1) > matrix.shape[1] // 3] = True
    rows, columns = np.nonzero(present)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))]).astype(np.int64)
    return Rows(indptr, columns.astype(np.int32), matrix[rows, columns])


def expanded(rows: Rows, width: int) -> FloatMatrix:
    """The matrix with these rows, `width` columns wide."""
    counts = np.diff(rows.indptr)
    matrix = np.zeros((len(counts), width))
    matrix[np.repeat(np.arange(len(counts)), counts), rows.indices] = rows.values
    return matrix


def stack(parts: list[Rows]) -> Rows:
    """The rows of all `parts`, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends, strict=False))])
    return Rows(
        indptr.astype(np.int64),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def scaled_rows(rows: Rows, factors: FloatVector) -> Rows:
    """Every row times its factor; rows whose factor is 0 must be empty."""
    return rows._replace(values=rows.values * np.repeat(factors, np.diff(rows.indptr)))


def absolute(rows: Rows) -> Rows:
    """The rows with the absolute values of their entries."""
    return rows._replace(values=np.abs(rows.values))


def take_rows(rows: Rows, numbers: LongVector) -> Rows:
    """The rows with these numbers, in this order."""
    begin, counts = rows.indptr[numbers], np.diff(rows.indptr)[numbers]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = np.repeat(begin - indptr[:-1], counts) + np.arange(indptr[-1])
    return Rows(indptr, rows.indices[places], rows.values[places] if len(rows.values) else rows.values)


def with_values(rows: Rows) -> Rows:
    """The same rows with their values written out."""
    return rows if len(rows.values) == len(rows.indices) else rows._replace(values=np.ones(len(rows.indices)))


def entries_of(rows: Rows, row: int) -> list[tuple[int, float]]:
    """The indices and values of a row."""
    one = with_values(take_rows(rows, np.array([row])))
    return list(zip(one.indices.tolist(), one.values.tolist(), strict=True))


def with_entries(rows: Rows, kept: BoolVector) -> Rows:
    """The rows with only the entries that are `kept`."""
    values = rows.values[kept] if len(rows.values) else rows.values
    return Rows(boundaries(kept)[rows.indptr], rows.indices[kept], values)


@kernel
def dot(indices: IntVector, values: FloatVector, begin: int, end: int, w: FloatVector) -> float:
    """⟨w, a⟩ for the sparse vector a = (indices, values)[begin:end]."""
    # Unsigned indices, here and below: a signed one is checked for wrap-around at run time, which halves the speed.
    total = 0.0
    for k in range(begin, end):
        total += values[np.uint64(k)] * w[np.uint64(indices[np.uint64(k)])]
    return total


@kernel
def add_scaled(step: float, indices: IntVector, values: FloatVector, begin: int, end: int, w: FloatVector) -> None:
    """w += step · a for the sparse vector a = (indices, values)[begin:end]."""
    for k in range(begin, end):
        w[np.uint64(indices[np.uint64(k)])] += step * values[np.uint64(k)]


@kernel
def dots(rows: Rows, w: FloatVector) -> FloatVector:
    """⟨w, a⟩ for every row a."""
    out = np.empty(len(rows.indptr) - 1)
    for r in range(len(out)):
        out[r] = dot(rows.indices, rows.values, rows.indptr[r], rows.indptr[r + 1], w)
    return out


@kernel
def add_rows(steps: FloatVector, rows: Rows, w: FloatVector) -> None:
    """w += Σ step · a over all rows a."""
    for r in range(len(steps)):
        if steps[r] != 0.0:
            add_scaled(steps[r], rows.indices, rows.values, rows.indptr[r], rows.indptr[r + 1], w)


@kernel
def new_table(n: int) -> IntVector:
    """An empty hash table for `coalesce`, large enough for rows of up to `n` entries."""
    size = 16
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, dtype=np.int32)


@kernel
def fitting(table: IntVector, n: int) -> IntVector:
    """The part of the table that a row of `n` entries needs: the smaller it is, the faster it is cleared."""
    size = len(table)
    while size >= 4 * n and size > 16:
        size //= 2
    return table[:size]


@kernel
def clear(table: IntVector) -> None:
    """Set every entry back to −1."""
    for k in range(len(table)):
        table[k] = -1


@kernel
def coalesce(indices: IntVector, values: FloatVector, begin: int, end: int, write: int, table: IntVector) -> int:
    """Sum the entries [begin:end] that share an index, drop zeros, move the rest to `write` ≤ begin; return their end.

    Entries keep the order of their first appearance, so equal outputs give equal rows. `table` is all −1 before and
    after.
    """
    table = fitting(table, end - begin)
    mask = len(table) - 1
    fill = write
    # In place, since `fill` never overtakes k. The table holds where an index was written, not the index itself.
    for k in range(begin, end):
        index, value = indices[k], values[k]
        h = (int(index) * 40503) & mask
        while table[h] >= 0 and indices[table[h]] != index:
            h = (h + 1) & mask
        if table[h] >= 0:
            # Summed where the index first appeared, in the order of the entries: the same bits for equal outputs.
            values[table[h]] += value
        else:
            table[h] = fill
            indices[fill] = index
            values[fill] = value
            fill += 1
    # Zeros go last: before all entries are summed, nobody knows which sums cancel.
    keep = write
    for k in range(write, fill):
        if values[k] != 0.0:
            indices[keep] = indices[k]
            values[keep] = values[k]
            keep += 1
    clear(table)
    return keep


@kernel
def plus(rows: Rows, factors: FloatVector, others: Rows, which: IntVector) -> Rows:
    """Row r plus factors[r] times the row which[r] of `others`, entries coalesced; the order of entries stays."""
    room = most = rows.indptr[0]
    for r in range(len(which)):
        added = others.indptr[which[r] + 1] - others.indptr[which[r]]
        size = rows.indptr[r + 1] - rows.indptr[r] + added
        room, most = room + size, max(most, size if added else 0)
    # One table for all rows: `coalesce` leaves it empty, and clearing it takes less time than allocating another.
    table = new_table(most)
    out = Rows(np.zeros(len(which) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    end = out.indptr[0]
    for r in range(len(which)):
        write = end
        for k in range(rows.indptr[r], rows.indptr[r + 1]):
            out.indices[write], out.values[write] = rows.indices[k], rows.values[k]
            write += 1
        begin, stop = others.indptr[which[r]], others.indptr[which[r] + 1]
        for k in range(begin, stop):
            out.indices[write], out.values[write] = others.indices[k], factors[r] * others.values[k]
            write += 1
        # Rows that gain nothing are only copied: their entries are distinct already.
        end = coalesce(out.indices, out.values, end, write, end, table) if stop > begin else write
        out.indptr[r + 1] = end
    return Rows(out.indptr, out.indices[:end], out.values[:end])


class Draft(NamedTuple):
    """Entries being written, with room for more, and a table to coalesce them with."""

    indices: IntVector
    values: FloatVector
    table: IntVector


@kernel
def with_room(draft: Draft, used: int, wanted: int) -> Draft:
    """The draft with room for `wanted` entries after the first `used`."""
    indices, values, table = draft.indices, draft.values, draft.table
    if len(table) < 2 * wanted:
        table = new_table(wanted)
    if len(indices) < used + wanted:
        indices, values = np.empty(2 * (used + wanted), dtype=np.int32), np.empty(2 * (used + wanted))
        for k in range(used):
            indices[k], values[k] = draft.indices[k], draft.values[k]
    return Draft(indices, values, table)


@kernel
def add_features(features: Rows, t: int, weights: FloatMatrix, out: FloatVector) -> None:
    """out += Σ_f x_tf weights[f], for dense rows of weights."""
    indices, values = features.indices, features.values
    n = len(out)
    k, end = features.indptr[t], features.indptr[t + 1]
    if len(values) == 0:
        # Four rows at a time: their loads overlap, and `out` is loaded and stored a quarter as often.
        while k + 4 <= end:
            first, second, third, fourth = (
                weights[indices[k]],
                weights[indices[k + 1]],
                weights[indices[k + 2]],
                weights[indices[k + 3]],
            )
            for j in range(n):
                out[j] += (first[j] + second[j]) + (third[j] + fourth[j])
            k += 4
        while k < end:
            row = weights[indices[k]]
            for j in range(n):
                out[j] += row[j]
            k += 1
    else:
        while k < end:
            row, value = weights[indices[k]], values[k]
            for j in range(n):
                out[j] += value * row[j]
            k += 1


@kernel
def add_thin_features(features: Rows, t: int, weights: Rows, out: FloatVector) -> None:
    """out += Σ_f x_tf weights[f], for sparse rows of weights, some of them stored whole."""
    for k in range(features.indptr[t], features.indptr[t + 1]):
        begin, end = weights.indptr[features.indices[k]], weights.indptr[features.indices[k] + 1]
        value = features.values[k] if len(features.values) > 0 else 1.0
        # Unsigned, since a possibly negative index keeps the loops from being vectorised.
        if end - begin == len(out):
            for j in range(len(out)):
                out[j] += value * weights.values[np.uint64(begin + j)]
        else:
            for j in range(begin, end):
                out[weights.indices[np.uint64(j)]] += value * weights.values[np.uint64(j)]


@kernel
def transpose(rows: Rows, width: int) -> Rows:
    """The columns of `rows` as rows; entries of a column in the order of their rows."""
    indptr = np.zeros(width + 2, dtype=np.int64)
    for column in rows.indices:
        indptr[column + 2] += 1
    for column in range(width):
        indptr[column + 2] += indptr[column + 1]
    indices, values = np.empty(len(rows.indices), dtype=np.int32), np.empty(len(rows.values))
    for row in range(len(rows.indptr) - 1):
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            at = indptr[rows.indices[k] + 1]
            indptr[rows.indices[k] + 1] = at + 1
            indices[at] = row
            if len(values) > 0:
                values[at] = rows.values[k]
    return Rows(indptr[:-1], indices, values)


def distinct_entries(rows: Rows, width: int) -> Rows:
    """The same rows, with distinct columns in each and no zeros."""
    if _are_ascending(rows) and rows.values.all():
        return rows
    from scipy import sparse  # slow to import, and seldom needed

    values = rows.values.copy() if len(rows.values) else np.ones(len(rows.indices))
    matrix = sparse.csr_array((values, rows.indices.copy(), rows.indptr.copy()), shape=(len(rows.indptr) - 1, width))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


def _are_ascending(rows: Rows) -> bool:
    """Whether the columns of each row ascend; a share at a time, since the rows may be larger than memory."""
    for first in range(1, len(rows.indices), SHARE):
        here = rows.indices[first - 1 : first + SHARE]
        falls = np.flatnonzero(here[1:] <= here[:-1]) + first
        if not np.array_equal(rows.indptr[np.searchsorted(rows.indptr, falls)], falls):  # in the middle of a row
            return False
    return True


def of_width(matrix: Matrix, width: int) -> Matrix:
    """The matrix with so many columns; others are left out."""
    kept = matrix.rows.indices < width
    return Matrix(matrix.rows if kept.all() else with_entries(matrix.rows, kept), width)


def binary(rows: Rows) -> Rows:
    """The same rows, without values if all of them are 1."""
    shares = (rows.values[first : first + SHARE] for first in range(0, len(rows.values), SHARE))
    return rows._replace(values=np.empty(0)) if all((share == 1.0).all() for share in shares) else rows
