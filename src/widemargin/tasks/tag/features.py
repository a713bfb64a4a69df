"""First-order chains: weights, features and examples of sequence labelling.

    ⟨w, φ(x, y)⟩ = begin[y_1] + Σ_t emission[t, y_t] + Σ_{t>1} transition[t, y_t-1, y_t] + end[y_n]

    emission[t, l] = Σ_f x_tf W[f, l]
    transition[t, k, l] = T[k, l] + Σ_g z_tg G[g, k, l],   one table for all t where there are no features z

x_t are the features of position t, z_t its optional features on the transition into it. The error of a sequence is
Σ_t costs[truth_t, y_t], by default the number of wrong labels; truth_t is the gold label, or the set of labels that
contains it (`PartialChainExamples`). The structure is `structures.chain`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.sparse import NO_ROWS, Rows, add_features, sums, transpose
from widemargin.errors import DataError
from widemargin.structures.chain import Chain
from widemargin.structures.costs import LabelCosts
from widemargin.structures.flat import Counts, Scores
from widemargin.structures.label_rows import LabelRows, add_label_scores, add_thin_label_scores, sum_by_row
from widemargin.structures.part_rows import distinct, runs
from widemargin.tasks.token_examples import (
    LabelCounts,
    LabelShape,
    LabelWeights,
    PartialTokens,
    TokenExamples,
    association,
    check_rows,
)


class ChainParts(NamedTuple):
    """The fields of `ChainWeights`."""

    emission: FloatMatrix
    shared: FloatVector
    conditional: FloatMatrix
    thin_emission: Rows = NO_ROWS


class ChainWeights(ChainParts, LabelWeights):
    """A weight vector as named arrays.

    `conditional[g]` is added to the scores of pairs where feature g is present.
    """

    __slots__ = ()


@dataclass(frozen=True)
class ChainShape(LabelShape):
    """The shape of a chain model: W (features × labels), then T, begin and end, then G."""

    weights: ClassVar[type[ChainWeights]] = ChainWeights

    n_labels: int
    n_features: int
    n_transition_features: int = 0

    def __post_init__(self) -> None:
        self.check_size(f"{self.n_features:,} features")

    @cached_property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the named arrays."""
        n = self.n_labels
        return (self.n_features, n), (n * (n + 2),), (self.n_transition_features, n, n)


@kernel
def _add_tables(
    indptr: LongVector,
    rows: Rows,
    conditional: FloatMatrix,
    shared: FloatMatrix,
    batch: IntVector,
    starts: LongVector,
    scores: FloatVector,
) -> None:
    """Write the transition scores of every position: the shared table plus the weights of its own features."""
    n_pairs = shared.shape[0] * shared.shape[1]
    flat, same = conditional.reshape(len(conditional), n_pairs), shared.reshape(n_pairs)
    for k in range(len(batch)):
        first, last = indptr[batch[k]], indptr[batch[k] + 1]
        # The scores of a sequence are laid out as n × L scores of labels, then n tables of L × L pairs.
        at_pairs = starts[k] + (last - first) * shared.shape[0]
        for t in range(last - first):
            table = scores[at_pairs + t * n_pairs : at_pairs + (t + 1) * n_pairs]
            for j in range(n_pairs):
                table[j] = same[j]
            add_features(rows, first + t, flat, table)


@kernel
def _put(
    indptr: LongVector, batch: IntVector, counts: Counts, c: FloatVector, out: FloatMatrix, shared: FloatVector
) -> None:
    """Write c times the counts of labels to the positions of the batch, and sum those of shared parts."""
    n_labels = out.shape[1]
    for j in range(len(shared)):
        shared[j] = 0.0
    for k in range(len(batch)):
        first, begin, n = indptr[batch[k]], counts.starts[k], counts.sizes[k]
        for t in range(n):
            for label in range(n_labels):
                out[first + t, label] = c[k] * counts.own[begin + t * n_labels + label]
        for j in range(len(shared)):
            shared[j] += c[k] * counts.shared[k, j]


class ChainFeatures(LabelRows):
    """The features of sequences (`structures.parts.Features`).

    Parameters
    ----------
    shape : of the weights
    indptr : (n + 1,) where each sequence begins among the positions
    features : the features of each position, a row per position
    transition_features : those on the transition into each position, or no rows
    """

    def __init__(
        self, shape: ChainShape, indptr: LongVector, features: Rows, transition_features: Rows = NO_ROWS
    ) -> None:
        super().__init__(features, shape.n_features, shape.n_labels, indptr=indptr, transition_rows=transition_features)
        self.shape, self.n_weights = shape, shape.n_weights

    @cached_property
    def work(self) -> FloatVector:
        """Microseconds per sequence, measured: 1 ns for 6 label pairs or 2 weights, 10 ns to fetch a feature's row."""
        n_labels, n_features = self.n_labels, len(self.rows.indices) / max(self.indptr[-1], 1)
        return self.sizes * (n_labels**2 / 6 + n_features * (10 + n_labels / 2)) / 1000

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        shape, n = self.shape, int(self.indptr[-1])
        check_rows("features", self.rows, n, "positions", shape.n_features)
        if shape.n_transition_features:
            check_rows("transition_features", self.transition_rows, n, "positions", shape.n_transition_features)

    def scores(self, w: FloatVector | ChainWeights, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features; the scores of shared parts are the weights themselves."""
        shape = self.shape
        weights = w if isinstance(w, ChainWeights) else shape.parts(w)
        if len(weights.emission):
            add_label_scores(self.indptr, self.rows, weights.emission, 0.0, batch, room.starts, room.own)
        else:
            thin = weights.thin_emission
            add_thin_label_scores(self.indptr, self.rows, thin, batch, room.starts, room.own, shape.n_labels)
        if shape.n_transition_features == 0:
            return room._replace(shared=weights.shared)
        given = weights.conditional, weights.transition, batch, room.starts, room.own
        _add_tables(self.indptr, self.transition_rows, *given)
        return room._replace(shared=weights.shared[shape.n_labels**2 :])

    def summed(self, batches: Sequence[IntVector]) -> "SummedFeatures | None":
        """Sums over all sequences; None with features on transitions."""
        return None if self.shape.n_transition_features else SummedFeatures(self, batches)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        shape = self.shape
        _, at_shared, after_end = shape.offsets
        read = [runs(distinct(self.rows, self.indptr, batch), shape.n_labels, 0), np.array([[at_shared, after_end]])]
        if shape.n_transition_features:
            read.append(runs(distinct(self.transition_rows, self.indptr, batch), shape.n_labels**2, after_end))
        return np.concatenate(read)


class SummedFeatures:
    """Σ_i c_i F_iᵀ z_i over all sequences (`structures.parts.Summed`), without a feature vector for each.

    Every sequence writes its coefficients of labels to rows of its own. Then each feature sums the rows of the
    positions where it occurs; the features are transposed once for this. No two threads ever add to the same number,
    and every sum has a fixed order.
    """

    def __init__(self, features: ChainFeatures, batches: Sequence[IntVector]) -> None:
        self.features, self.batches = features, batches
        shape = features.shape
        self.rows = np.zeros((int(features.indptr[-1]), shape.n_labels))
        self.shared = np.zeros((len(batches), shape.n_labels * (shape.n_labels + 2)))

    @cached_property
    def positions(self) -> Rows:
        """The positions where each feature occurs."""
        return transpose(self.features.rows, self.features.shape.n_features)

    def put(self, number: int, counts: Counts, c: FloatVector) -> None:
        """Store the coefficients of a batch."""
        _put(self.features.indptr, self.batches[number], counts, c, self.rows, self.shared[number])

    def total(self, n_threads: int) -> FloatVector:
        """The sum over all batches."""
        shape = self.features.shape
        total = np.empty(shape.n_weights)
        sum_by_row(self.positions, self.rows, shape.parts(total).emission, n_threads)
        self.shared.sum(axis=0, out=total[shape.n_features * shape.n_labels :])
        return total


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
        """Costs of −∞ for labels that are not `allowed` at a position; the rows of sequence i begin at `indptr[i]`."""
        sets, choices = np.unique(allowed, axis=0, return_inverse=True)
        return LabelCosts(indptr, choices.ravel().astype(np.int32), np.where(sets, 0.0, -np.inf))

    def digests(
        self,
        labels: LongVector | None = None,
        features: LongVector | None = None,
        transition_features: LongVector | None = None,
    ) -> list[bytes]:
        """A digest of each example after renumbering labels and features (`tasks.warm`)."""
        own, places = self.features, self.indptr
        assert self.costs.truth is self.gold  # digests do not cover sets of labels
        labels = np.arange(self.shape.n_labels) if labels is None else labels
        old = old_numbers(labels)
        parts = [(places, labels[self.gold]), *parts_of_rows(places, own.rows, features)]
        if self.shape.n_transition_features:
            parts += parts_of_rows(places, own.transition_rows, transition_features)
        return digests_of_parts([self.costs.costs[np.ix_(old, old)], len(parts)], *parts)


class PartialChainExamples(PartialTokens, ChainExamples):
    """Sequences with a set of possible labels per position; the right one is latent (Yu & Joachims 2009).

    One label of each set is right. The set has a single label if it is known, all labels if nothing is known. Errors
    are counted against the sets, whatever the completion,

        Δ(ŷ) = Σ_t min over labels a of the set of t of cost[a, ŷ_t],

    which is 0 wherever ŷ_t is in the set. The best completion is decoded like any output, with an error of −∞ for
    labels outside the sets.

    Parameters
    ----------
    known : for each position its label, or, from L on, a row of `sets`
    sets : (K, L) the labels of each set; none is empty
    others : as for `ChainExamples`
    """

    whole: ClassVar[type[ChainExamples]] = ChainExamples

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
        """Whether any output of each sequence has an error; if none has, nothing is known of the sequence."""
        matters = np.any(self.costs.costs, axis=1)[self.costs.truth]
        return sums(matters, self.indptr) > 0

    @property
    def n_unknown(self) -> int:
        """The number of positions whose label is not known exactly."""
        return int(np.count_nonzero(self.costs.truth >= self.shape.n_labels))

    def check_completions(self, completions: IntVector) -> None:
        """Raise unless every position has a label of its set."""
        truth = self.costs.truth
        if len(completions) != len(truth) or not np.all(self.allowed[truth, completions]):
            raise DataError("completions must have a label of its set for every position")

    def guess(self, rng: np.random.Generator) -> IntVector:
        """For every position, a label drawn uniformly from its set."""
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
