"""Searches over the segmentations of a batch: the k best, those through a segment, and the worst.

Slack scaling needs the worst by the number of errors (`decoders.semimarkov_errors`), position-wise slacks the worst
that has each candidate span (Sarawagi & Gupta 2008, §4.3.2), traced from one forward and one backward pass.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.semimarkov import backward, forward, max_marginals, segmentation_score
from widemargin.decoders.semimarkov_errors import errors_forward, trace_error
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.decoders.semimarkov_through import both_passes, write_through
from widemargin.structures.chain import grown
from widemargin.structures.flat import Scores, longest_of
from widemargin.structures.segments import segmented_of, table_of


@kernel
def best_segmentations(scores: Scores, longest: int, n_labels: int, k: int) -> tuple[IntVector, FloatVector, IntVector]:
    """How many segmentations each example has, at most k; the scores and codes of all, end to end."""
    n = len(scores.sizes)
    counts, totals = np.ones(n, dtype=np.int32), np.zeros(n * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n):
        size = scores.sizes[number]
        if size > 0:
            one, out = segmented_of(scores, number, longest, n_labels), outputs[write : write + k * size]
            best = totals[found : found + k]
            counts[number] = semimarkov_kbest(
                one.segment, one.transition, one.begin, one.end, k, out.reshape(k, size), best
            )
        else:
            totals[found] = 0.0
        write += counts[number] * size
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def through_segments(scores: Scores, longest: int, out: FloatMatrix) -> None:
    """Write the score of the best segmentation with each label on each candidate span."""
    n_labels, write = out.shape[1], 0
    shape = longest_of(scores.sizes), n_labels
    arrival, best, departure, onset = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n, one = scores.sizes[k], segmented_of(scores, k, longest, n_labels)
        forward(one.segment, one.transition, one.begin, arrival, best)
        backward(one.segment, one.transition, one.end, departure, onset)
        for t in range(n):
            for d in range(min(longest, n - t)):
                max_marginals(one.segment, arrival, departure, t, d, out[write])
                write += 1


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
    scores: Scores, costs: Scores, longest: int, n_labels: int, unit: float, gold: IntVector, outputs: IntVector
) -> None:
    """Write the segmentations with the largest Δ(1 + s); gold where none is above 0."""
    read = 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        out, right = outputs[read : read + n], gold[read : read + n]
        read += n
        if n == 0:
            continue
        for t in range(n):
            out[t] = right[t]
        one, errors = (
            segmented_of(scores, k, longest, n_labels),
            table_of(costs.own, costs.starts[k], n, longest, n_labels),
        )
        gold_score = segmentation_score(one.segment, one.transition, one.begin, one.end, right)
        shape = n, n_labels, _most_errors(errors) + 1
        arrival, best = np.empty(shape), np.empty(shape)
        errors_forward(one.segment, errors, one.transition, one.begin, arrival, best)
        value, error, last = 0.0, 0, 0
        for label in range(n_labels):
            for e in range(1, shape[2]):
                other = unit * e * (1.0 - gold_score + best[n - 1, label, e] + one.end[label])
                if other > value:
                    value, error, last = other, e, label
        if error > 0:
            trace_error(one.segment, errors, one.transition, arrival, best, last, error, out)


@kernel
def _worst_label(costs: FloatVector, marginals: FloatVector, gold: float) -> int:
    """The label with the largest cost · (1 − gold + max-marginal), −1 if none is above 0."""
    found, value = -1, 0.0
    for label in range(len(marginals)):
        # The product of no cost and −∞ is not a number.
        if costs[label] > 0.0 and costs[label] * (1.0 - gold + marginals[label]) > value:
            found, value = label, costs[label] * (1.0 - gold + marginals[label])
    return found


@kernel
def violating_segmentations(
    scores: Scores, costs: Scores, longest: int, n_labels: int, gold: IntVector, errors: FloatVector
) -> IntVector:
    """The violators' codes, end to end; `errors` gets the error at each candidate span, where there is a violator."""
    marginals, outputs = np.empty(n_labels), np.empty(len(errors), dtype=np.int32)
    read = write = position = 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one, own = (
            segmented_of(scores, k, longest, n_labels),
            table_of(costs.own, costs.starts[k], n, longest, n_labels),
        )
        passes = both_passes(one.segment, one.transition, one.begin, one.end)
        gold_score = segmentation_score(one.segment, one.transition, one.begin, one.end, gold[read : read + n])
        for t in range(n):
            for d in range(min(longest, n - t)):
                max_marginals(one.segment, passes.arrival, passes.departure, t, d, marginals)
                label = _worst_label(own[t, d], marginals, gold_score)
                if label >= 0:
                    errors[position] = own[t, d, label]
                    outputs = grown(outputs, write, n)
                    write_through(passes, t, d, label, outputs[write : write + n])
                    write += n
                position += 1
        read += n
    return outputs[:write]


@kernel
def best_wrong_segmentations(
    scores: Scores, costs: Scores, longest: int, n_labels: int, gold: IntVector, outputs: IntVector
) -> None:
    """Write the best segmentations that have an error; gold where there is none."""
    read = 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one, own = (
            segmented_of(scores, k, longest, n_labels),
            table_of(costs.own, costs.starts[k], n, longest, n_labels),
        )
        passes, out = both_passes(one.segment, one.transition, one.begin, one.end), outputs[read : read + n]
        start, more, wrong, best = 0, 0, -1, -np.inf
        for t in range(n):
            out[t] = gold[read + t]
            for d in range(min(longest, n - t)):
                for label in range(n_labels):
                    total = passes.arrival[t, label] + one.segment[t, d, label] + passes.departure[t + d, label]
                    if own[t, d, label] > 0.0 and total > best:
                        start, more, wrong, best = t, d, label, total
        if wrong >= 0:
            write_through(passes, start, more, wrong, out)
        read += n
