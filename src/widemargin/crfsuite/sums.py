"""Sums over all label sequences of one sequence of scores."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.forward_backward import exponentiate, forward_backward, new_transitions


@kernel
def posteriors(
    emission: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, out: FloatMatrix
) -> float:
    """Write the probability of each label at each position; return log Z."""
    n, n_labels = emission.shape
    transitions = new_transitions(transition.reshape(1, n_labels, n_labels))
    exponentiate(transitions, 0)
    forward, backward = np.empty((n, n_labels)), np.empty((n, n_labels))
    pairs = np.empty((1, n_labels, n_labels))
    return forward_backward(emission, transitions, begin, end, forward, backward, out, pairs)
