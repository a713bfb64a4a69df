"""Sets of labels: any number of K labels for a whole example, scored one by one and, if wanted, in pairs.

    ⟨w, φ(x, y)⟩ = Σ_k y_k (Σ_f x_f W[f, k] + intercept · bias[k]) + Σ_{j<k} P[j, k] y_j y_k,   y ∈ {0, 1}^K
    Δ(y) = Σ_k cost[k] [y_k ≠ gold_k],   by default the number of wrong labels (Hamming)

P follows W and bias in the flat weight vector, row by row above its diagonal. Without P labels are independent. With P
all sets are listed if that is possible (`decoders.subsets`), and searched without a guarantee if it is not.
Outputs are matrices of indicators, a row per example.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.contents import digests_of_parts
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import NO_ROWS, Rows, compressed, stack
from widemargin.decoders.subsets import MOST_LISTED, search_subsets, subset_scores, subset_sums
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.linear import LinearScores
from widemargin.tasks.classify.pairs import check_pairs, pair_differences

TABLE = 1 << 20
"""How many scores of sets are held at a time."""


class MultilabelExamples:
    """Examples with their gold sets of labels (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    features : the features of each example, a row per example
    n_features, n_labels : the shape of W
    gold : (n, K) indicators; None when the examples are only to be decoded
    costs : (K,) the error of each wrong label; None counts them
    intercept : the value of the feature that all examples share; 0 for none
    """

    exact = True
    pairwise = True

    def __init__(
        self,
        features: Rows,
        n_features: int,
        n_labels: int,
        gold: IntMatrix | None = None,
        *,
        costs: FloatVector | None = None,
        intercept: float = 0.0,
    ) -> None:
        if self.pairwise:
            check_pairs(n_labels, len(features.indptr) - 1 if gold is not None else 1)
        self.first, self.second = np.triu_indices(n_labels, 1) if self.pairwise else (np.empty(0, dtype=np.intp),) * 2
        self.linear = LinearScores(features, n_features, n_labels, intercept, n_rest=len(self.first))
        self.n_examples, self.n_weights, self.work = self.linear.n_examples, self.linear.n_weights, self.linear.work
        self.gold = np.zeros((0, n_labels), dtype=np.int32) if gold is None else gold
        self.costs = np.ones(n_labels) if costs is None else costs
        if gold is not None and not (gold.shape == (self.n_examples, n_labels) and np.isin(gold, (0, 1)).all()):
            raise DataError(f"gold must be a matrix of 0 and 1, {self.n_examples} × {n_labels}")
        if self.costs.shape != (n_labels,):
            raise DataError(f"costs must be {n_labels} numbers, one for each label")

    @abstractmethod
    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntMatrix:
        """The best set of labels of each example."""

    def difference(self, batch: IntVector, outputs: IntMatrix) -> Differences:
        """Errors and feature differences of the sets `outputs`."""
        gold = self.gold[batch]
        residual = (gold - outputs).astype(np.float64)
        psi = self.linear.products(batch, residual, pair_differences(gold, outputs) if self.pairwise else NO_ROWS)
        return Differences(np.where(gold != outputs, self.costs, 0.0).sum(axis=1), psi)

    @property
    def n_positions(self) -> LongVector:
        """A position per label."""
        return np.full(self.n_examples, self.linear.n_labels, dtype=np.int64)

    def violator_bytes(self) -> FloatVector:
        """What `violators` may take: a set for each label, in several copies, and its ψ if it is all wrong."""
        n_labels, of_features = self.linear.n_labels, np.diff(self.linear.features.indptr) + 1.0
        return n_labels**2 * (BYTES_PER_ENTRY * of_features + 40.0)

    def digests(self, labels: LongVector | None = None, features: LongVector | None = None) -> list[bytes]:
        """A digest of each example, with other numbers for labels and features (`tasks.warm`).

        Labels are positions of outputs, too, so examples are the same only if all labels are.
        """
        labels = np.arange(self.linear.n_labels) if labels is None else labels
        gold = np.arange(self.n_examples + 1) * self.gold.shape[1], self.gold.ravel()
        about = [labels, self.costs, self.linear.intercept, self.pairwise]
        return digests_of_parts(about, gold, *self.linear.parts(features))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, the biases, and the weights of all pairs."""
        return self.linear.support(batch)

    def single(self, w: FloatVector, batch: IntVector, error_scale: Scale = 0.0) -> FloatMatrix:
        """The share of each label by itself in ⟨w, φ⟩ + error_scale · Δ, up to a constant that all sets share."""
        scores = self.linear.rows(w, batch)
        scales = per_example(error_scale, batch)
        if scales.any():
            scores += scales[:, None] * self.costs * (1.0 - 2.0 * self.gold[batch])
        return scores

    def label_probabilities(self, w: FloatVector, batch: IntVector) -> FloatMatrix:
        """The probability of each label for each example."""
        raise UnsupportedError(f"the sets of {self.linear.n_labels} labels with pairs are too many to be summed over")

    def pairs(self, w: FloatVector) -> FloatMatrix:
        """P as a symmetric matrix."""
        pairs = np.zeros((self.linear.n_labels, self.linear.n_labels))
        pairs[self.first, self.second] = pairs[self.second, self.first] = w[self.linear.n_linear :]
        return pairs

    def _violators(self, batch: IntVector, sets: IntMatrix, gains: FloatMatrix) -> Differences:
        """The violators, given for each label the best set that is wrong there and how far it scores above gold."""
        gold, n_labels = self.gold[batch], self.linear.n_labels
        errors = np.where(1.0 + gains > 0.0, self.costs, 0.0)
        sets = np.where(errors[:, :, None] > 0.0, sets, gold[:, None])
        _, psi = self.difference(np.repeat(batch, n_labels), sets.reshape(-1, n_labels))
        return Differences(errors.ravel(), psi)


class IndependentMultilabel(MultilabelExamples):
    """Without P: every label is decided by itself, however many there are."""

    pairwise = False

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntMatrix:
        """The labels that score above 0."""
        return (self.single(w, batch, error_scale) > 0.0).astype(np.int32)

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p(gold) and φ(x, gold) − E[φ(x, y)]: a logistic regression per label."""
        sign = np.where(self.gold[batch], 1.0, -1.0)
        towards_gold = sign * self.single(w, batch, error_scale)
        losses = np.logaddexp(0.0, -towards_gold)
        residual = sign * np.exp(-np.logaddexp(0.0, towards_gold))
        return Differences(losses.sum(axis=1), self.linear.products(batch, residual))

    def label_probabilities(self, w: FloatVector, batch: IntVector) -> FloatMatrix:
        """The probability of each label: a logistic function."""
        return np.exp(-np.logaddexp(0.0, -self.single(w, batch)))

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """For each label of each example, the best of the sets that are wrong there."""
        gold, n_labels = self.gold[batch], self.linear.n_labels
        single = self.single(w, batch)
        best = (single > 0.0).astype(np.int32)
        sets = np.repeat(best[:, None], n_labels, axis=1)
        labels = np.arange(n_labels)
        sets[:, labels, labels] = 1 - gold
        gains = ((sets - gold[:, None]) * single[:, None]).sum(axis=2)
        return self._violators(batch, sets, gains)


class EnumeratedMultilabel(MultilabelExamples):
    """With P and so few labels that all sets can be listed: everything is exact."""

    def __init__(
        self, features: Rows, n_features: int, n_labels: int, gold: IntMatrix | None = None, **options: Any
    ) -> None:
        if n_labels > MOST_LISTED:
            raise DataError(f"the sets of {n_labels} labels are too many to be listed; {MOST_LISTED} labels are most")
        super().__init__(features, n_features, n_labels, gold, **options)
        self.sets = (np.arange(1 << n_labels)[:, None] >> np.arange(n_labels)) & 1
        self.work = self.work + len(self.sets) / 500

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntMatrix:
        """The best set of each example."""
        best = [scores.argmax(axis=1) for _, scores in self._tables(w, batch, error_scale)]
        return self.sets[np.concatenate(best)].astype(np.int32)

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntMatrix]:
        """The batch with each example repeated once per output, and their `k` best sets, best first."""
        tables = self._tables(w, batch, error_scale)
        best = np.concatenate([np.argsort(-scores, axis=1, kind="stable")[:, :k] for _, scores in tables])
        return np.repeat(batch, best.shape[1]), self.sets[best.ravel()].astype(np.int32)

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p(gold) and φ(x, gold) − E[φ(x, y)], by summing over all sets."""
        n_labels, losses, residuals, rests = self.linear.n_labels, [], [], []
        for part, scores in self._tables(w, batch, error_scale):
            gold = self.gold[part]
            most = scores.max(axis=1)
            at_gold = scores[np.arange(len(part)), self._numbers(gold)] - most
            p = np.exp(scores - most[:, None])
            total = p.sum(axis=1)
            expected = (subset_sums(p, n_labels) / total[:, None]).reshape(-1, n_labels, n_labels)
            losses.append(np.maximum(np.log(total) - at_gold, 0.0))
            residuals.append(gold - np.diagonal(expected, axis1=1, axis2=2))
            in_pairs = (gold[:, self.first] * gold[:, self.second]).astype(np.float64)
            rests.append(compressed(in_pairs - expected[:, self.first, self.second]))
        psi = self.linear.products(batch, np.concatenate(residuals), stack(rests))
        return Differences(np.concatenate(losses), psi)

    def label_probabilities(self, w: FloatVector, batch: IntVector) -> FloatMatrix:
        """The probability of each label, by summing over all sets."""
        rows = [np.exp(scores - scores.max(axis=1, keepdims=True)) for _, scores in self._tables(w, batch)]
        return np.concatenate([p @ self.sets / p.sum(axis=1, keepdims=True) for p in rows])

    def decode_slack(self, w: FloatVector, batch: IntVector) -> IntMatrix:
        """The worst set of each example under slack scaling."""
        worst = []
        for part, scores in self._tables(w, batch):
            number, position = self._numbers(self.gold[part]), np.arange(len(part))
            no_pairs = np.zeros((self.linear.n_labels, self.linear.n_labels))
            signed = (1.0 - 2.0 * self.gold[part]) * self.costs
            errors = (self.gold[part] * self.costs).sum(axis=1, keepdims=True) + subset_scores(signed, no_pairs)
            values = errors * (1.0 + scores - scores[position, number][:, None])
            # Errors are sums, and rounding may leave a little where the error is zero.
            values[position, number] = 0.0
            worst.append(np.where(values.max(axis=1) > 0.0, values.argmax(axis=1), number))
        return self.sets[np.concatenate(worst)].astype(np.int32)

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """For each label of each example, the best of the sets that are wrong there."""
        best, gains = [], []
        for part, scores in self._tables(w, batch):
            above_gold = scores - scores[np.arange(len(part)), self._numbers(self.gold[part])][:, None]
            wrong = [
                np.where(has != self.gold[part, label][:, None], above_gold, -np.inf)
                for label, has in enumerate(self.sets.T)
            ]
            best.append(np.stack([values.argmax(axis=1) for values in wrong], axis=1))
            gains.append(np.stack([values.max(axis=1) for values in wrong], axis=1))
        return self._violators(batch, self.sets[np.concatenate(best)].astype(np.int32), np.concatenate(gains))

    def _tables(
        self, w: FloatVector, batch: IntVector, error_scale: Scale = 0.0
    ) -> Iterator[tuple[IntVector, FloatMatrix]]:
        """The batch in parts, each with the scores of all sets, a row per example."""
        single, pairs, size = self.single(w, batch, error_scale), self.pairs(w), max(1, TABLE // len(self.sets))
        for begin in range(0, max(len(batch), 1), size):
            yield batch[begin : begin + size], subset_scores(single[begin : begin + size], pairs)

    def _numbers(self, sets: IntMatrix) -> LongVector:
        return sets.astype(np.int64) @ (1 << np.arange(self.linear.n_labels))


class SearchedMultilabel(MultilabelExamples):
    """With P and any number of labels: good sets are searched for, and nothing is proven."""

    exact = False

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntMatrix:
        """The best set of each example that climbing from several starts finds."""
        return search_subsets(self.single(w, batch, error_scale), self.pairs(w))


def multilabel_kind(n_labels: int, *, pairwise: bool) -> type[MultilabelExamples]:
    """The kind of examples for this many labels."""
    if not pairwise:
        return IndependentMultilabel
    return EnumeratedMultilabel if n_labels <= MOST_LISTED else SearchedMultilabel
