"""Checks of the arrays of a segmentation, because kernels do not check."""

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.errors import DataError
from widemargin.tasks.segment.scores import SegmentData
from widemargin.tasks.segment.weights import Segmentation


def gold_lengths(indptr: LongVector, gold: IntVector) -> IntVector:
    """The length of the gold segment that begins at each token, 0 where none does; empty without gold.

    >>> gold_lengths(np.array([0, 3, 4]), np.array([7, 6, 1, 1])).tolist()
    [2, 0, 1, 1]
    """
    begins = np.flatnonzero(gold & 1)
    lengths: IntVector = np.zeros(len(gold), dtype=np.int32)
    lengths[begins] = np.diff(begins, append=len(gold))
    return lengths


def check(shape: Segmentation, data: SegmentData) -> None:
    """Raise unless every index is within bounds, and gold within the lengths and limits."""
    for name, what, rows, n, width in (
        ("features", "tokens", data.features, int(data.indptr[-1]), shape.n_features),
        ("segment_features", "candidate spans", data.segment_features, int(data.spans[-1]), shape.n_segment_features),
    ):
        if name == "segment_features" and width == 0:
            continue
        if len(rows.indptr) != n + 1 or rows.indptr[-1] != len(rows.indices):
            raise DataError(f"there are {n} {what}, but {len(rows.indptr) - 1} rows of {name}")
        if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
            raise DataError(f"{name} has an index outside 0 … {width - 1}")
    _check_errors(shape, data)
    _check_limits(shape, data)
    if len(data.gold):
        _check_gold(shape, data)


def _check_errors(shape: Segmentation, data: SegmentData) -> None:
    n = shape.n_labels
    for name, penalty, form in (
        ("precision", data.precision, (n,)),
        ("recall", data.recall, (n,)),
        ("confusion", data.confusion, (n, n)),
    ):
        if penalty.shape != form or not np.all(np.isfinite(penalty) & (penalty >= 0)):
            raise DataError(f"{name} must be an array of the shape {form}, finite and not negative")
    if np.diagonal(data.confusion).any():
        raise DataError("confusion must have zeros for right labels")


def _check_limits(shape: Segmentation, data: SegmentData) -> None:
    n = int(data.indptr[-1])
    for name, form in (("inside", (n, shape.n_labels)), ("begin", (n, shape.n_labels)), ("breaks", (n,))):
        limit = getattr(data.limits, name)
        if len(limit) and limit.shape != form:
            raise DataError(f"the limit {name} has the shape {limit.shape}, not {form}")


def _check_gold(shape: Segmentation, data: SegmentData) -> None:
    gold, indptr, n = data.gold, data.indptr, int(data.indptr[-1])
    if not (len(gold) == n and 0 <= gold.min() <= gold.max() < 2 * shape.n_labels):
        raise DataError(f"gold must hold {n} codes from 0 to {2 * shape.n_labels - 1}")
    firsts = indptr[:-1][np.diff(indptr) > 0]
    inside = np.flatnonzero(gold & 1 == 0)
    if not np.all(gold[firsts] & 1) or np.any(gold[inside] >> 1 != gold[inside - 1] >> 1):
        raise DataError("gold has a token that neither begins a segment nor goes on with the one before it")
    labels, limits = gold >> 1, data.limits
    lengths = gold_lengths(indptr, gold)
    long = np.flatnonzero(lengths > np.array(shape.max_lengths)[labels])
    if len(long):
        t = int(long[0])
        raise DataError(
            f"example {_example(indptr, t)} has a gold segment of {lengths[t]} tokens with the label "
            f"{labels[t]}, whose segments may have {shape.max_lengths[labels[t]]}"
        )
    tokens = np.arange(n)
    against = np.zeros(n, dtype=bool)
    if len(limits.inside):
        against |= ~limits.inside[tokens, labels]
    if len(limits.begin):
        against |= (gold & 1 == 1) & ~limits.begin[tokens, labels]
    if len(limits.breaks):
        against |= (gold & 1 == 0) & limits.breaks
    if against.any():
        raise DataError(f"example {_example(indptr, int(np.argmax(against)))} has a gold segment against the limits")


def _example(indptr: LongVector, token: int) -> int:
    return int(np.searchsorted(indptr, token, side="right")) - 1
