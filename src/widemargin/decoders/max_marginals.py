"""Max-marginals of a first-order chain: for each label at each position, the best sequence with that label there.

forward[t, l]  = emission[t, l] + max over k of forward[t-1, k] + transition[t, k, l],   begin[l] for the max at t = 0
backward[t, k] = max over l of transition[t+1, k, l] + emission[t+1, l] + backward[t+1, l],   end[k] at the last
max-marginal   = forward + backward,   the best score(y), as in `viterbi`, with y_t = l
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.viterbi import extend


@kernel
def max_passes(
    emission: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    forward: FloatMatrix,
    backward: FloatMatrix,
) -> None:
    """Fill in the best scores of prefixes and suffixes.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    transition : (n, L, L) array, or (1, L, L) when all positions share one; entry [t] leads from t − 1 to t
    begin, end : (L,) arrays
    forward : (≥ n, L) output: the best prefix that ends with label l at t, the emission at t included
    backward : (≥ n, L) output: the best suffix after label l at t, the emission at t not included
    """
    n, n_labels = emission.shape
    shared = transition.shape[0] == 1
    for label in range(n_labels):
        forward[0, label] = begin[label] + emission[0, label]
        backward[n - 1, label] = end[label]
    for t in range(1, n):
        extend(forward[t - 1], transition[0 if shared else t], forward[t], n_labels)
        for label in range(n_labels):
            forward[t, label] += emission[t, label]
    arrival = np.empty(n_labels)
    for t in range(n - 1, 0, -1):
        table = transition[0 if shared else t]
        for label in range(n_labels):
            arrival[label] = emission[t, label] + backward[t, label]
        for k in range(n_labels):
            best = -np.inf
            for label in range(n_labels):
                score = table[k, label] + arrival[label]
                best = score if score > best else best
            backward[t - 1, k] = best
