"""First-order chains: sequence labelling.

    ⟨w, φ(x, y)⟩ = begin[y_1] + Σ_t Σ_f x_tf W[f, y_t] + Σ_{t>1} (T[y_t-1, y_t] + Σ_g z_tg G[g, y_t-1, y_t]) + end[y_n]

x_t are the features of position t, z_t its optional features on the transition into it. The weights are one flat
vector that holds, in this order, W (features × labels), T (labels × labels), begin, end and G. The error of a sequence
is Σ_t costs[truth_t, y_t], by default the number of wrong labels; truth_t is the gold label, or what is known of it
(`tasks.tag.partial`). The structure is `structures.chain`, the linear map is `tasks.tag.features`.
"""

from typing import ClassVar

import numpy as np

from widemargin._types import FloatMatrix, IntVector, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.sparse import NO_ROWS, Rows
from widemargin.structures.chain import Chain
from widemargin.structures.examples import WithBestK, WithBestWrong, WithSums, WithThrough, WithWorst
from widemargin.structures.label_costs import LabelCosts
from widemargin.tasks.tag.features import ChainFeatures
from widemargin.tasks.tag.weights import ChainShape


class ChainExamples(WithBestK, WithBestWrong, WithWorst, WithThrough, WithSums):
    """Sequences with their gold labels (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    shape : of the weights
    indptr : (n + 1,) where each sequence begins among the positions
    features : the features of each position, a row per position
    gold : the gold label of each position; None when the sequences are only to be decoded
    costs : (L, L) error of predicting the column's label where the row's is right; None counts wrong labels. Rows from
        L on are for positions where only a set of labels is known.
    truth : the row of `costs` for each position; None for that of its gold label
    transition_features : the features on the transition into each position, a row per position
    """

    kind: ClassVar[type[ChainFeatures]] = ChainFeatures
    features: ChainFeatures
    costs: LabelCosts

    def __init__(
        self,
        shape: ChainShape,
        indptr: LongVector,
        features: Rows,
        gold: IntVector | None = None,
        *,
        costs: FloatMatrix | None = None,
        truth: IntVector | None = None,
        transition_features: Rows | None = None,
    ) -> None:
        gold = np.empty(0, dtype=np.int32) if gold is None else gold
        costs = 1.0 - np.eye(shape.n_labels) if costs is None else costs
        errors = LabelCosts(indptr, gold if truth is None else truth, costs)
        chain = Chain(shape.n_labels, by_position=shape.n_transition_features > 0)
        super().__init__(chain, self.kind(shape, indptr, features, transition_features or NO_ROWS), errors, gold)
        self._check()

    def _check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        self.features.check()
        self.costs.check(self.shape.n_labels, self.gold)

    @property
    def shape(self) -> ChainShape:
        """Of the weights."""
        return self.features.shape

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the positions."""
        return self.features.indptr

    def digests(
        self,
        labels: LongVector | None = None,
        features: LongVector | None = None,
        transition_features: LongVector | None = None,
    ) -> list[bytes]:
        """A digest of each example, with other numbers for labels and features (`tasks.warm`)."""
        own, places = self.features, self.indptr
        assert self.costs.truth is self.gold  # costs of what is known in part would have to be told apart, too
        labels = np.arange(self.shape.n_labels) if labels is None else labels
        old = old_numbers(labels)
        parts = [(places, labels[self.gold]), *parts_of_rows(places, own.rows, features)]
        if self.shape.n_transition_features:
            parts += parts_of_rows(places, own.transition_rows, transition_features)
        return digests_of_parts([self.costs.costs[np.ix_(old, old)], len(parts)], *parts)
