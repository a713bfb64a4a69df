"""Examples with one class each, over linear scores.

⟨w, φ(x, y)⟩ = Σ_f x_f W[f, y] + intercept · bias[y],   Δ(y) = cost[gold, y], by default 1 where y is wrong
"""

import numpy as np

from widemargin._types import FloatMatrix, IntVector, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers
from widemargin.core.sparse import Rows
from widemargin.errors import DataError
from widemargin.structures.classes import Classes
from widemargin.structures.examples import WithBestK, WithSums, WithThrough, WithWorst
from widemargin.structures.label_costs import LabelCosts
from widemargin.structures.linear import LinearScores


class ClassExamples(WithBestK, WithWorst, WithThrough, WithSums):
    """Examples with their gold classes (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    features : the features of each example, a row per example
    n_features, n_classes : the shape of W
    gold : the number of each example's class; None when they are only to be decoded
    costs : (L, L) error of predicting the column's class where the row's is right; None counts wrong ones
    intercept : the value of the feature that all examples share; 0 for none
    """

    features: LinearScores
    costs: LabelCosts

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
        linear = LinearScores(features, n_features, n_classes, intercept)
        right = np.empty(0, dtype=np.int32) if gold is None else gold
        costs = 1.0 - np.eye(n_classes) if costs is None else costs
        n = linear.n_examples
        if gold is not None and not (len(gold) == n and np.isin(gold, np.arange(n_classes)).all()):
            raise DataError(f"gold must hold {n} class numbers from 0 to {n_classes - 1}")
        if costs.shape != (n_classes, n_classes) or np.diagonal(costs).any():
            raise DataError(f"costs must be {n_classes} × {n_classes} with zeros for right classes")
        super().__init__(Classes(n_classes), linear, LabelCosts(np.arange(n + 1), right, costs), right)

    @property
    def linear(self) -> LinearScores:
        """The scores of classes."""
        return self.features

    def digests(self, labels: LongVector | None = None, features: LongVector | None = None) -> list[bytes]:
        """A digest of each example, with other numbers for classes and features (`tasks.warm`)."""
        labels = np.arange(self.features.n_labels) if labels is None else labels
        old = old_numbers(labels)
        gold = np.arange(self.n_examples + 1), labels[self.gold]
        about = [self.costs.costs[np.ix_(old, old)], self.features.intercept]
        return digests_of_parts(about, gold, *self.features.parts(features))
