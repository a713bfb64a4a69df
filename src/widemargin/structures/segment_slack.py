"""The worst segmentations under slack scaling: argmax Δ(y) (1 − s(gold) + s(y)) over the best one for each Δ.

All penalties are whole numbers here. Where they are multiples of a common unit, that unit may be left out: the argmax
is the same.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.semimarkov import segmentation_score
from widemargin.decoders.semimarkov_errors import errors_forward, trace_error
from widemargin.structures.segment_scores import SegmentData, missed_at, new_scores, part_scores, segment_errors
from widemargin.structures.segment_weights import SegmentWeights


@kernel
def _most_errors(data: SegmentData, first: int, n: int) -> int:
    """A bound on the error of any segmentation: each token a wrong segment, and all gold segments missed."""
    worst = total = 0.0
    for label in range(len(data.precision)):
        worst = max(worst, data.precision[label])
        for other in range(len(data.precision)):
            worst = max(worst, data.confusion[label, other])
    for t in range(first, first + n):
        total += worst + missed_at(data, t)
    return int(total)


@kernel
def _worst(best: FloatMatrix, end: FloatVector, gold: float) -> tuple[int, int]:
    """The last label and the error with the largest error · (1 − gold + score); an error of 0 if none is above 0."""
    label = e = 0
    value = 0.0
    for last in range(best.shape[0]):
        for error in range(1, best.shape[1]):
            other = error * (1.0 - gold + best[last, error] + end[last])
            if other > value:
                label, e, value = last, error, other
    return label, e


@kernel
def worst_segmentations(
    data: SegmentData, weights: SegmentWeights, batch: IntVector, starts: LongVector, codes: IntVector
) -> None:
    """The worst segmentations under slack scaling, end to end; gold where none is above 0."""
    tokens, segment = new_scores(data, weights, batch)
    errors = np.empty(segment.shape)
    for position in range(len(batch)):
        first = data.indptr[batch[position]]
        n = part_scores(data, weights, batch[position], 0.0, tokens, segment)
        out = codes[starts[position] : starts[position + 1]]
        for t in range(n):
            out[t] = data.gold[first + t]
        if n > 0:
            gold = segmentation_score(segment[:n], weights.transition, weights.begin, weights.end, out)
            segment_errors(data, first, errors[:n])
            shape = n, len(weights.begin), _most_errors(data, first, n) + 1
            arrival, best = np.empty(shape), np.empty(shape)
            errors_forward(segment[:n], errors, weights.transition, weights.begin, arrival, best)
            label, e = _worst(best[n - 1], weights.end, gold)
            if e > 0:
                trace_error(segment, errors, weights.transition, arrival, best, label, e, out)
