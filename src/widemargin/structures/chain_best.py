"""The k best label sequences of the examples of a chain; compiled only where they are asked for."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.decoders.kbest import kbest
from widemargin.structures.chain_scores import ChainData, new_scores, part_scores
from widemargin.structures.chain_weights import ChainWeights


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
