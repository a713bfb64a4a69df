"""Position-wise violators of segmentations (Sarawagi & Gupta 2008, 4.3.2): a position is a candidate span (t, u).

    max over y with (t, u, y) not gold of L(t, u, y) [1 − s(gold) + max-marginal of (t, u, y)]_+

One forward and one backward pass give all max-marginals. What comes before and after a segment in the best segmentation
that holds it is traced where it is needed, and remembered: the paths of different positions soon merge.
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
from widemargin.sparse import Rows
from widemargin.structures.segment_difference import Layout, append_difference, new_draft
from widemargin.structures.segment_scores import SegmentData, new_scores, part_scores, segment_errors
from widemargin.structures.segment_weights import SegmentWeights


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
    """The best segmentation that holds the segment of d + 1 tokens from t on with `label`."""
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
def _worst(data: SegmentData, t: int, d: int, marginals: FloatVector, errors: FloatVector, gold: float) -> int:
    """The label with the largest error · (1 − gold + max-marginal); −1 if none is above 0."""
    found, value = -1, 0.0
    for label in range(len(marginals)):
        right = data.gold_lengths[t] == d + 1 and data.gold[t] >> 1 == label
        if not right and errors[label] > 0.0:
            other = errors[label] * (1.0 - gold + marginals[label])
            if other > value:
                found, value = label, other
    return found


@kernel
def violators(
    data: SegmentData, weights: SegmentWeights, layout: Layout, batch: IntVector, n_positions: int
) -> tuple[FloatVector, Rows]:
    """L and ψ of each position's violator, zero and empty where it has none."""
    tokens, segment = new_scores(data, weights, batch)
    values, indptr = np.zeros(n_positions), np.zeros(n_positions + 1, dtype=np.int64)
    marginals, errors = np.empty(len(weights.begin)), np.empty(segment.shape)
    codes, draft = np.empty(len(tokens), dtype=np.int32), new_draft(n_positions)
    position = 0
    for i in batch:
        first, n = data.indptr[i], part_scores(data, weights, i, 0.0, tokens, segment)
        if n > 0:
            passes = _passes(weights, segment[:n])
            right = data.gold[first : first + n]
            segment_errors(data, first, errors[:n])
            gold = segmentation_score(passes.segment, weights.transition, weights.begin, weights.end, right)
        for t in range(n):
            for d in range(min(segment.shape[1], n - t)):
                max_marginals(segment, passes.arrival, passes.departure, t, d, marginals)
                label = _worst(data, first + t, d, marginals, errors[t, d], gold)
                indptr[position + 1] = indptr[position]
                if label >= 0:
                    _write_path(passes, t, d, label, codes[:n])
                    draft, indptr[position + 1], _ = append_difference(
                        draft, indptr[position], data, layout, i, codes[:n]
                    )
                    values[position] = errors[t, d, label]
                position += 1
    end = indptr[n_positions]
    return values, Rows(indptr, draft.indices[:end], draft.values[:end])
