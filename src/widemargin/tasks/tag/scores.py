"""The part scores of a chain: what decoders see of features and weights.

emission[t, l] = Σ_f x_tf W[f, l] + error_scale · costs[truth_t, l]
transition[t, k, l] = T[k, l] + Σ_g z_tg G[g, k, l],   one table for all t where there are no features z
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, add_features, add_thin_features
from widemargin.tasks.tag.weights import ChainWeights


class ChainData(NamedTuple):
    """Sequences laid end to end: features per position, optional features on transitions, gold labels, error costs.

    `truth[t]` is the row of `costs` for the errors at t: the gold label, or the row of a set of labels where only such
    a set is known (`tasks.tag.partial`).
    """

    indptr: LongVector
    features: Rows
    transition_features: Rows
    gold: IntVector
    truth: IntVector
    costs: FloatMatrix


@kernel
def _copy(source: FloatMatrix, target: FloatMatrix) -> None:
    # Loops, here and below: array expressions would compile NumPy's shape errors as well, which takes seconds.
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel
def new_scores(data: ChainData, weights: ChainWeights, batch: IntVector) -> tuple[FloatMatrix, FloatMatrix]:
    """Room for the emission and transition scores of any example of the batch.

    Without features on transitions, one table serves all positions and is already filled in.
    """
    n_labels, longest = len(weights.begin), 1
    for i in batch:
        longest = max(longest, data.indptr[i + 1] - data.indptr[i])
    transition = np.empty((longest if len(weights.conditional) > 0 else 1, n_labels, n_labels))
    _copy(weights.transition, transition[0])
    return np.empty((longest, n_labels)), transition


@kernel
def part_scores(
    data: ChainData, weights: ChainWeights, i: int, error_scale: float, emission: FloatMatrix, transition: FloatMatrix
) -> int:
    """Fill in the scores of example i, errors counted `error_scale` times; return its length."""
    n_labels, first = len(weights.begin), data.indptr[i]
    n = data.indptr[i + 1] - first
    conditional = len(weights.conditional) > 0
    flat = weights.conditional.reshape(len(weights.conditional), n_labels * n_labels)
    for t in range(n):
        for label in range(n_labels):
            emission[t, label] = 0.0
        if error_scale != 0.0:
            for label in range(n_labels):
                emission[t, label] = error_scale * data.costs[data.truth[first + t], label]
        if len(weights.emission) > 0:
            add_features(data.features, first + t, weights.emission, emission[t])
        else:
            add_thin_features(data.features, first + t, weights.thin_emission, emission[t])
        if conditional and t > 0:
            _copy(weights.transition, transition[t])
            add_features(data.transition_features, first + t, flat, transition[t].reshape(n_labels * n_labels))
    return n


@kernel
def sequence_score(
    emission: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, labels: IntVector
) -> float:
    """The score of one label sequence."""
    total = begin[labels[0]] + emission[0, labels[0]] + end[labels[len(labels) - 1]]
    for t in range(1, len(labels)):
        table = 0 if len(transition) == 1 else t
        total += emission[t, labels[t]] + transition[table, labels[t - 1], labels[t]]
    return total
