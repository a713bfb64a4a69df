"""Sets of labels: any number of K labels for a whole example, scored one by one and, if wanted, in pairs.

    score(y) = Σ_k y_k own[k] + Σ_{j<k} y_j y_k shared[j, k],   y ∈ {0, 1}^K
    Δ(y) = Σ_k cost[k] [y_k ≠ gold_k],   by default the number of wrong labels (Hamming)

The own parts of an example are its labels. Pairs of labels are shared parts, numbered row by row above the diagonal.
Without pairs, labels are independent (`LabelSets`). With pairs, all sets are listed if there are few labels
(`ListedSets`), and otherwise searched without a guarantee (`SearchedSets`).

Outputs are matrices of indicators, a row per example. A missing gold label is an error. So a gold label has a negative
cost, and Δ(y) = ⟨c, z(y) − z(gold)⟩.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.subsets import MOST_LISTED, search_subsets, subset_scores, subset_sums
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Flat, InUnits, Numbers, Parts, Scores
from widemargin.structures.parts import Best, Sums

TABLE = 1 << 20
"""How many scores of sets are held at a time."""


@kernel
def _members(one: IntVector, other: IntVector, either: LongVector) -> int:
    """Write the labels of the union of two sets; return how many there are."""
    count = 0
    for k in range(len(one)):
        if one[k] != 0 or other[k] != 0:
            either[count] = k
            count += 1
    return count


@kernel
def _change(sets: IntMatrix, others: IntMatrix, pairwise: bool) -> Parts:
    """z(y) − z(y') for the sets y and y' of each row, without zeros: labels, then pairs of them."""
    # Only members of either set have non-zero coefficients, so pairs take |y ∪ y'|² steps instead of K².
    n_labels = sets.shape[1]
    either, indptr = np.empty(n_labels, dtype=np.int64), np.zeros(len(sets) + 1, dtype=np.int64)
    room = write = 0
    for i in range(len(sets)):
        count = _members(sets[i], others[i], either)
        room += count + (count * (count - 1) // 2 if pairwise else 0)
    numbers, values = np.empty(room, dtype=np.int64), np.empty(room)
    for i in range(len(sets)):
        count = _members(sets[i], others[i], either)
        for one in range(count):
            k = either[one]
            if sets[i, k] != others[i, k]:
                numbers[write], values[write] = k, sets[i, k] - others[i, k]
                write += 1
        for one in range(count if pairwise else 0):
            j = either[one]
            row = n_labels + j * n_labels - j * (j + 1) // 2 - j - 1
            for other in range(one + 1, count):
                k = either[other]
                value = sets[i, j] * sets[i, k] - others[i, j] * others[i, k]
                if value != 0:
                    numbers[write], values[write] = row + k, value
                    write += 1
        indptr[i + 1] = write
    return Parts(indptr, numbers[:write], values[:write])


@cache
def _above_diagonal(n_labels: int) -> tuple[LongVector, LongVector]:
    return np.triu_indices(n_labels, 1)


@dataclass(frozen=True, slots=True)
class _Sets(Flat):
    """Base of sets of `n_labels` labels. Lists of parts hold only the labels and pairs of a set."""

    pairwise: ClassVar[bool] = True

    n_labels: int

    def lengths(self, sizes: LongVector) -> LongVector:
        """One row of indicators."""
        return sizes

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each label."""
        return sizes * self.n_labels

    @property
    def n_shared(self) -> int:
        """Pairs of labels."""
        return self.n_labels * (self.n_labels - 1) // 2 if self.pairwise else 0

    def parts(self, sizes: LongVector, outputs: IntMatrix) -> Numbers:
        """The labels, and their pairs."""
        indptr, numbers, _ = _change(outputs, np.zeros_like(outputs), self.pairwise)
        return Numbers(indptr, numbers)

    def change(self, sizes: LongVector, gold: IntMatrix, outputs: IntMatrix) -> Parts:
        """z(gold) − z(output), from members only: lists to compare place by place would need all K² pairs."""
        return _change(gold, outputs, self.pairwise)

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each example."""
        return counts.own.reshape(-1, self.n_labels)

    def _rows(self, scores: Scores) -> FloatMatrix:
        """A row of scores for each example."""
        return scores.own[scores.starts[:, None] + np.arange(self.n_labels)]

    def _pairs(self, scores: Scores) -> FloatMatrix:
        """The scores of pairs as a symmetric matrix."""
        pairs, (first, second) = np.zeros((self.n_labels, self.n_labels)), _above_diagonal(self.n_labels)
        pairs[first, second] = pairs[second, first] = scores.shared
        return pairs


class _Positions(_Sets):
    """Base of structures that find, for each label, the best set that is wrong there."""

    __slots__ = ()

    def positions(self, sizes: LongVector) -> LongVector:
        """A position per label."""
        return sizes * self.n_labels

    def violators(self, scores: Scores, costs: Scores, gold: IntMatrix) -> tuple[FloatVector, IntMatrix]:
        """The worst set that is wrong at each label: the best such set, since all have the same error there."""
        sets, gains = self._best_wrong(scores, gold)
        errors = np.where(1.0 + gains > 0.0, np.abs(self._rows(costs)), 0.0)
        return errors.ravel(), sets[errors > 0.0]

    def _best_wrong(self, scores: Scores, gold: IntMatrix) -> tuple[IntMatrix, FloatMatrix]:
        """For each label the best set that is wrong there, and its score minus that of gold."""
        raise NotImplementedError


class LabelSets(_Positions):
    """Without pairs: every label is decided by itself, however many there are."""

    __slots__ = ()
    pairwise = False

    def best(self, scores: Scores) -> IntMatrix:
        """The labels that score above 0."""
        return (self._rows(scores) > 0.0).astype(np.int32)

    def sums(self, scores: Scores) -> Sums:
        """A logistic regression per label."""
        rows = self._rows(scores)
        probabilities = np.exp(-np.logaddexp(0.0, -rows)).ravel()
        starts, nothing = np.arange(len(rows)) * self.n_labels, np.empty((len(rows), 0))
        return Sums(np.logaddexp(0.0, rows).sum(axis=1), Counts(starts, scores.sizes, probabilities, nothing))

    def _best_wrong(self, scores: Scores, gold: IntMatrix) -> tuple[IntMatrix, FloatMatrix]:
        rows, labels = self._rows(scores), np.arange(self.n_labels)
        sets = np.repeat(self.best(scores)[:, None], self.n_labels, axis=1)
        sets[:, labels, labels] = 1 - gold
        return sets, ((sets - gold[:, None]) * rows[:, None]).sum(axis=2)


@dataclass(frozen=True, slots=True)
class ListedSets(_Positions):
    """With pairs and so few labels that all sets can be listed: everything is exact."""

    counts_errors: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise if there are too many labels."""
        n = self.n_labels
        if n > MOST_LISTED:
            raise DataError(f"the sets of {n} labels are too many to be listed; {MOST_LISTED} labels are most")

    def best(self, scores: Scores) -> IntMatrix:
        """The best set of each example."""
        return self._sets(np.concatenate([table.argmax(axis=1) for _, table in self._tables(scores)]))

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best sets."""
        found, totals = [], []
        for _, table in self._tables(scores):
            found.append(np.argsort(-table, axis=1, kind="stable")[:, :k])
            totals.append(np.take_along_axis(table, found[-1], axis=1))
        best = np.concatenate(found)
        counts = np.full(len(best), best.shape[1], dtype=np.int32)
        return Best(counts, np.concatenate(totals).ravel(), self._sets(best.ravel()))

    def sums(self, scores: Scores) -> Sums:
        """Sums over all sets."""
        n, (first, second) = self.n_labels, _above_diagonal(self.n_labels)
        log_z, own, shared = [], [], []
        for _, table in self._tables(scores):
            top = table.max(axis=1, keepdims=True)
            p = np.exp(table - top)
            mass = p.sum(axis=1, keepdims=True)
            expected = (subset_sums(p, n) / mass).reshape(-1, n, n)
            log_z.append(top[:, 0] + np.log(mass[:, 0]))
            own.append(np.diagonal(expected, axis1=1, axis2=2).ravel())
            shared.append(np.ascontiguousarray(expected[:, first, second]))  # rows as kernels have them
        counts = Counts(np.arange(len(scores.sizes)) * n, scores.sizes, np.concatenate(own), np.concatenate(shared))
        return Sums(np.concatenate(log_z), counts)

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntMatrix) -> IntMatrix:
        """The worst set under slack scaling."""
        worst, no_pairs = [], np.zeros((self.n_labels, self.n_labels))
        costs_of = self._rows(costs)
        for at, table in self._tables(scores):
            signed, number, position = costs_of[at], self._numbers(gold[at]), np.arange(len(table))
            errors = subset_scores(signed, no_pairs) - (gold[at] * signed).sum(axis=1, keepdims=True)
            values = errors * (1.0 + table - table[position, number][:, None])
            # Errors are sums, and rounding may make the error of gold differ from zero.
            values[position, number] = 0.0
            worst.append(np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), number))
        return self._sets(np.concatenate(worst))

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """The scores, errors and values of all sets."""
        return np.full(len(sizes), 24.0 * 2**self.n_labels)

    def _best_wrong(self, scores: Scores, gold: IntMatrix) -> tuple[IntMatrix, FloatMatrix]:
        best, gains, members = [], [], self._sets(np.arange(1 << self.n_labels)).T
        for at, table in self._tables(scores):
            above_gold = table - table[np.arange(len(table)), self._numbers(gold[at])][:, None]
            wrong = [np.where(has != gold[at, k][:, None], above_gold, -np.inf) for k, has in enumerate(members)]
            best.append(np.stack([values.argmax(axis=1) for values in wrong], axis=1))
            gains.append(np.stack([values.max(axis=1) for values in wrong], axis=1))
        return self._sets(np.concatenate(best)), np.concatenate(gains)

    def _tables(self, scores: Scores) -> Iterator[tuple[slice, FloatMatrix]]:
        """The batch in pieces: their places, and the scores of all sets, a row per example."""
        rows, pairs, size = self._rows(scores), self._pairs(scores), max(1, TABLE >> self.n_labels)
        for begin in range(0, max(len(rows), 1), size):
            at = slice(begin, begin + size)
            yield at, subset_scores(rows[at], pairs)

    def _sets(self, numbers: LongVector | LongMatrix) -> IntMatrix:
        """The sets with these numbers, as indicators along a new last axis."""
        return (numbers[..., None] >> np.arange(self.n_labels) & 1).astype(np.int32)

    def _numbers(self, sets: IntMatrix) -> LongVector:
        return (sets.astype(np.int64) << np.arange(self.n_labels)).sum(axis=1)


class SearchedSets(_Sets):
    """With pairs and any number of labels: searches good sets, and proves nothing."""

    __slots__ = ()

    def best(self, scores: Scores) -> IntMatrix:
        """The best set of each example that climbing from several starts finds."""
        return search_subsets(self._rows(scores), self._pairs(scores))


class SetCosts(InUnits):
    """The errors of sets (`structures.parts.Costs`).

    Parameters
    ----------
    gold : (n, K) indicators; no rows without gold
    costs : (K,) the error of each wrong label
    """

    def __init__(self, gold: IntMatrix, costs: FloatVector) -> None:
        self.gold, self.costs = gold, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of labels, times each example's scale; negative for gold labels."""
        rows = room.own.reshape(len(batch), len(self.costs))
        rows[:] = scales[:, None] * self.costs * (1.0 - 2.0 * self.gold[batch]) if scales.any() else 0.0

    def errors(self, batch: IntVector, outputs: IntMatrix) -> FloatVector:
        """The errors of sets, a row each."""
        return np.where(self.gold[batch] != outputs, self.costs, 0.0).sum(axis=1)

    def most(self) -> FloatVector:
        """The error with all labels wrong."""
        return np.full(len(self.gold), self.costs.sum())
