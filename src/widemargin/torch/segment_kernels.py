"""Kernels over batches of segmentations: all scores are float64, so that they are compiled once."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix, LongVector
from widemargin.decoders.semimarkov import semimarkov
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.decoders.semimarkov_sums import new_segment_sums, semimarkov_sums


class SegmentParts(NamedTuple):
    """Segments (B, T, M, L), transitions (L, L), begin and end (L,)."""

    segments: AnyArray
    transitions: FloatMatrix
    begin: FloatVector
    end: FloatVector


@kernel
def first_wrong(codes: IntMatrix, lengths: LongVector, longest: int, n_labels: int) -> tuple[int, int]:
    """The first place of a code that cannot be there; (−1, −1) if there is none."""
    for b in range(len(codes)):
        begin = 0
        for t in range(lengths[b]):
            code = codes[b, t]
            if not 0 <= code < 2 * n_labels:
                return b, t
            if code & 1:
                begin = t
            elif t == 0 or code >> 1 != codes[b, t - 1] >> 1 or t - begin >= longest:
                return b, t
    return -1, -1


@kernel
def _load(segments: AnyArray, b: int, n: int) -> FloatMatrix:
    """The scores of one sequence."""
    longest, n_labels = segments.shape[2:]
    out = np.empty((n, longest, n_labels))
    for t in range(n):
        for d in range(longest):
            for label in range(n_labels):
                out[t, d, label] = segments[b, t, d, label]
    return out


@kernel
def decode(parts: SegmentParts, lengths: LongVector, codes: IntMatrix) -> None:
    """Write the best segmentation of each sequence."""
    T, _, n_labels = parts.segments.shape[1:]
    arrival, best = np.empty((T, n_labels)), np.empty((T, n_labels))
    for b in range(len(lengths)):
        n = lengths[b]
        if n > 0:
            segment = _load(parts.segments, b, n)
            semimarkov(segment, parts.transitions, parts.begin, parts.end, arrival, best, codes[b, :n])


@kernel
def k_best(parts: SegmentParts, lengths: LongVector, codes: IntMatrix, totals: FloatMatrix) -> None:
    """Write the best segmentations, (B, k, T), and their scores, (B, k)."""
    k = totals.shape[1]
    for b in range(len(lengths)):
        n = lengths[b]
        if n == 0:
            totals[b, 0] = 0.0
            continue
        rows, found = np.empty((k, n), dtype=np.int32), np.empty(k)
        segment = _load(parts.segments, b, n)
        count = semimarkov_kbest(segment, parts.transitions, parts.begin, parts.end, k, rows, found)
        for rank in range(count):
            totals[b, rank] = found[rank]
            for t in range(n):
                codes[b, rank, t] = rows[rank, t]


@kernel
def totals(parts: SegmentParts, lengths: LongVector, codes: IntMatrix, out: FloatVector) -> None:
    """Write the score of each segmentation."""
    for b in range(len(lengths)):
        n, begin, total = lengths[b], 0, 0.0
        for t in range(n):
            label = codes[b, t] >> 1
            if codes[b, t] & 1:
                begin = t
                total += parts.transitions[codes[b, t - 1] >> 1, label] if t > 0 else parts.begin[label]
            if t == n - 1 or codes[b, t + 1] & 1:
                total += parts.segments[b, begin, t - begin, label]
        out[b] = total + (parts.end[codes[b, n - 1] >> 1] if n > 0 else 0.0)


@kernel
def add_counts(parts: SegmentParts, lengths: LongVector, codes: IntMatrix, weights: FloatVector) -> None:
    """Add the counts of each segmentation, times its weight, to the four arrays."""
    for b in range(len(lengths)):
        n, begin, weight = lengths[b], 0, weights[b]
        for t in range(n):
            label = codes[b, t] >> 1
            if codes[b, t] & 1:
                begin = t
                if t > 0:
                    parts.transitions[codes[b, t - 1] >> 1, label] += weight
                else:
                    parts.begin[label] += weight
            if t == n - 1 or codes[b, t + 1] & 1:
                parts.segments[b, begin, t - begin, label] += weight
        if n > 0:
            parts.end[codes[b, n - 1] >> 1] += weight


@kernel
def sums(parts: SegmentParts, lengths: LongVector, out: FloatVector, expected: AnyArray, pairs: FloatMatrix) -> None:
    """Write log Z of each sequence, and the probabilities of segments and of pairs of labels."""
    T, longest, n_labels = parts.segments.shape[1:]
    scratch, room = new_segment_sums(T, n_labels), np.empty((T, longest, n_labels))
    for b in range(len(lengths)):
        n = lengths[b]
        out[b] = 0.0
        if n > 0:
            segment = _load(parts.segments, b, n)
            out[b] = semimarkov_sums(segment, parts.transitions, parts.begin, parts.end, scratch, room[:n], pairs[b])
            for t in range(n):
                for d in range(longest):
                    for label in range(n_labels):
                        expected[b, t, d, label] = room[t, d, label]
