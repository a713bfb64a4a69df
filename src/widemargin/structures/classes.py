"""One label for a whole example: classes (Crammer & Singer 2001), or one of several choices that differ by example.

The parts of an example are its L labels, and an output is one of them. All outputs can be listed, so each ability is a
line on the matrix of all scores.

Choices are numbered from the last part back: choice k of n is part n − 1 − k. So parts may be stored in the order in
which they are found. The first of several equal choices wins.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.scores import to_shares
from widemargin.structures.flat import Counts, Flat, Numbers, Scores
from widemargin.structures.parts import Best, Sums


@dataclass(frozen=True, slots=True)
class Classes(Flat):
    """One of `n_labels` classes for each example."""

    counts_errors: ClassVar[bool] = False

    n_labels: int

    def lengths(self, sizes: LongVector) -> LongVector:
        """One class."""
        return sizes

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each class."""
        return sizes * self.n_labels

    def positions(self, sizes: LongVector) -> LongVector:
        """One position."""
        return sizes

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """The class."""
        return Numbers(np.arange(len(sizes) + 1), outputs.astype(np.int64))

    def own(self, scores: Scores | Counts) -> FloatMatrix:
        """A row for each example."""
        return scores.own[scores.starts[:, None] + np.arange(self.n_labels)]

    def best(self, scores: Scores) -> IntVector:
        """The best classes; the lowest in a tie."""
        return self.own(scores).argmax(axis=1).astype(np.int32)

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best classes; forbidden ones only if there is no other."""
        rows = self.own(scores)
        order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
        totals = np.take_along_axis(rows, order, axis=1)
        kept = totals > -np.inf
        kept[:, 0] = True
        return Best(kept.sum(axis=1).astype(np.int32), totals[kept], order[kept].astype(np.int32))

    def through(self, scores: Scores) -> FloatMatrix:
        """The scores themselves."""
        return self.own(scores)

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntVector) -> IntVector:
        """The worst class under slack scaling."""
        rows = self.own(scores)
        values = self.own(costs) * (1.0 + rows - rows[np.arange(len(gold)), gold][:, None])
        return np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), gold).astype(np.int32)

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """A number for each class."""
        return np.full(len(sizes), 8.0 * self.n_labels)

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst classes of slack scaling, since an example has a single position."""
        worst = self.worst(scores, costs, 1.0, gold)
        errors = self.own(costs)[np.arange(len(gold)), worst]
        return errors, worst[errors > 0.0]

    def sums(self, scores: Scores) -> Sums:
        """Logarithms of sums, and probabilities."""
        rows = self.own(scores)
        top = rows.max(axis=1, keepdims=True)
        exponentials = np.exp(rows - np.where(top == -np.inf, 0.0, top))
        mass = exponentials.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_z = top[:, 0] + np.log(mass[:, 0])
        probabilities = (exponentials / np.where(mass > 0.0, mass, 1.0)).ravel()
        n = len(scores.sizes)
        return Sums(log_z, Counts(np.arange(n) * self.n_labels, scores.sizes, probabilities, np.empty((n, 0))))

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Classes with their probabilities."""
        ends = np.cumsum(self.own(self.sums(scores).counts), axis=1)
        drawn = rng.random((n, len(ends), 1)) * ends[:, -1:]
        return (drawn >= ends).sum(axis=2, dtype=np.int32)


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
        log_z[k] = to_shares(own[starts[k] : starts[k] + sizes[k]], shares[write : write + sizes[k]])
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
