"""First-order chains: sequence labelling.

    ⟨w, φ(x, y)⟩ = begin[y_1] + Σ_t Σ_f x_tf W[f, y_t] + Σ_{t>1} (T[y_t-1, y_t] + Σ_g z_tg G[g, y_t-1, y_t]) + end[y_n]

x_t are the features of position t, z_t its optional features on the transition into it. The weights are one flat
vector that holds, in this order, W (features × labels), T (labels × labels), begin, end and G. The error of a sequence
is Σ_t costs[truth_t, y_t], by default the number of wrong labels; truth_t is the gold label, or what is known of it
(`PartialChainExamples`). The structure is `structures.chain`, the linear map is `tasks.tag.features`.
"""

from typing import ClassVar

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.sparse import NO_ROWS, Rows, sums
from widemargin.errors import DataError
from widemargin.structures.chain import Chain
from widemargin.structures.costs import LabelCosts
from widemargin.tasks.tag.features import ChainFeatures, ChainShape
from widemargin.tasks.token_examples import LabelCounts, PartialTokens, TokenExamples, association


class ChainExamples(TokenExamples):
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

    def bounds_of(self, indptr: LongVector, allowed: BoolMatrix) -> LabelCosts:
        """Costs of −∞ for labels that are not `allowed` at a position; sequence i has those from `indptr[i]` on."""
        sets, choices = np.unique(allowed, axis=0, return_inverse=True)
        return LabelCosts(indptr, choices.ravel().astype(np.int32), np.where(sets, 0.0, -np.inf))

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


class PartialChainExamples(PartialTokens, ChainExamples):
    """Sequences with sets of labels for their positions: what is unknown is latent (Yu & Joachims 2009).

    For each position a set of labels is given, one of which is right: a single label where it is known, all labels
    where nothing is. Errors are counted against the sets, whatever labels complete them,

        Δ(ŷ) = Σ_t min over labels a of the set of t of cost[a, ŷ_t],

    which is 0 wherever ŷ_t is in the set. The best completion is decoded like any output, with an error of −∞ for
    labels outside the sets.

    Parameters
    ----------
    shape, indptr, features, transition_features : as for `ChainExamples`
    known : for each position its label, or, from L on, a row of `sets`
    sets : (K, L) the labels of each set; none is empty
    costs : (L, L) as for `ChainExamples`
    """

    def __init__(
        self,
        shape: ChainShape,
        indptr: LongVector,
        features: Rows,
        known: IntVector,
        sets: BoolMatrix,
        *,
        costs: FloatMatrix | None = None,
        transition_features: Rows | None = None,
    ) -> None:
        if sets.shape != (len(sets), shape.n_labels) or not np.all(sets.any(axis=1)):
            raise DataError(f"sets of labels must be rows of {shape.n_labels} truth values, at least one of them true")
        self.allowed: BoolMatrix = np.concatenate([np.eye(shape.n_labels, dtype=bool), sets])
        if len(known) and not 0 <= known.min() <= known.max() < len(self.allowed):
            raise DataError(f"there are {len(self.allowed)} labels and sets, but known has a number beyond them")
        costs = 1.0 - np.eye(shape.n_labels) if costs is None else costs
        least = [costs[each].min(axis=0) for each in sets]
        some = self.allowed.argmax(axis=1).astype(np.int32)[known]
        super().__init__(
            shape,
            indptr,
            features,
            some,
            costs=np.concatenate([costs, np.reshape(least, (-1, shape.n_labels))]),
            truth=known,
            transition_features=transition_features,
        )
        self.limits = LabelCosts(indptr, known, np.where(self.allowed, 0.0, -np.inf))

    @property
    def informative(self) -> BoolVector:
        """Whether anything is known of each sequence: whether any of its outputs has an error."""
        matters = np.any(self.costs.costs, axis=1)[self.costs.truth]
        return sums(matters, self.indptr) > 0

    @property
    def n_unknown(self) -> int:
        """The number of positions whose label is not known exactly."""
        return int(np.count_nonzero(self.costs.truth >= self.shape.n_labels))

    def completed(self, completions: IntVector) -> ChainExamples:
        """The same sequences with these gold labels; errors are counted against the sets as before."""
        truth = self.costs.truth
        if len(completions) != len(truth) or not np.all(self.allowed[truth, completions]):
            raise DataError("completions must have a label of its set for every position")
        return ChainExamples(
            self.shape,
            self.indptr,
            self.features.rows,
            completions,
            costs=self.costs.costs,
            truth=truth,
            transition_features=self.features.transition_rows,
        )

    def guess(self, rng: np.random.Generator) -> IntVector:
        """A label of its set for every position, each equally likely."""
        sizes, labels = self.allowed.sum(axis=1), np.nonzero(self.allowed)[1]
        known = self.costs.truth
        drawn = (rng.random(len(known)) * sizes[known]).astype(np.int64)
        return labels[(np.cumsum(sizes) - sizes)[known] + drawn].astype(np.int32)

    def naive_bayes(self) -> FloatVector:
        """W[f, l] = log p(l | f) / p(l) and T[k, l] = log p(l | k)."""
        shape, truth, n = self.shape, self.costs.truth, self.shape.n_labels
        w = np.zeros(shape.n_weights)
        parts = shape.parts(w)
        parts.emission[:] = association(self.features.rows, shape.n_features, truth, self.allowed)
        counts = LabelCounts(truth, self.allowed)
        after = np.ones(len(truth), dtype=bool)
        after[self.indptr[:-1][self.sizes > 0]] = False
        places = np.flatnonzero(after & (np.roll(truth, 1) < n))
        parts.transition[:] = counts.likely(places, truth[places - 1], n)
        return w
