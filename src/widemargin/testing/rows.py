"""Outputs as differences from gold, the form in which the checks of structures compare them."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Differences, Examples, Outputs

ROUNDING = 1e-9
NOTHING = (np.empty(0, dtype=np.int32), np.empty(0))

Found = TypeVar("Found")

Row = tuple[float, IntVector, FloatVector]
"""One output's difference from gold: Δ, and the indices and values of ψ that are not zero."""


def steady(ask: Callable[[IntVector], list[Found]], w: FloatVector, batch: IntVector, name: str) -> list[Found]:
    """The rows of a batch; they must not depend on how it is split or ordered, and `ask` must not change `w`."""
    before = w.copy()
    rows = ask(batch)
    assert np.array_equal(w, before), f"{name} changed the weights it was given"
    middle = len(batch) // 2
    parts = [batch[::-1].copy(), batch[:middle], batch[middle:], *(batch[k : k + 1] for k in range(5))]
    for part in filter(len, parts):
        again = dict(zip(part, ask(part), strict=True))
        for i, row in zip(batch, rows, strict=True):
            same = i not in again or equal_found(row, again[i])
            assert same, f"example {i}: {name} changes when the batch is split or reordered"
    return rows


def equal_found(one: Any, other: Any) -> bool:
    """Whether two rows, or two lists of them, are equal bit for bit."""
    if one and isinstance(one[0], float):
        return equal(one, other)
    return len(one) == len(other) and all(map(equal, one, other))


def equal(one: Row, other: Row) -> bool:
    """Whether two rows are equal bit for bit."""
    return one[0] == other[0] and np.array_equal(one[1], other[1]) and np.array_equal(one[2], other[2])


def rows_of(examples: Examples, batch: IntVector, outputs: Outputs) -> list[Row]:
    """The differences of `outputs`, one by one."""
    return checked_rows(examples, batch, examples.difference(batch, outputs))


def checked_rows(examples: Examples, batch: IntVector, differences: Differences) -> list[Row]:
    """Differences one by one, after a check of their form."""
    errors, (indptr, indices, values) = differences
    for name, array, kind, size in (
        ("errors", errors, np.float64, len(batch)),
        ("psi.indptr", indptr, np.int64, len(batch) + 1),
        ("psi.indices", indices, np.int32, int(indptr[-1])),
        ("psi.values", values, np.float64, int(indptr[-1])),
    ):
        found = f"{getattr(array, 'dtype', type(array).__name__)} of shape {np.shape(array)}"
        wanted = f"{np.dtype(kind)} of shape {(size,)}"
        assert found == wanted, f"{name} of a batch of {len(batch)} must be {wanted}, not {found}"
    assert indptr[0] == 0, f"psi.indptr must begin with 0, not {indptr[0]}"
    assert np.all(np.diff(indptr) >= 0), f"psi.indptr must not fall, as it does in {indptr.tolist()}"
    rows: list[Row] = []
    for i, error, begin, end in zip(batch, errors.tolist(), indptr[:-1], indptr[1:], strict=True):
        columns, entries = indices[begin:end], values[begin:end]
        assert 0 <= error < np.inf, f"example {i}: its error is {error}; it must be finite and not negative"
        inside = np.all((columns >= 0) & (columns < examples.n_weights))
        assert inside, f"example {i}: ψ has indices outside [0, {examples.n_weights})"
        assert len(np.unique(columns)) == len(columns), f"example {i}: ψ has an index twice; sum its entries"
        assert np.all(np.isfinite(entries)), f"example {i}: ψ has infinities or NaN among its values"
        kept = entries != 0.0  # rows with and without stored zeros are equal
        rows.append((error, columns[kept], entries[kept]))
    return rows


def value_of(row: Row, w: FloatVector, scale: float) -> float:
    """⟨w, φ⟩ + scale · Δ of an output, minus that of gold."""
    return scale * row[0] - float(row[2] @ w[row[1]])


def size_of(row: Row, w: FloatVector, scale: float) -> float:
    """The sum of the absolute terms of `value_of`, the scale of its rounding errors."""
    return scale * row[0] + float(np.abs(row[2]) @ np.abs(w[row[1]]))


def slack_of(row: Row, w: FloatVector, error: float | None = None) -> float:
    """Δ(1 − ⟨w, ψ⟩), with `error` in place of Δ if given."""
    return (row[0] if error is None else error) * (1.0 - float(row[2] @ w[row[1]]))
