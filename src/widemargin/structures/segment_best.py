"""The k best segmentations, the best that hold a given segment, and scores; compiled only where they are asked for."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.semimarkov import backward, forward, max_marginals, segmentation_score
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.structures.segment_scores import SegmentData, new_scores, part_scores
from widemargin.structures.segment_weights import SegmentWeights


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
