"""Position-wise violators of segmentations (Sarawagi & Gupta 2008, 4.3.2): a position is a candidate span (t, u).

    max over y with (t, u, y) not gold of L(t, u, y) [1 − s(gold) + max-marginal of (t, u, y)]_+

One forward and one backward pass give all max-marginals. The neighbours of a segment in the best segmentation that
holds it are traced when needed, and remembered: the paths of different positions soon merge.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.semimarkov import (
    backward,
    forward,
    last_length,
    max_marginals,
    next_label,
    next_length,
    previous_label,
    segmentation_score,
    write_segment,
)
from widemargin.tasks.segment.scores import SegmentData, new_scores, part_scores, segment_errors
from widemargin.tasks.segment.weights import SegmentWeights


class Passes(NamedTuple):
    """The part scores of one sequence, its two passes, and the neighbours of segments that have been traced.

    Neighbours are (d, label), as d · L + label: before a segment that begins at t, after one that ends at u; −1 where
    they are not known yet.
    """

    segment: FloatMatrix
    transition: FloatMatrix
    arrival: FloatMatrix
    best: FloatMatrix
    departure: FloatMatrix
    onset: FloatMatrix
    before: IntMatrix
    after: IntMatrix


@kernel
def _write_path(passes: Passes, t: int, d: int, label: int, codes: IntVector) -> None:
    """Write the best segmentation that holds the segment of d + 1 tokens from t on with `label`."""
    n_labels = len(passes.transition)
    write_segment(t, d, label, codes)
    start, right = t, label
    while start > 0:
        if passes.before[start, right] < 0:
            left = previous_label(passes.transition, passes.arrival, passes.best, start, right)
            length = last_length(passes.segment, passes.arrival, passes.best, start - 1, left)
            passes.before[start, right] = length * n_labels + left
        length, right = passes.before[start, right] // n_labels, passes.before[start, right] % n_labels
        start -= length + 1
        write_segment(start, length, right, codes)
    last, left = t + d, label
    while last < len(codes) - 1:
        if passes.after[last, left] < 0:
            right = next_label(passes.transition, passes.departure, passes.onset, last, left)
            length = next_length(passes.segment, passes.departure, passes.onset, last + 1, right)
            passes.after[last, left] = length * n_labels + right
        length, left = passes.after[last, left] // n_labels, passes.after[last, left] % n_labels
        write_segment(last + 1, length, left, codes)
        last += length + 1


@kernel
def _passes(weights: SegmentWeights, segment: FloatMatrix) -> Passes:
    shape = len(segment), len(weights.begin)
    arrival, best, departure, onset = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    before, after = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
    forward(segment, weights.transition, weights.begin, arrival, best)
    backward(segment, weights.transition, weights.end, departure, onset)
    return Passes(segment, weights.transition, arrival, best, departure, onset, before, after)


@kernel
def _worst(errors: FloatVector, marginals: FloatVector, gold: float) -> int:
    """The label with the largest error · (1 − gold + max-marginal), −1 if none is above 0; gold has no error."""
    found, value = -1, 0.0
    for label in range(len(marginals)):
        if errors[label] > 0.0 and errors[label] * (1.0 - gold + marginals[label]) > value:
            found, value = label, errors[label] * (1.0 - gold + marginals[label])
    return found


@kernel
def _with_room(codes: IntVector, used: int, wanted: int) -> IntVector:
    if used + wanted <= len(codes):
        return codes
    larger = np.empty(2 * (used + wanted), dtype=np.int32)
    for k in range(used):
        larger[k] = codes[k]
    return larger


@kernel
def violators(data: SegmentData, weights: SegmentWeights, batch: IntVector, errors: FloatVector) -> IntVector:
    """Fill in L of each position's violator, 0 where it has none; return the violators' codes, end to end."""
    tokens, segment = new_scores(data, weights, batch)
    table, marginals = np.empty(segment.shape), np.empty(len(weights.begin))
    codes = np.empty(len(errors), dtype=np.int32)
    write = position = 0
    for i in batch:
        first, n = data.indptr[i], part_scores(data, weights, i, 0.0, tokens, segment)
        if n == 0:
            continue
        segment_errors(data, first, table[:n])
        passes = _passes(weights, segment[:n])
        right = data.gold[first : first + n]
        gold = segmentation_score(passes.segment, weights.transition, weights.begin, weights.end, right)
        for t in range(n):
            for d in range(min(segment.shape[1], n - t)):
                max_marginals(segment, passes.arrival, passes.departure, t, d, marginals)
                label = _worst(table[t, d], marginals, gold)
                if label >= 0:
                    errors[position] = table[t, d, label]
                    codes = _with_room(codes, write, n)
                    _write_path(passes, t, d, label, codes[write : write + n])
                    write += n
                position += 1
    return codes[:write]
