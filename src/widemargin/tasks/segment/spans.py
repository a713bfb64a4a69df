"""Candidate spans and how segmentations are written down.

The candidate spans of a sequence are all spans of up to `longest` tokens, numbered by their first token, then by their
length; those of several sequences follow one another. A segmentation is a code per token: twice the label, plus one
where a segment begins.
"""

import numpy as np

from widemargin._types import IntVector, LongVector

Segment = tuple[int, int, int]
"""The first token, the last token and the label."""


def span_boundaries(indptr: LongVector, longest: int) -> LongVector:
    """The number of each token's first span, and at the end how many spans there are; sequences begin at `indptr`.

    >>> span_boundaries(np.array([0, 3, 4]), longest=2).tolist()
    [0, 2, 4, 5, 6]
    """
    tokens = np.arange(indptr[-1])
    ends = np.repeat(indptr[1:], np.diff(indptr))
    spans: LongVector = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum(np.minimum(ends - tokens, longest), out=spans[1:])
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
