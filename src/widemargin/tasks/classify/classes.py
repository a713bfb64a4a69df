"""Classes: the simplest structure, one label out of several for a whole example (Crammer & Singer 2001).

    ⟨w, φ(x, y)⟩ = Σ_f x_f W[f, y] + intercept · bias[y],   Δ(y) = cost[gold, y], by default 1 where y is wrong

All outputs can be listed, so each optional ability (`core.examples`) is a line on the matrix of all scores.
"""

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import Rows
from widemargin.errors import DataError
from widemargin.structures.linear import LinearScores


class ClassExamples:
    """Examples with their gold classes (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    features : the features of each example, a row per example
    n_features, n_classes : the shape of W
    gold : the number of each example's class; None when they are only to be decoded
    costs : (L, L) error of predicting the column's class where the row's is right; None counts wrong ones
    intercept : the value of the feature that all examples share; 0 for none
    """

    exact = True

    def __init__(
        self,
        features: Rows,
        n_features: int,
        n_classes: int,
        gold: IntVector | None = None,
        *,
        costs: FloatMatrix | None = None,
        intercept: float = 0.0,
    ) -> None:
        self.linear = LinearScores(features, n_features, n_classes, intercept)
        self.n_examples, self.n_weights, self.work = self.linear.n_examples, self.linear.n_weights, self.linear.work
        self.gold = np.empty(0, dtype=np.int32) if gold is None else gold
        self.costs = 1.0 - np.eye(n_classes) if costs is None else costs
        if gold is not None and not (len(gold) == self.n_examples and np.isin(gold, np.arange(n_classes)).all()):
            raise DataError(f"gold must hold {self.n_examples} class numbers from 0 to {n_classes - 1}")
        if self.costs.shape != (n_classes, n_classes) or np.diagonal(self.costs).any():
            raise DataError(f"costs must be {n_classes} × {n_classes} with zeros for right classes")

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best class of each example."""
        return self._scores(w, batch, error_scale).argmax(axis=1).astype(np.int32)

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntVector]:
        """The batch with each example repeated once per output, and their `k` best classes, best first."""
        order = np.argsort(-self._scores(w, batch, error_scale), axis=1, kind="stable")[:, :k]
        return np.repeat(batch, order.shape[1]), order.ravel().astype(np.int32)

    def max_marginals(self, w: FloatVector, batch: IntVector) -> FloatMatrix:
        """A row for each example: the score of every class."""
        return self.linear.scores(w, batch)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of the classes `outputs`."""
        gold, position = self.gold[batch], np.arange(len(batch))
        residual = np.zeros((len(batch), self.linear.n_labels))
        residual[position, gold] += 1.0
        residual[position, outputs] -= 1.0
        return Differences(self.costs[gold, outputs], self.linear.products(batch, residual))

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p(gold) and φ(x, gold) − E[φ(x, y)]: multinomial logistic regression where errors do not count."""
        gold, position = self.gold[batch], np.arange(len(batch))
        scores = self._scores(w, batch, error_scale)
        scores -= scores.max(axis=1, keepdims=True)
        residual = -np.exp(scores)
        total = -residual.sum(axis=1)
        residual /= total[:, None]
        residual[position, gold] += 1.0
        losses = np.maximum(np.log(total) - scores[position, gold], 0.0)
        return Differences(losses, self.linear.products(batch, residual))

    def decode_slack(self, w: FloatVector, batch: IntVector) -> IntVector:
        """The worst class of each example under slack scaling."""
        gold = self.gold[batch]
        scores = self.linear.scores(w, batch)
        values = self.costs[gold] * (1.0 + scores - scores[np.arange(len(batch)), gold][:, None])
        worst = values.argmax(axis=1)
        return np.where(values.max(axis=1) > 0.0, worst, gold).astype(np.int32)

    @property
    def n_positions(self) -> LongVector:
        """One position per example."""
        return np.ones(self.n_examples, dtype=np.int64)

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """The worst outputs of slack scaling, since an example has a single position."""
        return self.difference(batch, self.decode_slack(w, batch))

    def digests(self, labels: LongVector | None = None, features: LongVector | None = None) -> list[bytes]:
        """A digest of each example, with other numbers for classes and features (`tasks.warm`)."""
        labels = np.arange(self.linear.n_labels) if labels is None else labels
        old = old_numbers(labels)
        gold = np.arange(self.n_examples + 1), labels[self.gold]
        return digests_of_parts(
            [self.costs[np.ix_(old, old)], self.linear.intercept], gold, *self.linear.parts(features)
        )

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and the biases."""
        return self.linear.support(batch)

    def _scores(self, w: FloatVector, batch: IntVector, error_scale: Scale) -> FloatMatrix:
        scores = self.linear.scores(w, batch)
        scales = per_example(error_scale, batch)
        if scales.any():
            scores += scales[:, None] * self.costs[self.gold[batch]]
        return scores
