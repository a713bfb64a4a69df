"""The weights of a chain: one flat vector for solvers, its parts for decoding, and a thin form for keeping."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
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
        labels, features = self.n_labels, self.n_features
        transition = features * labels
        begin = transition + labels * labels
        return ChainWeights(
            w[:transition].reshape(features, labels),
            w[transition:begin].reshape(labels, labels),
            w[begin : begin + labels],
            w[begin + labels : begin + 2 * labels],
            w[begin + 2 * labels :].reshape(self.n_transition_features, labels, labels),
        )


class ChainWeights(NamedTuple):
    """A weight vector seen as its parts; `conditional[g]` is added to `transition` where feature g is present.

    Trained weights are mostly zero. `thinned` turns their emission part into sparse rows, a row per feature, which take
    a fraction of the memory and of the time to sum; `emission` is then empty.
    """

    emission: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector
    conditional: FloatMatrix
    thin_emission: Rows = NO_ROWS

    def thinned(self) -> "ChainWeights":
        """The same weights with sparse rows of emission weights; rows that are not sparse are stored whole."""
        # Copies, so that the whole dense vector is not kept alive for the sake of its small parts.
        return ChainWeights(
            np.empty((0, len(self.begin))),
            self.transition.copy(),
            self.begin.copy(),
            self.end.copy(),
            self.conditional.copy(),
            compressed(self.emission),
        )

    def flat(self) -> FloatVector:
        """The flat weight vector."""
        emission = self.emission if len(self.emission) else expanded(self.thin_emission, len(self.begin))
        parts = (emission, self.transition, self.begin, self.end, self.conditional)
        return np.concatenate([part.ravel() for part in parts])
