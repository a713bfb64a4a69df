"""The best label sequences of a first-order chain for each number of errors.

    best[t, e, l] = the largest score of a prefix with label l at t and the error e = Σ costs[t, y_t]

The number of errors is one more dimension of `viterbi`, so that time and memory are quadratic in the length.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.viterbi import extend


@kernel
def best_by_error(
    emission: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    costs: IntMatrix,
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
        best[0, costs[0, label], label] = begin[label] + emission[0, label]
    for t in range(1, n):
        for e in range(best.shape[1]):
            extend(best[t - 1, e], transition[0 if shared else t], arrival[t, e], n_labels)
        for label in range(n_labels):
            cost = costs[t, label]
            for e in range(cost, best.shape[1]):
                best[t, e, label] = arrival[t, e - cost, label] + emission[t, label]


@kernel
def trace_error(
    transition: FloatMatrix,
    costs: IntMatrix,
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
        error -= costs[t, label]
        table = transition[0 if shared else t]
        # The predecessor is the first whose sum, computed as in the forward pass, is the maximum found there.
        previous = 0
        while best[t - 1, error, previous] + table[previous, label] != arrival[t, error, label]:
            previous += 1
        label = previous
    out[0] = label
