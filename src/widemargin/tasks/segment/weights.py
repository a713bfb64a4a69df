"""The layout of segmentation models: weights, candidate spans, and the codes that segmentations are written in.

The candidate spans of a sequence are all spans of up to `longest` tokens, numbered by their first token, then by their
length; those of several sequences follow one another. A segmentation is a code per token: twice the label, plus one
where a segment begins. Weights have three forms: one flat vector for solvers, named arrays for decoding, sparse rows
(*thin*) for storage.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import NO_ROWS, Rows
from widemargin.errors import DataError
from widemargin.tasks.token_examples import LabelWeights

Segment = tuple[int, int, int]
"""The first token, the last token and the label."""


@kernel
def span_boundaries(indptr: LongVector, longest: int) -> LongVector:
    """The number of each token's first span, followed by the number of all spans; sequences begin at `indptr`.

    >>> span_boundaries(np.array([0, 3, 4]), longest=2).tolist()
    [0, 2, 4, 5, 6]
    """
    spans = np.zeros(indptr[-1] + 1, dtype=np.int64)
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            spans[t + 1] = spans[t] + min(longest, indptr[i + 1] - t)
    return spans


def encode(segments: list[Segment]) -> IntVector:
    """The codes of one sequence's segments, which follow one another without a gap.

    >>> encode([(0, 1, 3), (2, 2, 0)]).tolist()
    [7, 6, 1]
    """
    lengths = [last - first + 1 for first, last, _ in segments]
    codes: IntVector = np.repeat(np.array([2 * label for *_, label in segments], dtype=np.int32), lengths)
    codes[[first for first, *_ in segments]] += 1
    return codes


def segments_of(codes: IntVector) -> list[Segment]:
    """The segments of one sequence of codes.

    >>> segments_of(np.array([7, 6, 1]))
    [(0, 1, 3), (2, 2, 0)]
    """
    firsts = np.flatnonzero(codes & 1)
    lasts = firsts + np.diff(firsts, append=len(codes)) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), (codes[firsts] >> 1).tolist(), strict=True))


def gold_lengths(gold: IntVector) -> IntVector:
    """The length of the gold segment that begins at each token, 0 where none does.

    >>> gold_lengths(np.array([7, 6, 1, 1])).tolist()
    [2, 0, 1, 1]
    """
    begins = np.flatnonzero(gold & 1)
    lengths: IntVector = np.zeros(len(gold), dtype=np.int32)
    lengths[begins] = np.diff(begins, append=len(gold))
    return lengths


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

    @property
    def offsets(self) -> tuple[int, int, int]:
        """Where the weights of segment features, of lengths and of transitions begin."""
        at_segment = ROLES * self.n_features * self.n_labels
        at_length = at_segment + self.n_segment_features * self.n_labels
        return at_segment, at_length, at_length + self.longest * self.n_labels

    def parts(self, w: FloatVector) -> "SegmentWeights":
        """`w` as named arrays, which are views of it."""
        # Slices one by one: np.split takes as long as decoding a short sequence.
        n, L = self.n_features, self.n_labels
        at_segment, at_length, at_transition = self.offsets
        return SegmentWeights(
            w[:at_segment].reshape(n, ROLES * L),
            w[at_segment:at_length].reshape(self.n_segment_features, L),
            w[at_length:at_transition].reshape(self.longest, L),
            w[at_transition:],
        )


class SegmentParts(NamedTuple):
    """The fields of `SegmentWeights`."""

    roles: FloatMatrix
    segment: FloatMatrix
    length: FloatMatrix
    shared: FloatVector
    thin_roles: Rows = NO_ROWS
    thin_segment: Rows = NO_ROWS


class SegmentWeights(SegmentParts, LabelWeights):
    """A weight vector as named arrays.

    Row f of `roles` holds the labels' weights of token feature f at the first token of a segment, then at every token,
    then at the last; row d of `length` those of segments of d + 1 tokens.
    """

    __slots__ = ()
