"""The part scores of a segmentation: what decoders see of features and weights.

    segment[t, d, y] = Σ_{f∈x_t} B[f, y] + Σ_{s=t}^{t+d} Σ_{f∈x_s} I[f, y] + Σ_{f∈x_t+d} E[f, y]
                     + Σ_{g∈z} S[g, y] + length[d, y] + error_scale · L(t, t+d, y)

for the segment of d + 1 tokens from t on, z being the features of that span; −inf where it is longer than its label
allows or against a limit. The error is that of Sarawagi & Gupta (2008, 4.3.2): against the gold segments (t', u', y'),

    L(t, u, y) = M[y', y]                             where (t, u) is the gold segment (t, u, y')
               = p[y] + Σ r[y'] over t ≤ t' ≤ u       where it is none

Where labels are known in part, a segment that gold may have is no error (`tasks.segment.partial`).
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import Rows, add_features, add_thin_features
from widemargin.tasks.segment.weights import BEGIN, END, INSIDE, ROLES, SegmentWeights


class Limits(NamedTuple):
    """Which segments are possible: all, where the arrays are empty; else those that

    - begin at a token t where `begin[t, y]` allows their label y,
    - hold no token t where `inside[t, y]` does not, and
    - do not run across a break: tokens with `breaks[t]` are the first of their segments.
    """

    inside: BoolMatrix
    begin: BoolMatrix
    breaks: BoolVector


NO_LIMITS = Limits(np.empty((0, 0), dtype=np.bool_), np.empty((0, 0), dtype=np.bool_), np.empty(0, dtype=np.bool_))


class SegmentData(NamedTuple):
    """Sequences laid end to end.

    `spans[t]` is the row of segment features of the span of token t alone, longer ones follow; `gold_lengths[t]` the
    length of the gold segment that begins at t, or 0; `missed[t]` the recall penalty of a gold segment that begins
    there. Where labels are known in part, gold may have segments of up to `reach[t, y]` tokens from t on with the label
    y, if `begins` says that another may begin behind them. Gold and all about it are empty if absent.
    """

    indptr: LongVector
    spans: LongVector
    features: Rows
    segment_features: Rows
    gold: IntVector
    gold_lengths: IntVector
    max_lengths: IntVector
    precision: FloatVector
    recall: FloatVector
    confusion: FloatMatrix
    missed: FloatVector
    reach: IntMatrix
    begins: BoolVector
    limits: Limits


@kernel
def longest_of(data: SegmentData, batch: IntVector) -> int:
    """The length of the longest sequence of the batch, at least 1."""
    longest = 1
    for i in batch:
        longest = max(longest, data.indptr[i + 1] - data.indptr[i])
    return longest


@kernel
def new_scores(data: SegmentData, weights: SegmentWeights, batch: IntVector) -> tuple[FloatMatrix, FloatMatrix]:
    """Room for the scores of the tokens in their roles, and of the segments, of any example of the batch."""
    longest, (lengths, n_labels) = longest_of(data, batch), weights.length.shape
    return np.empty((longest, ROLES * n_labels)), np.empty((longest, min(lengths, longest), n_labels))


@kernel
def _add_errors(data: SegmentData, t: int, d: int, missed: float, scale: float, out: FloatVector) -> None:
    """out[y] += scale · L(t, t+d, y); `missed` is the recall penalty of the gold segments that begin there."""
    if data.gold_lengths[t] == d + 1:
        costs = data.confusion[data.gold[t] >> 1]
        for label in range(len(out)):
            out[label] += scale * costs[label]
    elif len(data.reach) > 0 and data.begins[t + d + 1]:
        for label in range(len(out)):
            if data.reach[t, label] <= d:
                out[label] += scale * (data.precision[label] + missed)
    else:
        for label in range(len(out)):
            out[label] += scale * (data.precision[label] + missed)


@kernel
def segment_error(data: SegmentData, t: int, d: int, label: int, missed: float) -> float:
    """L(t, t+d, label); `missed` is the recall penalty of the gold segments that begin there."""
    if data.gold_lengths[t] == d + 1:
        return data.confusion[data.gold[t] >> 1, label]
    if len(data.reach) > 0 and data.begins[t + d + 1] and data.reach[t, label] > d:
        return 0.0
    return data.precision[label] + missed


@kernel
def segment_errors(data: SegmentData, first: int, errors: FloatMatrix) -> None:
    """errors[t, d, y] = L(t, t+d, y) of the sequence that begins at `first`."""
    for t in range(len(errors)):
        missed = 0.0
        for d in range(min(errors.shape[1], len(errors) - t)):
            missed += data.missed[first + t + d]
            row = errors[t, d]
            for label in range(len(row)):
                row[label] = 0.0
            _add_errors(data, first + t, d, missed, 1.0, row)


@kernel
def _keep(allowed: BoolVector, scores: FloatVector) -> None:
    for label in range(len(scores)):
        scores[label] = scores[label] if allowed[label] else -np.inf


@kernel
def _restrict(data: SegmentData, t: int, d: int, scores: FloatVector) -> None:
    """Set to −inf the labels that a segment from t on cannot have once it holds the token t + d."""
    inside, begin, breaks = data.limits.inside, data.limits.begin, data.limits.breaks
    across = len(breaks) > 0 and d > 0 and breaks[t + d]
    for label in range(len(scores)):
        scores[label] = scores[label] if d < data.max_lengths[label] and not across else -np.inf
    if len(inside) > 0:
        _keep(inside[t + d], scores)
    if len(begin) > 0 and d == 0:
        _keep(begin[t], scores)


@kernel
def _token_scores(data: SegmentData, weights: SegmentWeights, first: int, tokens: FloatMatrix) -> None:
    for t in range(len(tokens)):
        row = tokens[t]
        for k in range(len(row)):
            row[k] = 0.0
        if len(weights.roles) > 0:
            add_features(data.features, first + t, weights.roles, row)
        else:
            add_thin_features(data.features, first + t, weights.thin_roles, row)


@kernel
def part_scores(
    data: SegmentData, weights: SegmentWeights, i: int, error_scale: float, tokens: FloatMatrix, segment: FloatMatrix
) -> int:
    """Fill in the scores of example i, errors counted `error_scale` times; return its length.

    Scores beyond the end of the sequence are left as they are.
    """
    first, n_labels = data.indptr[i], len(weights.begin)
    n = data.indptr[i + 1] - first
    _token_scores(data, weights, first, tokens[:n])
    running = np.empty(n_labels)
    for t in range(n):
        missed = 0.0
        for label in range(n_labels):
            running[label] = tokens[t, BEGIN * n_labels + label]
        for d in range(min(segment.shape[1], n - t)):
            inside = tokens[t + d, INSIDE * n_labels : (INSIDE + 1) * n_labels]
            last, length, out = tokens[t + d, END * n_labels :], weights.length[d], segment[t, d]
            for label in range(n_labels):
                running[label] += inside[label]
            _restrict(data, first + t, d, running)
            for label in range(n_labels):
                out[label] = running[label] + last[label] + length[label]
            span = data.spans[first + t] + d
            if len(weights.segment) > 0:
                add_features(data.segment_features, span, weights.segment, out)
            elif len(weights.thin_segment.indptr) > 1:
                add_thin_features(data.segment_features, span, weights.thin_segment, out)
            if error_scale != 0.0:
                missed += data.missed[first + t + d]
                _add_errors(data, first + t, d, missed, error_scale, out)
    return n
