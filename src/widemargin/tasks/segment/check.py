"""Checks of the arrays of a segmentation, because kernels do not check."""

from typing import Any

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.errors import DataError
from widemargin.tasks.segment.scores import SegmentFeatures
from widemargin.tasks.segment.spans import gold_lengths


def check(features: SegmentFeatures, gold: IntVector, penalties: dict[str, Any]) -> None:
    """Raise unless every index is within bounds, and gold within the lengths and limits."""
    shape = features.shape
    for name, what, rows, n, width in (
        ("features", "tokens", features.rows, int(features.indptr[-1]), shape.n_features),
        (
            "segment_features",
            "candidate spans",
            features.segment_rows,
            int(features.spans[-1]),
            shape.n_segment_features,
        ),
    ):
        if name == "segment_features" and width == 0:
            continue
        if len(rows.indptr) != n + 1 or rows.indptr[-1] != len(rows.indices):
            raise DataError(f"there are {n} {what}, but {len(rows.indptr) - 1} rows of {name}")
        if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
            raise DataError(f"{name} has an index outside 0 … {width - 1}")
    _check_penalties(shape.n_labels, penalties)
    _check_limits(features)
    if len(gold):
        _check_gold(features, gold)


def _check_penalties(n_labels: int, penalties: dict[str, Any]) -> None:
    for name, penalty in penalties.items():
        form = (n_labels, n_labels) if name == "confusion" else (n_labels,)
        if penalty.shape != form or not np.all(np.isfinite(penalty) & (penalty >= 0)):
            raise DataError(f"{name} must be an array of the shape {form}, finite and not negative")
    if np.diagonal(penalties["confusion"]).any():
        raise DataError("confusion must have zeros for right labels")


def _check_limits(features: SegmentFeatures) -> None:
    n, n_labels = int(features.indptr[-1]), features.shape.n_labels
    for name, form in (("inside", (n, n_labels)), ("begin", (n, n_labels)), ("breaks", (n,))):
        limit = getattr(features.limits, name)
        if len(limit) and limit.shape != form:
            raise DataError(f"the limit {name} has the shape {limit.shape}, not {form}")


def _check_gold(features: SegmentFeatures, gold: IntVector) -> None:
    shape, indptr, limits = features.shape, features.indptr, features.limits
    n = int(indptr[-1])
    if not (len(gold) == n and 0 <= gold.min() <= gold.max() < 2 * shape.n_labels):
        raise DataError(f"gold must hold {n} codes from 0 to {2 * shape.n_labels - 1}")
    firsts = indptr[:-1][np.diff(indptr) > 0]
    inside = np.flatnonzero(gold & 1 == 0)
    if not np.all(gold[firsts] & 1) or np.any(gold[inside] >> 1 != gold[inside - 1] >> 1):
        raise DataError("gold has a token that neither begins a segment nor goes on with the one before it")
    labels, lengths = gold >> 1, gold_lengths(gold)
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
