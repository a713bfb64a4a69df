"""The weights of a chain: one flat vector for solvers, its parts for decoding, and a thin form for keeping."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, BoolVector, FloatMatrix, FloatVector
from widemargin.core.sparse import NO_ROWS, Rows, compressed, expanded
from widemargin.errors import DataError


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


class ChainWeights(NamedTuple):
    """A weight vector seen as its parts.

    `shared` are the scores of pairs of labels, of first and of last labels; `conditional[g]` is added to those of pairs
    where feature g is present. Trained weights are mostly zero. `thinned` turns their emission part into sparse rows, a
    row per feature, which take a fraction of the memory and of the time to sum; `emission` is then empty.
    """

    emission: FloatMatrix
    shared: FloatVector
    conditional: FloatMatrix
    thin_emission: Rows = NO_ROWS

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return self.emission.shape[1]

    @property
    def transition(self) -> FloatMatrix:
        """The weights of pairs of labels, by the first."""
        return split(self.shared, self.n_labels)[0]

    @property
    def begin(self) -> FloatVector:
        """The weights of first labels."""
        return split(self.shared, self.n_labels)[1]

    @property
    def end(self) -> FloatVector:
        """The weights of last labels."""
        return split(self.shared, self.n_labels)[2]

    def thinned(self) -> "ChainWeights":
        """The same weights with sparse rows of emission weights; rows that are not sparse are stored whole."""
        # Copies, so that the whole dense vector is not kept alive for the sake of its small parts.
        shared, conditional = self.shared.copy(), self.conditional.copy()
        return ChainWeights(self.emission[:0].copy(), shared, conditional, compressed(self.emission))

    def limited(self, pairs: BoolMatrix, begins: BoolVector, ends: BoolVector) -> "ChainWeights":
        """The weights with only these pairs of labels, first labels and last labels."""
        return self._replace(shared=np.where(joined(pairs, begins, ends), self.shared, -np.inf))

    def flat(self) -> FloatVector:
        """The flat weight vector."""
        emission = self.emission if len(self.emission) else expanded(self.thin_emission, self.n_labels)
        return np.concatenate([part.ravel() for part in (emission, self.shared, self.conditional)])


def joined(transition: AnyArray, begin: AnyArray, end: AnyArray) -> AnyArray:
    """What there is for pairs of labels, by the first, for first labels and for last labels, as one vector."""
    return np.concatenate([transition.ravel(), begin, end])


def split(shared: FloatVector, n_labels: int) -> tuple[FloatMatrix, FloatVector, FloatVector]:
    """The weights of pairs of labels, of first labels and of last labels, as views."""
    at_begin, at_end = n_labels**2, n_labels**2 + n_labels
    return shared[:at_begin].reshape(n_labels, n_labels), shared[at_begin:at_end], shared[at_end:]
