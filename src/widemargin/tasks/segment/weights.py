"""The weights of a segmentation model: one flat vector for solvers, its parts for decoding, a thin form for keeping."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from widemargin.core.sparse import NO_ROWS, Rows, compressed, expanded
from widemargin.errors import DataError

BEGIN, INSIDE, END = range(3)
"""The roles in which a token's features count: as the first, as any, and as the last token of a segment."""
ROLES = 3


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The shape of a segmentation model: how the flat weight vector is laid out.

    `max_lengths` holds, for each label, how many tokens its segments may have. The vector holds, in this order,
    the weights of token features (features × roles × labels), of segment features (× labels), of lengths (× labels), of
    transitions (labels × labels), and of the labels of the first and the last segment.
    """

    n_labels: int
    n_features: int
    n_segment_features: int
    max_lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.max_lengths) != self.n_labels or min(self.max_lengths, default=0) < 1:
            raise DataError(f"max_lengths must hold a positive length for each of the {self.n_labels} labels")
        if self.n_weights > np.iinfo(np.int32).max:
            raise DataError(
                f"{self.n_features:,} token features in {ROLES} roles and {self.n_segment_features:,} segment features "
                f"× {self.n_labels} labels is more weights than can be indexed (2³¹); "
                "use a feature cut-off (min_count) or hashing"
            )

    @property
    def longest(self) -> int:
        """The most tokens that any segment may have."""
        return max(self.max_lengths)

    @property
    def n_weights(self) -> int:
        """The length of the flat weight vector."""
        rows = ROLES * self.n_features + self.n_segment_features + self.longest + self.n_labels + 2
        return rows * self.n_labels

    def parts(self, w: FloatVector) -> "SegmentWeights":
        """The parts of `w` as views of it."""
        # Slices one by one: np.split takes as long as decoding a short sequence.
        n, L = self.n_features, self.n_labels
        at_segment = ROLES * n * L
        at_length = at_segment + self.n_segment_features * L
        at_transition = at_length + self.longest * L
        at_begin = at_transition + L * L
        return SegmentWeights(
            w[:at_segment].reshape(n, ROLES * L),
            w[at_segment:at_length].reshape(self.n_segment_features, L),
            w[at_length:at_transition].reshape(self.longest, L),
            w[at_transition:at_begin].reshape(L, L),
            w[at_begin : at_begin + L],
            w[at_begin + L :],
        )


class SegmentWeights(NamedTuple):
    """A weight vector seen as its parts.

    Row f of `roles` holds the labels' weights of token feature f at the first token of a segment, then at every token,
    then at the last; row d of `length` those of segments of d + 1 tokens. In `thinned` weights, `roles` and `segment`
    are empty, and sparse rows take their place.
    """

    roles: FloatMatrix
    segment: FloatMatrix
    length: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector
    thin_roles: Rows = NO_ROWS
    thin_segment: Rows = NO_ROWS

    def thinned(self) -> "SegmentWeights":
        """The same weights with sparse rows of feature weights."""
        n_labels = len(self.begin)
        # Copies, so that the whole dense vector is not kept alive for the sake of its small parts.
        return SegmentWeights(
            np.empty((0, ROLES * n_labels)),
            np.empty((0, n_labels)),
            self.length.copy(),
            self.transition.copy(),
            self.begin.copy(),
            self.end.copy(),
            compressed(self.roles),
            compressed(self.segment),
        )

    def limited(self, pairs: BoolMatrix, begins: BoolVector, ends: BoolVector) -> "SegmentWeights":
        """The weights with only these pairs of labels, first labels and last labels."""
        kept = zip(("transition", "begin", "end"), (pairs, begins, ends), strict=True)
        return self._replace(**{part: np.where(mask, getattr(self, part), -np.inf) for part, mask in kept})

    def shared(self) -> FloatVector:
        """The scores of the parts that all sequences share: transitions, first and last labels."""
        return np.concatenate([self.transition.ravel(), self.begin, self.end])

    def flat(self) -> FloatVector:
        """The flat weight vector."""
        n_labels = len(self.begin)
        roles = self.roles if len(self.roles) else expanded(self.thin_roles, ROLES * n_labels)
        segment = self.segment if len(self.segment) else expanded(self.thin_segment, n_labels)
        return np.concatenate([part.ravel() for part in (roles, segment, *self[2:6])])
