"""Searches for segmentations of a batch other than the best: k best, through a segment, worst, sums, draws.

Slack scaling needs the worst segmentation, found by the number of errors (Sarawagi & Gupta 2008, §4.3.1). Position-wise
slacks need the worst segmentation that has each candidate span (§4.3.2), traced from one forward and one backward pass.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.hull import SMALL, next_scale
from widemargin.decoders.scores import draw_one
from widemargin.decoders.semimarkov import Passes, both_passes, write_segment
from widemargin.decoders.semimarkov_searches import errors_forward, semimarkov_kbest, trace_error, write_through
from widemargin.decoders.semimarkov_sums import SegmentSums, forward_sums, semimarkov_sums
from widemargin.decoders.viterbi import Segmented
from widemargin.structures.chain import segmented_of, table_of, tables_of
from widemargin.structures.flat import Counts, Scores, grown, longest_of


@kernel
def best_segmentations(scores: Scores, longest: int, n_labels: int, k: int) -> tuple[IntVector, FloatVector, IntVector]:
    """How many segmentations each example has, at most k; the scores and codes of all, end to end."""
    n = len(scores.sizes)
    counts, totals = np.ones(n, dtype=np.int32), np.zeros(n * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n):
        size = scores.sizes[number]
        totals[found] = 0.0
        if size > 0:
            out = outputs[write : write + k * size].reshape(k, size)
            one, best = segmented_of(scores, number, longest, n_labels), totals[found : found + k]
            counts[number] = semimarkov_kbest(one, k, out, best)
        write += counts[number] * size
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def _through(one: Segmented, passes: Passes, t: int, d: int, row: FloatVector) -> None:
    """For each label, the best score of a segmentation in which it labels the segment of d + 1 tokens from t on."""
    arrived, own, left = passes.arrival[t], one.segment[t, d], passes.departure[t + d]
    for label in range(len(row)):
        row[label] = arrived[label] + own[label] + left[label]


@kernel
def through_segments(scores: Scores, longest: int, passes: Passes, out: FloatMatrix) -> None:
    """Write the score of the best segmentation with each label on each candidate span."""
    write = 0
    for k in range(len(scores.sizes)):
        n, one = scores.sizes[k], segmented_of(scores, k, longest, out.shape[1])
        both_passes(one, passes)
        for t in range(n):
            for d in range(min(longest, n - t)):
                _through(one, passes, t, d, out[write])
                write += 1


@kernel
def violating_segmentations(
    scores: Scores,
    costs: Scores,
    longest: int,
    n_labels: int,
    passes: Passes,
    gold_scores: FloatVector,
    errors: FloatVector,
) -> IntVector:
    """The violators' codes, end to end; `errors` gets the error at each candidate span that has a violator."""
    marginals = np.empty(n_labels)
    outputs, write, position = np.empty(len(errors), dtype=np.int32), 0, 0
    for k in range(len(scores.sizes)):
        n, one = scores.sizes[k], segmented_of(scores, k, longest, n_labels)
        own = table_of(costs.own, costs.starts[k], n, longest, n_labels)
        both_passes(one, passes)
        for t in range(n):
            for d in range(min(longest, n - t)):
                _through(one, passes, t, d, marginals)
                worst, most_value = -1, 0.0
                for label in range(n_labels):
                    value = own[t, d, label] * (1.0 - gold_scores[k] + marginals[label])
                    if value > most_value:  # False for NaN, the product of a cost of 0 and −∞
                        worst, most_value = label, value
                if worst >= 0:
                    errors[position] = own[t, d, worst]
                    outputs = grown(outputs, write, n)
                    write_through(one, passes, t, d, worst, outputs[write : write + n])
                    write += n
                position += 1
    return outputs[:write]


@kernel
def _best_wrong(one: Segmented, passes: Passes, costs: FloatMatrix, row: FloatVector) -> tuple[int, int, int, float]:
    """A wrong segment of the best wrong segmentation, and that one's score; label −1 if there is none."""
    n, longest, n_labels = costs.shape
    start, more, wrong, best = 0, 0, -1, -np.inf
    for t in range(n):
        for d in range(min(longest, n - t)):
            _through(one, passes, t, d, row)
            for label in range(n_labels):
                if costs[t, d, label] > 0.0 and row[label] > best:
                    start, more, wrong, best = t, d, label, row[label]
    return start, more, wrong, best


@kernel
def _raise(plain: FloatMatrix, costs: FloatMatrix, scale: float, raised: FloatMatrix) -> None:
    """Write the scores of segments plus `scale` times their costs; one loop over a token's row vectorises best."""
    n, longest, n_labels = plain.shape
    rows = n, longest * n_labels
    own, cost, out = plain.reshape(rows), costs.reshape(rows), raised.reshape(rows)
    for t in range(n):
        for j in range(min(longest, n - t) * n_labels):
            out[t, j] = own[t, j] + scale * cost[t, j]


@kernel
def hull_segmentations(
    scores: Scores,
    costs: Scores,
    longest: int,
    n_labels: int,
    most_decodes: int,
    passes: Passes,
    gold_scores: FloatVector,
    codes: IntVector,
) -> None:
    """Overwrite `codes`, at first those of gold, with the worst segmentations that decoding finds (`decoders.hull`)."""
    # Decoding forces one wrong segment: otherwise gold itself could win, which has no error and gives no new scale.
    most, read, marginals = longest_of(scores.sizes), 0, np.empty(n_labels)
    corners, room = np.full((len(scores.sizes), 4), np.nan), np.empty(most, dtype=np.int32)
    sums = np.empty(most * min(longest, most) * n_labels)
    for k in range(len(scores.sizes)):
        n, plain = scores.sizes[k], segmented_of(scores, k, longest, n_labels)
        own, found, right = table_of(costs.own, costs.starts[k], n, longest, n_labels), room[:n], codes[read : read + n]
        raised = Segmented(table_of(sums, 0, n, longest, n_labels), plain.transition, plain.begin, plain.end)
        scale, worst, n_decodes = SMALL if n > 0 else 0.0, 0.0, 0
        while scale > 0.0 and n_decodes < most_decodes:
            n_decodes += 1
            _raise(plain.segment, own, scale, raised.segment)
            both_passes(raised, passes)
            start, more, wrong, best = _best_wrong(raised, passes, own, marginals)
            if wrong < 0:
                break
            write_through(raised, passes, start, more, wrong, found)
            error, start = 0.0, 0
            for t in range(n):
                if t == n - 1 or found[t + 1] & 1:
                    error += own[start, t - start, found[t] >> 1]
                    start = t + 1
            s = best - scale * error - gold_scores[k]
            if error * (1.0 + s) > worst:
                worst = error * (1.0 + s)
                right[:] = found
            scale = next_scale(corners[k], scale, error, s)
        read += n


@kernel
def _most_errors(costs: FloatMatrix) -> int:
    """The largest error of any segmentation."""
    n, longest, n_labels = costs.shape
    most = np.zeros(n + 1)
    for t in range(n):
        for d in range(min(longest, n - t)):
            for label in range(n_labels):
                most[t + d + 1] = max(most[t + d + 1], most[t] + costs[t, d, label])
    return int(most[n])


@kernel
def worst_segmentations(
    scores: Scores, costs: Scores, longest: int, n_labels: int, unit: float, gold_scores: FloatVector, codes: IntVector
) -> None:
    """Overwrite `codes`, at first those of gold, with the segmentations of largest Δ(1 + s), if that is above 0."""
    # For a fixed error, Δ(1 + s) grows with the score, so only the best score for each error matters.
    read = 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one = segmented_of(scores, k, longest, n_labels)
        errors = table_of(costs.own, costs.starts[k], n, longest, n_labels)
        shape = n, n_labels, _most_errors(errors) + 1
        arrival, best = np.empty(shape), np.empty(shape)
        errors_forward(one, errors, arrival, best)
        value, error, last = 0.0, 0, 0
        for e in range(1, shape[2]):
            for label in range(n_labels):
                other = unit * e * (1.0 - gold_scores[k] + best[n - 1, label, e] + one.end[label])
                if other > value:
                    value, error, last = other, e, label
        if error > 0:
            trace_error(one, errors, arrival, best, error, last, codes[read : read + n])
        read += n


@kernel
def segment_sums(
    scores: Scores, longest: int, n_labels: int, room: SegmentSums, log_z: FloatVector, counts: Counts
) -> None:
    """Write log Z of each sequence, and the expected counts of segments, pairs, first and last labels."""
    for k in range(len(scores.sizes)):
        n, log_z[k] = scores.sizes[k], 0.0
        if n == 0:
            continue
        one = segmented_of(scores, k, longest, n_labels)
        found = tables_of(counts.own, counts.shared[k], counts.starts[k], n, longest, n_labels)
        log_z[k] = semimarkov_sums(one, room, found.segment, found.transition)
        for d in range(found.segment.shape[1]):
            for label in range(n_labels):
                found.begin[label] += found.segment[0, d, label]
                found.end[label] += found.segment[n - 1 - d, d, label]


@kernel
def sample_segmentations(
    scores: Scores, longest: int, n_labels: int, room: SegmentSums, uniforms: FloatMatrix, outputs: IntMatrix
) -> None:
    """Write a draw of every sequence to each row of `outputs`: a forward pass, then segments from the last on.

    `uniforms` holds, for each token that may be the last of a segment, a random number for its label and, if segments
    may have several tokens, one for its length.
    """
    # Forward sums hold all ways to reach a token, so each segment is drawn given only the one that follows it.
    write = 0
    labels, lengths = np.empty(n_labels), np.empty(longest)
    for k in range(len(scores.sizes)):
        n, one = scores.sizes[k], segmented_of(scores, k, longest, n_labels)
        if n > 0:
            forward_sums(one, room)
        for draw in range(len(outputs)):
            u, following = n - 1, 0
            while u >= 0:
                table = one.transition[min(u + 1, len(one.transition) - 1)]
                for label in range(n_labels):
                    after = one.end[label] if u == n - 1 else table[label, following]
                    labels[label] = room.passes.best[u, label] + after
                following = draw_one(labels, uniforms[draw, write + u, 0])
                most = min(longest, u + 1)
                for d in range(most):
                    lengths[d] = room.passes.arrival[u - d, following] + one.segment[u - d, d, following]
                d = draw_one(lengths[:most], uniforms[draw, write + u, -1])
                write_segment(u - d, d, following, outputs[draw, write : write + n])
                u -= d + 1
        write += n
