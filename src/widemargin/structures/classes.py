"""Classes: the simplest structure, one of L labels for a whole example (Crammer & Singer 2001).

The parts of an example are its L labels, and an output is one of them. All outputs can be listed, so each ability is a
line on the matrix of all scores.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.structures.parts import Best, Parts, Sums


class ClassScores(NamedTuple):
    """The scores of example k are row starts[k] of `emission`, (rows, L); `sizes` are ones."""

    starts: LongVector
    sizes: LongVector
    emission: FloatMatrix


@dataclass(frozen=True, slots=True)
class Classes:
    """One of `n_labels` classes for each example."""

    counts_errors: ClassVar[bool] = False

    n_labels: int

    def room(self, sizes: LongVector) -> ClassScores:
        """A row for each example."""
        return ClassScores(np.arange(len(sizes)), sizes, np.empty((len(sizes), self.n_labels)))

    def lengths(self, sizes: LongVector) -> LongVector:
        """One class."""
        return sizes

    def entries(self, sizes: LongVector) -> LongVector:
        """A score for each class."""
        return sizes * self.n_labels

    def positions(self, sizes: LongVector) -> LongVector:
        """One position."""
        return sizes

    def plus(self, room: ClassScores, scores: ClassScores) -> ClassScores:
        """The scores added to costs that fill the room."""
        return room._replace(emission=room.emission + scores.emission[scores.starts])

    def best(self, scores: ClassScores) -> IntVector:
        """The best classes; the lowest in a tie."""
        return scores.emission[scores.starts].argmax(axis=1).astype(np.int32)

    def best_k(self, scores: ClassScores, k: int) -> Best:
        """The k best classes; forbidden ones only if there is no other."""
        rows = scores.emission[scores.starts]
        order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
        totals = np.take_along_axis(rows, order, axis=1)
        kept = totals > -np.inf
        kept[:, 0] = True
        return Best(kept.sum(axis=1).astype(np.int32), totals[kept], order[kept].astype(np.int32))

    def total(self, scores: ClassScores, outputs: IntVector) -> FloatVector:
        """The scores of these classes."""
        return scores.emission[scores.starts, outputs]

    def change(self, sizes: LongVector, gold: IntVector, outputs: IntVector) -> Parts:
        """The gold class, and the other if it is another."""
        both, wrong = np.stack([gold, outputs], axis=1), gold != outputs
        indptr = np.concatenate([[0], np.cumsum(2 * wrong)]).astype(np.int64)
        return Parts(indptr, both[wrong].ravel().astype(np.int64), np.tile([1.0, -1.0], int(wrong.sum())))

    def through(self, scores: ClassScores) -> FloatMatrix:
        """The scores themselves."""
        return scores.emission[scores.starts]

    def worst(self, scores: ClassScores, costs: ClassScores, unit: float, gold: IntVector) -> IntVector:
        """The worst class under slack scaling."""
        return self._worst(scores, costs.emission, gold)

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """A number for each class."""
        return np.full(len(sizes), 8.0 * self.n_labels)

    def violators(self, scores: ClassScores, costs: ClassScores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst classes of slack scaling, since an example has a single position."""
        worst = self._worst(scores, costs.emission, gold)
        errors = costs.emission[np.arange(len(gold)), worst]
        return errors, worst[errors > 0.0]

    def _worst(self, scores: ClassScores, costs: FloatMatrix, gold: IntVector) -> IntVector:
        rows = scores.emission[scores.starts]
        values = costs * (1.0 + rows - rows[np.arange(len(gold)), gold][:, None])
        return np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), gold).astype(np.int32)

    def sums(self, scores: ClassScores) -> Sums:
        """Logarithms of sums, and probabilities."""
        rows = scores.emission[scores.starts]
        top = rows.max(axis=1, keepdims=True)
        exponentials = np.exp(rows - np.where(top == -np.inf, 0.0, top))
        mass = exponentials.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_z = top[:, 0] + np.log(mass[:, 0])
        return Sums(log_z, exponentials / np.where(mass > 0.0, mass, 1.0))

    def sample(self, scores: ClassScores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Classes with their probabilities."""
        ends = np.cumsum(self.sums(scores).counts, axis=1)
        drawn = rng.random((n, len(ends), 1)) * ends[:, -1:]
        return (drawn >= ends).sum(axis=2, dtype=np.int32)

    def own(self, counts: FloatMatrix) -> FloatMatrix:
        """All counts."""
        return counts

    def residual(self, counts: FloatMatrix, gold: IntVector) -> FloatMatrix:
        """Indicators of the gold classes, less the counts."""
        np.negative(counts, out=counts)
        counts[np.arange(len(gold)), gold] += 1.0
        return counts
