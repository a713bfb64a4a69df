"""Whether two models differ on the same test sentences."""

import numpy as np
from experiment import SEED

from widemargin._types import FloatVector


def randomised(one: FloatVector, other: FloatVector, rounds: int = 5000) -> float:
    """The p-value of a paired randomisation test (Yeh 2000) of F1; accuracy is F1 where all tokens are predicted.

    Rows are sentences: parts that are right, predicted and gold (`chains.agreement`). Under the hypothesis that both
    models are alike, swapping their outputs of any sentence makes no difference.
    """
    swapped = np.random.default_rng(SEED).integers(0, 2, (rounds, len(one))).astype(np.float64)
    moved = swapped @ (other - one)
    differences = np.abs(f1(one.sum(axis=0) + moved) - f1(other.sum(axis=0) - moved))
    observed = abs(float(f1(one.sum(axis=0)) - f1(other.sum(axis=0))))
    return (1 + int(np.count_nonzero(differences >= observed - 1e-12))) / (rounds + 1)


def f1(counts: FloatVector) -> FloatVector:
    """F1 of counts (right, predicted, gold) in the last axis."""
    found: FloatVector = 2.0 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1.0)
    return found
