"""Searches over the segmentations of a batch: the k best, max-marginals, and the worst under slack scaling."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.semimarkov import backward, forward, max_marginals, segmentation_score
from widemargin.decoders.semimarkov_errors import errors_forward, trace_error
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.tasks.segment.scores import SegmentData, new_scores, part_scores, segment_errors
from widemargin.tasks.segment.weights import SegmentWeights


@kernel
def best_segmentations(
    data: SegmentData, weights: SegmentWeights, batch: IntVector, k: int, scales: FloatVector
) -> tuple[IntVector, IntVector]:
    """How many segmentations each example of the batch has, at most k, and their codes, end to end."""
    tokens, segment = new_scores(data, weights, batch)
    totals, room = np.empty(k), 0
    for i in batch:
        room += k * (data.indptr[i + 1] - data.indptr[i])
    counts, codes = np.ones(len(batch), dtype=np.int32), np.empty(room, dtype=np.int32)
    write = 0
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], scales[position], tokens, segment)
        if n > 0:
            out = codes[write : write + k * n].reshape(k, n)
            counts[position] = semimarkov_kbest(
                segment[:n], weights.transition, weights.begin, weights.end, k, out, totals
            )
            write += counts[position] * n
    return counts, codes[:write]


@kernel
def span_marginals(
    data: SegmentData, weights: SegmentWeights, batch: IntVector, starts: LongVector, out: FloatMatrix
) -> None:
    """A row for each candidate span of the batch: for each label, the best score with that segment."""
    tokens, segment = new_scores(data, weights, batch)
    shape = len(tokens), len(weights.begin)
    arrival, best, departure, onset = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, tokens, segment)
        forward(segment[:n], weights.transition, weights.begin, arrival, best)
        backward(segment[:n], weights.transition, weights.end, departure, onset)
        row = starts[position]
        for t in range(n):
            for d in range(min(segment.shape[1], n - t)):
                max_marginals(segment, arrival, departure, t, d, out[row])
                row += 1


@kernel
def scores(
    data: SegmentData,
    weights: SegmentWeights,
    batch: IntVector,
    starts: LongVector,
    codes: IntVector,
    totals: FloatVector,
) -> None:
    """totals[k] = the score of the segmentation codes[starts[k] : starts[k + 1]] of example batch[k]."""
    tokens, segment = new_scores(data, weights, batch)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, tokens, segment)
        if n > 0:
            out = codes[starts[position] : starts[position + 1]]
            totals[position] = segmentation_score(segment[:n], weights.transition, weights.begin, weights.end, out)


@kernel
def _most_errors(data: SegmentData, first: int, n: int) -> int:
    """A bound on the error of any segmentation: each token a wrong segment, and all gold segments missed."""
    worst = total = 0.0
    for label in range(len(data.precision)):
        worst = max(worst, data.precision[label])
        for other in range(len(data.precision)):
            worst = max(worst, data.confusion[label, other])
    for t in range(first, first + n):
        total += worst + data.missed[t]
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
