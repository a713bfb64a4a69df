"""The worst label sequences of a chain under slack scaling: argmax Δ(y) (1 − s(gold) + s(y)).

The error is one more dimension of the dynamic programme: the best prefix that ends with label l at t *and has the error
e so far*, for every e. Errors must be whole numbers of a common unit. Quadratic in the length of the sequence.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntMatrix, IntVector, LongVector
from widemargin.decoders.viterbi import extend
from widemargin.structures.chain_scores import ChainData, new_scores, part_scores, sequence_score
from widemargin.structures.chain_weights import ChainWeights


@kernel
def _best_by_error(
    emission: FloatMatrix,
    transition: FloatMatrix,
    weights: ChainWeights,
    costs: IntMatrix,
    gold: IntVector,
    best: FloatMatrix,
    arrival: FloatMatrix,
) -> None:
    """best[t, e, l]: the score of the best prefix with label l at t and the error e; arrival before t is counted."""
    n, n_labels = emission.shape
    shared = len(transition) == 1
    for t in range(n):
        for e in range(best.shape[1]):
            for label in range(n_labels):
                best[t, e, label] = -np.inf
    for label in range(n_labels):
        best[0, costs[gold[0], label], label] = weights.begin[label] + emission[0, label]
    for t in range(1, n):
        for e in range(best.shape[1]):
            extend(best[t - 1, e], transition[0 if shared else t], arrival[t, e], n_labels)
        for label in range(n_labels):
            cost = costs[gold[t], label]
            for e in range(cost, best.shape[1]):
                best[t, e, label] = arrival[t, e - cost, label] + emission[t, label]


@kernel
def _trace(
    transition: FloatMatrix,
    costs: IntMatrix,
    gold: IntVector,
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
        error -= costs[gold[t], label]
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
        gold = data.gold[data.indptr[batch[k]] : data.indptr[batch[k]] + n]
        out = labels[starts[k] : starts[k] + n]
        if n == 0:
            continue
        most = 0
        for t in range(n):
            out[t] = gold[t]
            highest = 0
            for label in range(emission.shape[1]):
                highest = max(highest, costs[gold[t], label])
            most += highest
        best = np.empty((n, most + 1, emission.shape[1]))
        arrival = np.empty(best.shape)
        _best_by_error(emission[:n], transition[:n], weights, costs, gold, best, arrival)
        gold_score = sequence_score(emission[:n], transition[:n], weights.begin, weights.end, gold)
        value, error, last = 0.0, 0, 0
        for e in range(1, most + 1):
            for label in range(emission.shape[1]):
                score = best[n - 1, e, label] + weights.end[label]
                if score > -np.inf and unit * e * (1.0 - gold_score + score) > value:
                    value, error, last = unit * e * (1.0 - gold_score + score), e, label
        if error > 0:
            _trace(transition[:n], costs, gold, best, arrival, error, last, out)
