"""Examples with a class or a set of labels each, over linear scores.

    ⟨w, φ(x, y)⟩ = Σ_f x_f W[f, y] + intercept · bias[y],   Δ(y) = cost[gold, y], by default 1 where y is wrong

A set of labels adds up the scores of its labels, and with pairs those of P (`structures.label_sets`). P follows W and
bias in the flat weight vector, row by row above its diagonal.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core import checks
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.oracle import PASS_BATCH
from widemargin.core.sparse import Rows, distinct_entries
from widemargin.decoders.subsets import MOST_LISTED
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.classes import Classes
from widemargin.structures.costs import LabelCosts
from widemargin.structures.examples import PartExamples, WithBestK, WithPositions, WithSums, WithThrough, WithWorst
from widemargin.structures.label_rows import LabelRows
from widemargin.structures.label_sets import LabelSets, ListedSets, SearchedSets, SetCosts


def _linear(rows: Rows, n_features: int, n_labels: int, intercept: float, n_pairs: int = 0) -> LabelRows:
    """The features of examples, checked here because kernels do not check."""
    if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < n_features:
        raise DataError(f"features has an index outside 0 … {n_features - 1}")
    if (n_features + bool(intercept)) * n_labels + n_pairs > np.iinfo(np.int32).max:
        raise DataError(f"{n_features:,} features × {n_labels} labels is more weights than can be indexed (2³¹)")
    return LabelRows(distinct_entries(rows, n_features), n_features, n_labels, intercept=intercept, n_shared=n_pairs)


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

    features: LabelRows
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
        linear, n = _linear(features, n_features, n_classes, intercept), len(features.indptr) - 1
        right = np.empty(0, dtype=np.int32) if gold is None else gold
        costs = 1.0 - np.eye(n_classes) if costs is None else costs
        if gold is not None and not (len(gold) == n and np.isin(gold, np.arange(n_classes)).all()):
            raise DataError(f"gold must hold {n} class numbers from 0 to {n_classes - 1}")
        if costs.shape != (n_classes, n_classes) or np.diagonal(costs).any():
            raise DataError(f"costs must be {n_classes} × {n_classes} with zeros for right classes")
        super().__init__(Classes(n_classes), linear, LabelCosts(linear.indptr, right, costs), right)

    def digests(self, labels: LongVector | None = None, features: LongVector | None = None) -> list[bytes]:
        """A digest of each example after renumbering classes and features (`tasks.warm`)."""
        own, labels = self.features, np.arange(self.features.n_labels) if labels is None else labels
        old = old_numbers(labels)
        about = [self.costs.costs[np.ix_(old, old)], own.intercept]
        return digests_of_parts(about, (own.indptr, labels[self.gold]), *parts_of_rows(own.indptr, own.rows, features))


class MultilabelExamples(PartExamples):
    """Examples with their gold sets of labels (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    features : the features of each example, a row per example
    n_features, n_labels : the shape of W
    gold : (n, K) indicators; None when the examples are only to be decoded
    costs : (K,) the error of each wrong label; None counts them
    intercept : the value of the feature that all examples share; 0 for none
    """

    kind: ClassVar[type[LabelSets | ListedSets | SearchedSets]]
    features: LabelRows
    costs: SetCosts

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
        n, n_pairs = len(features.indptr) - 1, n_labels * (n_labels - 1) // 2 if self.kind.pairwise else 0
        _check_pairs(n_labels, n_pairs, n if gold is not None else 1)
        right = np.zeros((0, n_labels), dtype=np.int32) if gold is None else gold
        costs = np.ones(n_labels) if costs is None else costs
        if gold is not None and not (
            gold.shape == (n, n_labels) and 0 <= gold.min(initial=0) <= gold.max(initial=0) <= 1
        ):
            raise DataError(f"gold must be a matrix of 0 and 1, {n} × {n_labels}")
        if costs.shape != (n_labels,):
            raise DataError(f"costs must be {n_labels} numbers, one for each label")
        linear = _linear(features, n_features, n_labels, intercept, n_pairs)
        super().__init__(self.kind(n_labels), linear, SetCosts(right, costs), right)

    def violator_bytes(self) -> FloatVector:
        """The most memory of violators: a set for each label, in several copies, and its ψ if it is all wrong."""
        return self.features.n_labels**2 * (BYTES_PER_ENTRY * (np.diff(self.features.rows.indptr) + 1.0) + 40.0)

    def digests(self, labels: LongVector | None = None, features: LongVector | None = None) -> list[bytes]:
        """A digest of each example after renumbering labels and features (`tasks.warm`).

        Labels are also positions of outputs, so examples are the same only if all labels are.
        """
        own, labels = self.features, np.arange(self.features.n_labels) if labels is None else labels
        about = [labels, self.costs.costs, own.intercept, self.kind.pairwise]
        gold = own.indptr * own.n_labels, self.gold.ravel()
        return digests_of_parts(about, gold, *parts_of_rows(own.indptr, own.rows, features))


class IndependentMultilabel(MultilabelExamples, WithPositions, WithSums):
    """Without P: every label is decided by itself."""

    kind = LabelSets


class EnumeratedMultilabel(MultilabelExamples, WithBestK, WithWorst, WithPositions, WithSums):
    """With P and so few labels that all sets can be listed: everything is exact."""

    kind = ListedSets

    @cached_property
    def work(self) -> FloatVector:
        """Two nanoseconds more for each set."""
        return self.features.work + 2**self.features.n_labels / 500


class SearchedMultilabel(MultilabelExamples):
    """With P and any number of labels: good sets are searched for, and nothing is proven."""

    kind = SearchedSets
    exact = False


def multilabel_kind(n_labels: int, *, pairwise: bool) -> type[MultilabelExamples]:
    """The kind of examples for this many labels."""
    if not pairwise:
        return IndependentMultilabel
    return EnumeratedMultilabel if n_labels <= MOST_LISTED else SearchedMultilabel


def _check_pairs(n_labels: int, n_pairs: int, n_examples: int) -> None:
    """Raise if the cuts of a batch of examples may not fit into memory.

    Before anything is learnt, the most violated set of an example holds all labels but its own, so its cut has an entry
    for nearly every pair.
    """
    together = min(n_examples, PASS_BATCH)
    if n_pairs * together * BYTES_PER_ENTRY > checks.MOST_BYTES:
        raise UnsupportedError(
            f"{n_labels:,} labels have {n_pairs:,} pairs, and {together:,} examples at a time would need up to "
            f"{n_pairs * together * BYTES_PER_ENTRY / 1e9:.3g} GB for their weights; the limit is "
            f"{checks.MOST_BYTES / 1e9:.3g} GB. Use pairwise=False (--no-pairwise), which decides each label alone, "
            "however many there are"
        )
