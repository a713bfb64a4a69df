"""Max-marginals of a first-order chain: for each label at each position, the best sequence with that label there.

forward[t, l]  = emission[t, l] + max over k of forward[t-1, k] + transition[t, k, l],   begin[l] for the max at t = 0
backward[t, k] = max over l of transition[t+1, k, l] + emission[t+1, l] + backward[t+1, l],   end[k] at the last
max-marginal   = forward + backward,   the best score(y), as in `viterbi`, with y_t = l
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
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


@kernel
def _best_before(scores: FloatVector, table: FloatMatrix, label: int) -> int:
    """argmax over p of scores[p] + table[p, label]."""
    best = 0
    for p in range(1, len(scores)):
        if scores[p] + table[p, label] > scores[best] + table[best, label]:
            best = p
    return best


@kernel
def _best_after(emission: FloatVector, backward: FloatVector, table: FloatMatrix, label: int) -> int:
    """argmax over q of table[label, q] + emission[q] + backward[q]."""
    best = 0
    for q in range(1, len(emission)):
        if table[label, q] + (emission[q] + backward[q]) > table[label, best] + (emission[best] + backward[best]):
            best = q
    return best


@kernel
def trace_through(
    emission: FloatMatrix,
    transition: FloatMatrix,
    forward: FloatMatrix,
    backward: FloatMatrix,
    steps: IntMatrix,
    position: int,
    label: int,
    out: IntVector,
) -> None:
    """Write the best sequence with `label` at `position`, given both passes.

    Traces of different positions soon merge, so steps[0] and steps[1] remember where labels lead, or −1.
    """
    n = len(emission)
    shared = len(transition) == 1
    out[position] = label
    for t in range(position, 0, -1):
        if steps[0, t, out[t]] < 0:
            steps[0, t, out[t]] = _best_before(forward[t - 1], transition[0 if shared else t], out[t])
        out[t - 1] = steps[0, t, out[t]]
    for t in range(position + 1, n):
        if steps[1, t, out[t - 1]] < 0:
            steps[1, t, out[t - 1]] = _best_after(emission[t], backward[t], transition[0 if shared else t], out[t - 1])
        out[t] = steps[1, t, out[t - 1]]
