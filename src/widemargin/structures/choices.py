"""Choices: one of n for each example, where n differs from example to example.

The parts of an example are its n choices, and an output is the number of one of them. Choice k is part n − 1 − k, so
that parts may lie in memory as they are found and choices count from the last one back. Of equal choices the first
wins.
"""

from dataclasses import dataclass

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.structures.flat import Counts, Flat, Numbers, Scores
from widemargin.structures.parts import Sums


@kernel
def _best(starts: LongVector, sizes: LongVector, own: FloatVector) -> IntVector:
    outputs = np.zeros(len(sizes), dtype=np.int32)
    for k in range(len(sizes)):
        scores = own[starts[k] : starts[k] + sizes[k]]
        best = scores[len(scores) - 1]
        for choice in range(1, len(scores)):
            if scores[len(scores) - 1 - choice] > best:
                best = scores[len(scores) - 1 - choice]
                outputs[k] = choice
    return outputs


@kernel
def _sums(starts: LongVector, sizes: LongVector, own: FloatVector) -> tuple[FloatVector, FloatVector]:
    log_z, shares, write = np.empty(len(sizes)), np.empty(sizes.sum()), 0
    for k in range(len(sizes)):
        scores, p = own[starts[k] : starts[k] + sizes[k]], shares[write : write + sizes[k]]
        highest, total = scores.max(), 0.0
        for choice in range(len(p)):
            p[choice] = np.exp(scores[choice] - highest)
            total += p[choice]
        for choice in range(len(p)):
            p[choice] /= total
        log_z[k] = highest + np.log(total)
        write += sizes[k]
    return log_z, shares


@dataclass(frozen=True, slots=True)
class Choices(Flat):
    """One choice for each example; its size is the number of choices, at least 1."""

    def lengths(self, sizes: LongVector) -> LongVector:
        """One choice."""
        return np.ones_like(sizes)

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each choice."""
        return sizes

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """The choice."""
        return Numbers(np.arange(len(sizes) + 1), sizes - 1 - outputs)

    def best(self, scores: Scores) -> IntVector:
        """The best choices; the first in a tie."""
        return _best(scores.starts, scores.sizes, scores.own)

    def sums(self, scores: Scores) -> Sums:
        """Logarithms of sums, and probabilities; some choice of each example must be possible."""
        log_z, shares = _sums(scores.starts, scores.sizes, scores.own)
        starts = np.cumsum(scores.sizes) - scores.sizes
        return Sums(log_z, Counts(starts, scores.sizes, shares, np.empty((len(log_z), 0))))

    def own(self, counts: Counts) -> FloatVector:
        """A number for each choice, example after example."""
        return counts.own
