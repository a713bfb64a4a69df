"""Searches over the label sequences of a batch: the k best, those through a label, and the worst.

Slack scaling needs the worst by the number of errors (`decoders.chain_errors`), position-wise slacks the worst that is
wrong at each position (Sarawagi & Gupta 2008, §4.3.1): one forward and one backward pass give the best score for every
label at every position, and the sequences are traced from there.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.chain_errors import best_by_error, trace_error
from widemargin.decoders.kbest import kbest
from widemargin.decoders.max_marginals import max_passes, trace_through
from widemargin.structures.chain import grown, rows_of, sequence_of, sequence_score
from widemargin.structures.flat import Scores, longest_of


@kernel
def best_sequences(scores: Scores, n_labels: int, k: int) -> tuple[IntVector, FloatVector, IntVector]:
    """How many sequences each example has, at most k; the scores and labels of all, end to end."""
    longest, n = longest_of(scores.sizes), len(scores.sizes)
    prefixes = np.empty((longest, n_labels, k))
    origins = np.empty((longest + 1, n_labels, k), dtype=np.int32)
    counts, totals = np.ones(n, dtype=np.int32), np.zeros(n * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n):
        size = scores.sizes[number]
        if size > 0:
            one = sequence_of(scores, number, n_labels)
            out = outputs[write : write + k * size].reshape(k, size)
            best = totals[found : found + k]
            counts[number] = kbest(one.emission, one.transition, one.begin, one.end, k, prefixes, origins, out, best)
        else:
            totals[found] = 0.0
        write += counts[number] * size
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def through_labels(scores: Scores, best: FloatMatrix) -> None:
    """best[t, l] = the score of the best sequence with label l at t."""
    longest, n_labels = longest_of(scores.sizes), best.shape[1]
    backward, write = np.empty((longest, n_labels)), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, forward = sequence_of(scores, k, n_labels), best[write : write + n]
            max_passes(one.emission, one.transition, one.begin, one.end, forward, backward)
            for t in range(n):
                for label in range(n_labels):
                    forward[t, label] += backward[t, label]
        write += n


@kernel
def worst_sequences(
    scores: Scores, costs: Scores, n_labels: int, unit: float, gold: IntVector, outputs: IntVector
) -> None:
    """Write the sequences with the largest Δ(1 + s); gold where none is above 0."""
    read = 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        out, right = outputs[read : read + n], gold[read : read + n]
        read += n
        if n == 0:
            continue
        own, whole, most = rows_of(costs, k, n_labels), np.empty((n, n_labels), dtype=np.int32), 0
        for t in range(n):
            out[t] = right[t]
            highest = 0
            for label in range(n_labels):
                whole[t, label] = int(own[t, label])
                highest = max(highest, whole[t, label])
            most += highest
        one = sequence_of(scores, k, n_labels)
        best, arrival = np.empty((n, most + 1, n_labels)), np.empty((n, most + 1, n_labels))
        best_by_error(one.emission, one.transition, one.begin, whole, best, arrival)
        gold_score = sequence_score(one, right)
        value, error, last = 0.0, 0, 0
        for e in range(1, most + 1):
            for label in range(n_labels):
                score = best[n - 1, e, label] + one.end[label]
                if score > -np.inf and unit * e * (1.0 - gold_score + score) > value:
                    value, error, last = unit * e * (1.0 - gold_score + score), e, label
        if error > 0:
            trace_error(one.transition, whole, best, arrival, error, last, out)


@kernel
def _worst_labels(
    costs: FloatMatrix,
    gold_score: float,
    forward: FloatMatrix,
    backward: FloatMatrix,
    errors: FloatVector,
    worst: IntVector,
) -> int:
    """The label of each position's violator and its error, −1 and 0 where there is none; return how many there are."""
    n_violators = 0
    for t in range(len(errors)):
        best, worst[t], errors[t] = 0.0, -1, 0.0
        for label in range(costs.shape[1]):
            value = costs[t, label] * (1.0 - gold_score + forward[t, label] + backward[t, label])
            if value > best:
                best, worst[t], errors[t] = value, label, costs[t, label]
        if worst[t] >= 0:
            n_violators += 1
    return n_violators


@kernel
def violating_sequences(scores: Scores, costs: Scores, n_labels: int, gold: IntVector) -> tuple[FloatVector, IntVector]:
    """The error at each position, 0 where there is no violator, and the violators' labels, end to end."""
    longest = longest_of(scores.sizes)
    forward, backward = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    steps, worst = np.empty((2, longest, n_labels), dtype=np.int32), np.empty(longest, dtype=np.int32)
    errors = np.zeros(len(gold))
    outputs, read, write = np.empty(4 * len(gold), dtype=np.int32), 0, 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one = sequence_of(scores, k, n_labels)
        max_passes(one.emission, one.transition, one.begin, one.end, forward, backward)
        gold_score = sequence_score(one, gold[read : read + n])
        n_violators = _worst_labels(
            rows_of(costs, k, n_labels), gold_score, forward, backward, errors[read : read + n], worst
        )
        outputs = grown(outputs, write, n * n_violators)
        for t in range(n):
            for label in range(n_labels):
                steps[0, t, label] = steps[1, t, label] = -1
        for t in range(n):
            if worst[t] >= 0:
                trace_through(
                    one.emission, one.transition, forward, backward, steps, t, worst[t], outputs[write : write + n]
                )
                write += n
        read += n
    return errors, outputs[:write]


@kernel
def best_wrong_sequences(scores: Scores, costs: Scores, n_labels: int, gold: IntVector, outputs: IntVector) -> None:
    """Write the best sequences that have an error; gold where there is none."""
    longest, write = longest_of(scores.sizes), 0
    forward, backward = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    steps = np.empty((2, longest, n_labels), dtype=np.int32)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one, own = sequence_of(scores, k, n_labels), rows_of(costs, k, n_labels)
        max_passes(one.emission, one.transition, one.begin, one.end, forward, backward)
        position, wrong, best = 0, -1, -np.inf
        for t in range(n):
            outputs[write + t] = gold[write + t]
            for label in range(n_labels):
                steps[0, t, label] = steps[1, t, label] = -1
                if own[t, label] > 0.0 and forward[t, label] + backward[t, label] > best:
                    position, wrong, best = t, label, forward[t, label] + backward[t, label]
        if wrong >= 0:
            trace_through(
                one.emission, one.transition, forward, backward, steps, position, wrong, outputs[write : write + n]
            )
        write += n
