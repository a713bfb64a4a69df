"""The best scores of a chain's examples with each label at each position, and the scores of given label sequences."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.max_marginals import max_passes
from widemargin.structures.chain_scores import ChainData, new_scores, part_scores, sequence_score
from widemargin.structures.chain_weights import ChainWeights


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
