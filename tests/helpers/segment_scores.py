"""Part scores of segmentations, drawn at random, and what a segmentation scores."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.segmentations import segmentations
from widemargin.decoders.viterbi import Segmented


@st.composite
def part_scores(draw, score):
    """Tokens, longest segment and labels; what lies beyond the end of the sequence is not a number."""
    n, longest, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))

    def table(*size):
        return draw(arrays(np.float64, size, elements=score, fill=st.nothing()))

    segment = table(n, longest, n_labels)
    for t in range(n):
        segment[t, n - t :] = np.nan
    tables = n if draw(st.booleans()) else 1
    return Segmented(segment, table(tables, n_labels, n_labels), table(n_labels), table(n_labels))


def everything(parts):
    """All segmentations as wide as the scores."""
    n, longest, n_labels = parts[0].shape
    return segmentations(n, [longest] * n_labels)


def score(segments, segment, transition, begin, end):
    total = begin[segments[0][2]] + end[segments[-1][2]]
    total += sum(segment[t, u - t, y] for t, u, y in segments)
    tables = np.broadcast_to(transition, (len(segment), *transition.shape[1:]))
    return total + sum(tables[other[0], one[2], other[2]] for one, other in pairwise(segments))
