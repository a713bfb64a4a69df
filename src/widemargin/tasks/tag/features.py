"""Weights and features of chains: θ = F w, from weights to the scores of labels and pairs of labels, and back.

    emission[t, l] = Σ_f x_tf W[f, l]
    transition[t, k, l] = T[k, l] + Σ_g z_tg G[g, k, l],   one table for all t where there are no features z

x_t are the features of position t, z_t its optional features on the transition into it. The weights are one flat vector
for solvers, its parts for decoding, and a thin form for keeping.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import (
    FloatMatrix,
    FloatVector,
    IntVector,
    LongMatrix,
    LongVector,
)
from widemargin.core.sparse import NO_ROWS, Rows, add_features, compressed, expanded, transposed
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Scores
from widemargin.structures.label_rows import LabelRows, add_label_scores, add_thin_label_scores, sum_by_row
from widemargin.structures.support import distinct, runs
from widemargin.tasks.token_examples import LabelWeights, check_rows


@dataclass(frozen=True, slots=True)
class ChainShape:
    """The shape of a chain model: how the flat weight vector is laid out."""

    n_labels: int
    n_features: int
    n_transition_features: int = 0

    def __post_init__(self) -> None:
        if self.n_weights > np.iinfo(np.int32).max:
            raise DataError(
                f"{self.n_features:,} features × {self.n_labels} labels is more weights than can be indexed (2³¹); "
                "use a feature cut-off (min_count) or hashing"
            )

    @property
    def n_weights(self) -> int:
        """The length of the flat weight vector."""
        labels = self.n_labels
        return (self.n_features + self.n_transition_features * labels + labels + 2) * labels

    def parts(self, w: FloatVector) -> "ChainWeights":
        """The parts of `w` as views of it."""
        labels, after_emission = self.n_labels, self.n_features * self.n_labels
        after_shared = after_emission + (labels + 2) * labels
        return ChainWeights(
            w[:after_emission].reshape(self.n_features, labels),
            w[after_emission:after_shared],
            w[after_shared:].reshape(self.n_transition_features, labels, labels),
        )


class ChainParts(NamedTuple):
    """The fields of `ChainWeights`."""

    emission: FloatMatrix
    shared: FloatVector
    conditional: FloatMatrix
    thin_emission: Rows = NO_ROWS


class ChainWeights(ChainParts, LabelWeights):
    """A weight vector seen as its parts.

    `conditional[g]` is added to the scores of pairs where feature g is present. Trained weights are mostly zero.
    `thinned` turns their emission part into sparse rows, a row per feature, which take a fraction of the memory and of
    the time to sum; `emission` is then empty.
    """

    __slots__ = ()

    def thinned(self) -> "ChainWeights":
        """The same weights with sparse rows of emission weights; rows that are not sparse are stored whole."""
        # Copies, so that the whole dense vector is not kept alive for the sake of its small parts.
        shared, conditional = self.shared.copy(), self.conditional.copy()
        return ChainWeights(self.emission[:0].copy(), shared, conditional, compressed(self.emission))

    def flat(self) -> FloatVector:
        """The flat weight vector."""
        emission = self.emission if len(self.emission) else expanded(self.thin_emission, self.n_labels)
        return np.concatenate([part.ravel() for part in (emission, self.shared, self.conditional)])


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
    """The transition scores of positions that have features of their own."""
    n_pairs = shared.shape[0] * shared.shape[1]
    flat, same = conditional.reshape(len(conditional), n_pairs), shared.reshape(n_pairs)
    for k in range(len(batch)):
        first, last = indptr[batch[k]], indptr[batch[k] + 1]
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
        """Measured: a nanosecond for 6 label pairs and for 2 weights of features, ten to fetch a feature's weights."""
        n_labels, n_features = self.n_labels, len(self.rows.indices) / max(self.indptr[-1], 1)
        return self.sizes * (n_labels**2 / 6 + n_features * (10 + n_labels / 2)) / 1000

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        shape, n = self.shape, int(self.indptr[-1])
        check_rows("features", self.rows, n, "positions", shape.n_features)
        if shape.n_transition_features:
            check_rows("transition_features", self.transition_rows, n, "positions", shape.n_transition_features)

    def scores(self, w: FloatVector | ChainWeights, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features; those of shared parts are the weights themselves."""
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
        """Sums over all sequences; not with features on transitions."""
        return None if self.shape.n_transition_features else SummedFeatures(self, batches)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        shape = self.shape
        after_end = self.n_linear + shape.n_labels * (shape.n_labels + 2)
        shared = np.array([[self.n_linear, after_end]])
        read = [runs(distinct(self.rows, self.indptr, batch), shape.n_labels, 0), shared]
        if shape.n_transition_features:
            read.append(runs(distinct(self.transition_rows, self.indptr, batch), shape.n_labels**2, after_end))
        return np.concatenate(read)


class SummedFeatures:
    """Σ_i c_i F_iᵀ z_i over all sequences (`structures.parts.Summed`), with no row for any of them.

    Every sequence writes its coefficients of labels to rows of its own. Then each feature sums the rows of its
    positions, for which the features are transposed once. No two threads ever add to the same number, and every sum
    has a fixed order.
    """

    def __init__(self, features: ChainFeatures, batches: Sequence[IntVector]) -> None:
        self.features, self.batches = features, batches
        shape = features.shape
        self.rows = np.zeros((int(features.indptr[-1]), shape.n_labels))
        self.shared = np.zeros((len(batches), shape.n_labels * (shape.n_labels + 2)))

    @cached_property
    def positions(self) -> Rows:
        """The positions of each feature."""
        return transposed(self.features.rows, self.features.shape.n_features)

    def put(self, number: int, counts: Counts, c: FloatVector) -> None:
        """Take the coefficients of a batch."""
        _put(self.features.indptr, self.batches[number], counts, c, self.rows, self.shared[number])

    def total(self, n_threads: int) -> FloatVector:
        """The sum over all batches."""
        shape = self.features.shape
        total = np.empty(shape.n_weights)
        sum_by_row(self.positions, self.rows, shape.parts(total).emission, n_threads)
        self.shared.sum(axis=0, out=total[shape.n_features * shape.n_labels :])
        return total
