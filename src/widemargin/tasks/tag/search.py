"""Searches over the label sequences of a batch: the k best, max-marginals, and the worst under slack scaling.

Slack scaling adds the number of errors as a dimension of the dynamic programme: the best sequence for each number of
errors is found, and the worst of these maximises Δ(1 − ⟨w, ψ⟩). The time is quadratic in the length.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.kbest import kbest
from widemargin.decoders.max_marginals import max_passes
from widemargin.decoders.viterbi import extend
from widemargin.tasks.tag.scores import ChainData, new_scores, part_scores, sequence_score
from widemargin.tasks.tag.weights import ChainWeights


@kernel
def best_sequences(
    data: ChainData, weights: ChainWeights, batch: IntVector, k: int, scales: FloatVector
) -> tuple[IntVector, IntVector]:
    """How many sequences each example of the batch has, at most k, and their labels, end to end."""
    emission, transition = new_scores(data, weights, batch)
    longest, n_labels = emission.shape
    prefixes = np.empty((longest, n_labels, k))
    origins = np.empty((longest + 1, n_labels, k), dtype=np.int32)
    totals = np.empty(k)
    room = 0
    for i in batch:
        room += k * (data.indptr[i + 1] - data.indptr[i])
    counts, labels = np.ones(len(batch), dtype=np.int32), np.empty(room, dtype=np.int32)
    write = 0
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], scales[position], emission, transition)
        if n > 0:
            out = labels[write : write + k * n].reshape(k, n)
            counts[position] = kbest(
                emission[:n], transition[:n], weights.begin, weights.end, k, prefixes, origins, out, totals
            )
            write += counts[position] * n
    return counts, labels[:write]


@kernel
def max_marginals(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector, best: FloatMatrix
) -> None:
    """best[starts[k] + t, l] = the score of the best sequence of example batch[k] with label l at t."""
    emission, transition = new_scores(data, weights, batch)
    backward = np.empty(emission.shape)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, emission, transition)
        if n > 0:
            forward = best[starts[position] : starts[position] + n]
            max_passes(emission[:n], transition[:n], weights.begin, weights.end, forward, backward[:n])
            for t in range(n):
                for label in range(forward.shape[1]):
                    forward[t, label] += backward[t, label]


@kernel
def scores(
    data: ChainData,
    weights: ChainWeights,
    batch: IntVector,
    starts: LongVector,
    labels: IntVector,
    totals: FloatVector,
) -> None:
    """totals[k] = the score of the sequence labels[starts[k] : starts[k + 1]] of example batch[k]."""
    emission, transition = new_scores(data, weights, batch)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, emission, transition)
        if n > 0:
            sequence = labels[starts[position] : starts[position] + n]
            totals[position] = sequence_score(emission[:n], transition[:n], weights.begin, weights.end, sequence)


@kernel
def _best_by_error(
    emission: FloatMatrix,
    transition: FloatMatrix,
    weights: ChainWeights,
    costs: IntMatrix,
    truth: IntVector,
    best: FloatMatrix,
    arrival: FloatMatrix,
) -> None:
    """best[t, e, l] = the score of the best prefix with label l at t and the error e.

    arrival[t, e, l] is the same before the score and the error of position t itself are added.
    """
    n, n_labels = emission.shape
    shared = len(transition) == 1
    for t in range(n):
        for e in range(best.shape[1]):
            for label in range(n_labels):
                best[t, e, label] = -np.inf
    for label in range(n_labels):
        best[0, costs[truth[0], label], label] = weights.begin[label] + emission[0, label]
    for t in range(1, n):
        for e in range(best.shape[1]):
            extend(best[t - 1, e], transition[0 if shared else t], arrival[t, e], n_labels)
        for label in range(n_labels):
            cost = costs[truth[t], label]
            for e in range(cost, best.shape[1]):
                best[t, e, label] = arrival[t, e - cost, label] + emission[t, label]


@kernel
def _trace(
    transition: FloatMatrix,
    costs: IntMatrix,
    truth: IntVector,
    best: FloatMatrix,
    arrival: FloatMatrix,
    error: int,
    label: int,
    out: IntVector,
) -> None:
    """Write the best sequence that ends with `label` and has the error `error`."""
    shared = len(transition) == 1
    for t in range(len(out) - 1, 0, -1):
        out[t] = label
        error -= costs[truth[t], label]
        table = transition[0 if shared else t]
        # The predecessor is the first whose sum, computed as in the forward pass, is the maximum found there.
        previous = 0
        while best[t - 1, error, previous] + table[previous, label] != arrival[t, error, label]:
            previous += 1
        label = previous
    out[0] = label


@kernel
def worst_sequences(
    data: ChainData,
    weights: ChainWeights,
    costs: IntMatrix,
    unit: float,
    batch: IntVector,
    starts: LongVector,
    labels: IntVector,
) -> None:
    """Write the worst sequences of the batch, the gold ones where none is a violator; costs are multiples of `unit`."""
    emission, transition = new_scores(data, weights, batch)
    for k in range(len(batch)):
        n = part_scores(data, weights, batch[k], 0.0, emission, transition)
        first = data.indptr[batch[k]]
        gold, truth = data.gold[first : first + n], data.truth[first : first + n]
        out = labels[starts[k] : starts[k] + n]
        if n == 0:
            continue
        most = 0
        for t in range(n):
            out[t] = gold[t]
            highest = 0
            for label in range(emission.shape[1]):
                highest = max(highest, costs[truth[t], label])
            most += highest
        best = np.empty((n, most + 1, emission.shape[1]))
        arrival = np.empty(best.shape)
        _best_by_error(emission[:n], transition[:n], weights, costs, truth, best, arrival)
        gold_score = sequence_score(emission[:n], transition[:n], weights.begin, weights.end, gold)
        value, error, last = 0.0, 0, 0
        for e in range(1, most + 1):
            for label in range(emission.shape[1]):
                score = best[n - 1, e, label] + weights.end[label]
                if score > -np.inf and unit * e * (1.0 - gold_score + score) > value:
                    value, error, last = unit * e * (1.0 - gold_score + score), e, label
        if error > 0:
            _trace(transition[:n], costs, truth, best, arrival, error, last, out)
