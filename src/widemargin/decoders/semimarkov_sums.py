"""Sums over all segmentations of a sequence (semi-Markov forward–backward, Sarawagi & Cohen 2004).

    p(y) = exp(score(y)) / Z,   Z = Σ_y exp(score(y)),   with score(y) as in `semimarkov`

gives log Z, the probability of every segment, and the expected number of every pair of neighbouring labels. The
recursions are those of `semimarkov` with sums of exponentials in place of maxima; all tables hold logarithms. With n
tokens, L labels and segments of up to m tokens the passes take O(n (m L + L²)), with 2 n m L exponentials.

    p(t, d, y)    = exp(arrival[t, y] + segment[t, d, y] + departure[t+d, y] − log Z)
    p(t-1 k, t y) = exp(best[t-1, k] + transition[t, k, y] + onset[t, y] − log Z)
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.scores import SMALLEST, exponentials, extend_sums, log_sum
from widemargin.decoders.semimarkov import Passes, new_passes
from widemargin.decoders.viterbi import Segmented


class SegmentSums(NamedTuple):
    """Scratch space: the tables of `semimarkov`, as logarithms of sums, and `room` for three rows of labels."""

    passes: Passes
    room: FloatMatrix


def new_segment_sums(n: int, n_labels: int) -> SegmentSums:
    """Scratch space for sequences of up to `n` tokens."""
    return SegmentSums(new_passes(n, n_labels), np.empty((3, n_labels)))


@kernel
def _extend(
    last: FloatVector, scores: FloatMatrix, factors: FloatMatrix, top: float, row: FloatVector, room: FloatVector
) -> None:
    """row[l] = log Σ_k exp(last[k] + scores[k, l]), where factors = exp(scores − top).

    Products that underflow are negligible unless all products of a sum do; then the sum is computed from logarithms.
    """
    shift = exponentials(last, room) + top
    extend_sums(room, factors, row)
    for label in range(len(row)):
        if row[label] > SMALLEST:
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
    """Make maxima finite, so that they can be subtracted, and set sums to zero."""
    for label in range(len(top)):
        top[label] = top[label] if top[label] > -inf else 0.0
        total[label] = 0.0


@kernel
def forward_sums(one: Segmented, sums: SegmentSums) -> None:
    """Fill in `arrival` and `best`."""
    # Maxima over the lengths first, then sums: exponentials of differences to the maximum cannot overflow.
    n, longest, n_labels = one.segment.shape
    arrival, best, top, total = sums.passes.arrival, sums.passes.best, sums.room[0], sums.room[1]
    factors, top_factor = np.empty((n_labels, n_labels)), 0.0
    for label in range(n_labels):
        arrival[0, label] = one.begin[label]
    for u in range(n):
        table = one.transition[min(u, len(one.transition) - 1)]
        if u == 1 or (u > 1 and len(one.transition) > 1):
            # factors = exp(transition − top), all of which are at most 1
            top_factor = exponentials(table.ravel(), factors.ravel())
        if u > 0:
            _extend(best[u - 1], table, factors, top_factor, arrival[u], sums.room[2])
        for label in range(n_labels):
            top[label] = -inf
        for d in range(min(longest, u + 1)):
            arrived, scores = arrival[u - d], one.segment[u - d, d]
            for label in range(n_labels):
                top[label] = max(top[label], arrived[label] + scores[label])
        _begin_sums(top, total)
        for d in range(min(longest, u + 1)):
            arrived, scores = arrival[u - d], one.segment[u - d, d]
            for label in range(n_labels):
                total[label] += exp(arrived[label] + scores[label] - top[label])
        _finish(top, total, best[u])


@kernel
def _segments_from(one: Segmented, t: int, log_z: float, sums: SegmentSums, segments: FloatMatrix) -> None:
    """Fill in onset[t] and the probabilities of the segments from t on."""
    # The same exponentials serve the sum onset[t] and, times a share for each label, the probabilities.
    n, longest, n_labels = one.segment.shape
    passes, most = sums.passes, min(longest, n - t)
    top, total, share = sums.room[0], sums.room[1], sums.room[2]
    for label in range(n_labels):
        top[label] = -inf
    for d in range(most):
        scores, left = one.segment[t, d], passes.departure[t + d]
        for label in range(n_labels):
            top[label] = max(top[label], scores[label] + left[label])
    _begin_sums(top, total)
    for d in range(most):
        scores, left, out = one.segment[t, d], passes.departure[t + d], segments[t, d]
        for label in range(n_labels):
            out[label] = exp(scores[label] + left[label] - top[label])
            total[label] += out[label]
    for label in range(n_labels):
        share[label] = exp(passes.arrival[t, label] + top[label] - log_z) if total[label] > 0.0 else 0.0
    for d in range(longest):
        out = segments[t, d]
        for label in range(n_labels):
            out[label] = out[label] * share[label] if d < most else 0.0
    _finish(top, total, passes.onset[t])


@kernel
def semimarkov_sums(one: Segmented, sums: SegmentSums, segments: FloatMatrix, pairs: FloatMatrix) -> float:
    """Write probabilities to `segments` and `pairs` and return log Z; −inf and zeros if no segmentation is possible.

    The label of the first segment has the probability Σ_d segments[0, d], that of the last Σ_t segments[t, n − 1 − t].

    Parameters
    ----------
    one : the part scores
    sums : scratch space for n tokens or more
    segments : (n, m, L) output, the probability of the segment of d + 1 tokens from t on with the label l
    pairs : (n, L, L) output, the probability that segments with these labels meet at t; or (1, L, L), the expected
        number of such pairs, if all tokens share their transitions
    """
    # Transposed factors let the backward sums run along rows; if tokens share transitions, they are made only once.
    n, n_labels, passes = len(one.segment), len(one.begin), sums.passes
    pairs[:] = 0.0
    forward_sums(one, sums)
    for label in range(n_labels):
        passes.departure[n - 1, label] = one.end[label]
        sums.room[0, label] = passes.best[n - 1, label] + one.end[label]
    log_z = log_sum(sums.room[0])
    if log_z == -inf:
        segments[:] = 0.0
        return log_z
    factors, top = np.empty((n_labels, n_labels)), 0.0
    turned, scores = factors, factors
    for t in range(n - 1, -1, -1):
        _segments_from(one, t, log_z, sums, segments)
        if t == 0:
            break
        table = one.transition[min(t, len(one.transition) - 1)]
        if t == n - 1 or len(one.transition) > 1:
            top = exponentials(table.ravel(), factors.ravel())
            turned, scores = np.ascontiguousarray(factors.T), np.ascontiguousarray(table.T)
        _extend(passes.onset[t], scores, turned, top, passes.departure[t - 1], sums.room[2])
        last, following, out = passes.best[t - 1], passes.onset[t], pairs[0 if len(pairs) == 1 else t]
        for k in range(n_labels):
            for label in range(n_labels):
                out[k, label] += exp(last[k] + table[k, label] + following[label] - log_z)
    return log_z
