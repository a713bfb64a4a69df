"""Sums over all segmentations of a sequence (semi-Markov forward–backward, Sarawagi & Cohen 2004).

    p(y) = exp(score(y)) / Z,   Z = Σ_y exp(score(y)),   with score(y) as in `semimarkov`

gives log Z, the probability of every segment, and the expected number of every pair of neighbouring labels. The
recursions are those of `semimarkov` with sums of exponentials in place of maxima; all tables hold logarithms. With n
tokens, L labels and segments of up to m tokens the passes take O(n (m L + L²)), with 2 n m L exponentials.

    p(t, d, y) = exp(arrival[t, y] + segment[t, d, y] + departure[t+d, y] − log Z)
    E[k, y]    = Σ_t exp(best[t-1, k] + transition[k, y] + onset[t, y] − log Z)
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.forward_backward import NEGLIGIBLE, exponentials, extend_sums, log_sum


class SegmentSums(NamedTuple):
    """Scratch space: the tables of `semimarkov`, as logarithms of sums, and `room` for three rows of labels."""

    arrival: FloatMatrix
    best: FloatMatrix
    departure: FloatMatrix
    onset: FloatMatrix
    room: FloatMatrix


@kernel
def new_segment_sums(n: int, n_labels: int) -> SegmentSums:
    """Scratch space for sequences of up to `n` tokens."""
    return SegmentSums(
        np.empty((n, n_labels)),
        np.empty((n, n_labels)),
        np.empty((n, n_labels)),
        np.empty((n, n_labels)),
        np.empty((3, n_labels)),
    )


@kernel
def _extend(
    last: FloatVector, scores: FloatMatrix, factors: FloatMatrix, top: float, row: FloatVector, room: FloatVector
) -> None:
    """row[l] = log Σ_k exp(last[k] + scores[k, l]), where factors = exp(scores − top).

    What underflows in a product is negligible unless all products of a sum do; then it is computed from logarithms.
    """
    shift = exponentials(last, room) + top
    extend_sums(room, factors, row)
    for label in range(len(row)):
        if row[label] > NEGLIGIBLE:
            row[label] = shift + log(row[label])
        else:
            for k in range(len(row)):
                room[k] = last[k] + scores[k, label]
            row[label] = log_sum(room)


@kernel
def _finish(top: FloatVector, total: FloatVector, row: FloatVector) -> None:
    """row = top + log(total), −inf where the total is 0."""
    for label in range(len(row)):
        row[label] = top[label] + log(total[label]) if total[label] > 0.0 else -inf


@kernel
def _begin_sums(top: FloatVector, total: FloatVector) -> None:
    """Make maxima finite, so that they can be subtracted, and sums zero."""
    for label in range(len(top)):
        top[label] = top[label] if top[label] > -inf else 0.0
        total[label] = 0.0


@kernel
def forward_sums(
    segment: FloatMatrix, transition: FloatMatrix, begin: FloatVector, sums: SegmentSums
) -> tuple[FloatMatrix, float]:
    """Fill in `arrival` and `best`; return exp(transition − top) and its top."""
    n, longest, n_labels = segment.shape
    arrival, top, total = sums.arrival, sums.room[0], sums.room[1]
    factors, size = np.empty((n_labels, n_labels)), n_labels * n_labels
    top_factor = exponentials(transition.reshape(size), factors.reshape(size))
    for label in range(n_labels):
        arrival[0, label] = begin[label]
    for u in range(n):
        if u > 0:
            _extend(sums.best[u - 1], transition, factors, top_factor, arrival[u], sums.room[2])
        for label in range(n_labels):
            top[label] = -inf
        for d in range(min(longest, u + 1)):
            arrived, scores = arrival[u - d], segment[u - d, d]
            for label in range(n_labels):
                top[label] = max(top[label], arrived[label] + scores[label])
        _begin_sums(top, total)
        for d in range(min(longest, u + 1)):
            arrived, scores = arrival[u - d], segment[u - d, d]
            for label in range(n_labels):
                total[label] += exp(arrived[label] + scores[label] - top[label])
        _finish(top, total, sums.best[u])
    return factors, top_factor


@kernel
def _segments_from(segment: FloatMatrix, t: int, log_z: float, sums: SegmentSums, segments: FloatMatrix) -> None:
    """Fill in onset[t] and the probabilities of the segments from t on."""
    n, longest, n_labels = segment.shape
    most = min(longest, n - t)
    top, total, share = sums.room[0], sums.room[1], sums.room[2]
    for label in range(n_labels):
        top[label] = -inf
    for d in range(most):
        scores, left = segment[t, d], sums.departure[t + d]
        for label in range(n_labels):
            top[label] = max(top[label], scores[label] + left[label])
    _begin_sums(top, total)
    for d in range(most):
        scores, left, out = segment[t, d], sums.departure[t + d], segments[t, d]
        for label in range(n_labels):
            out[label] = exp(scores[label] + left[label] - top[label])
            total[label] += out[label]
    for label in range(n_labels):
        share[label] = exp(sums.arrival[t, label] + top[label] - log_z) if total[label] > 0.0 else 0.0
    for d in range(longest):
        out = segments[t, d]
        for label in range(n_labels):
            out[label] = out[label] * share[label] if d < most else 0.0
    _finish(top, total, sums.onset[t])


@kernel
def _clear(segments: FloatMatrix) -> None:
    for t in range(segments.shape[0]):
        for d in range(segments.shape[1]):
            for label in range(segments.shape[2]):
                segments[t, d, label] = 0.0


@kernel
def _add_pairs(
    last: FloatVector, transition: FloatMatrix, following: FloatVector, log_z: float, pairs: FloatMatrix
) -> None:
    """Add the probabilities of all pairs of labels at one place."""
    for k in range(len(last)):
        for label in range(len(last)):
            pairs[k, label] += exp(last[k] + transition[k, label] + following[label] - log_z)


@kernel
def semimarkov_sums(
    segment: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    sums: SegmentSums,
    segments: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Write probabilities to `segments` and `pairs` and return log Z; −inf and zeros if no segmentation is possible.

    The label of the first segment has the probability Σ_d segments[0, d], that of the last Σ_t segments[t, n − 1 − t].

    Parameters
    ----------
    segment : (n, m, L) array, n ≥ 1; entries [t, d] beyond the end of the sequence, t + d ≥ n, are ignored
    transition : (L, L) array
    begin, end : (L,) arrays
    sums : scratch space for n tokens or more
    segments : (n, m, L) output, the probability of the segment of d + 1 tokens from t on with the label l
    pairs : (L, L) output, how many neighbouring segments have these labels on average
    """
    n, n_labels = len(segment), len(begin)
    for k in range(n_labels):
        for label in range(n_labels):
            pairs[k, label] = 0.0
    factors, top = forward_sums(segment, transition, begin, sums)
    for label in range(n_labels):
        sums.departure[n - 1, label] = end[label]
        sums.room[0, label] = sums.best[n - 1, label] + end[label]
    log_z = log_sum(sums.room[0])
    if log_z == -inf:
        _clear(segments)
        return log_z
    transposed, scores = np.ascontiguousarray(factors.T), np.ascontiguousarray(transition.T)
    for t in range(n - 1, -1, -1):
        _segments_from(segment, t, log_z, sums, segments)
        if t > 0:
            _extend(sums.onset[t], scores, transposed, top, sums.departure[t - 1], sums.room[2])
            _add_pairs(sums.best[t - 1], transition, sums.onset[t], log_z, pairs)
    return log_z
