"""The best segmentation that holds a given segment, written out.

One forward and one backward pass of `semimarkov` give the scores of all of them. The neighbours of a segment are traced
when they are asked for, and remembered: the paths through different segments soon merge.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.semimarkov import (
    backward,
    forward,
    last_length,
    next_label,
    next_length,
    previous_label,
    write_segment,
)


class Passes(NamedTuple):
    """The part scores of one sequence, its two passes, and the neighbours of segments that have been traced.

    Neighbours are (d, label), as d · L + label: before a segment that begins at t, after one that ends at u; −1 where
    they are not known yet.
    """

    segment: FloatMatrix
    transition: FloatMatrix
    arrival: FloatMatrix
    best: FloatMatrix
    departure: FloatMatrix
    onset: FloatMatrix
    before: IntMatrix
    after: IntMatrix


@kernel
def both_passes(segment: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector) -> Passes:
    """Run both passes; the part scores are as in `semimarkov`."""
    shape = len(segment), len(begin)
    arrival, best, departure, onset = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    before, after = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
    forward(segment, transition, begin, arrival, best)
    backward(segment, transition, end, departure, onset)
    return Passes(segment, transition, arrival, best, departure, onset, before, after)


@kernel
def write_through(passes: Passes, t: int, d: int, label: int, codes: IntVector) -> None:
    """Write the best segmentation that holds the segment of d + 1 tokens from t on with `label`."""
    n_labels = len(passes.transition)
    write_segment(t, d, label, codes)
    start, right = t, label
    while start > 0:
        if passes.before[start, right] < 0:
            left = previous_label(passes.transition, passes.arrival, passes.best, start, right)
            length = last_length(passes.segment, passes.arrival, passes.best, start - 1, left)
            passes.before[start, right] = length * n_labels + left
        length, right = passes.before[start, right] // n_labels, passes.before[start, right] % n_labels
        start -= length + 1
        write_segment(start, length, right, codes)
    last, left = t + d, label
    while last < len(codes) - 1:
        if passes.after[last, left] < 0:
            right = next_label(passes.transition, passes.departure, passes.onset, last, left)
            length = next_length(passes.segment, passes.departure, passes.onset, last + 1, right)
            passes.after[last, left] = length * n_labels + right
        length, left = passes.after[last, left] // n_labels, passes.after[last, left] % n_labels
        write_segment(last + 1, length, left, codes)
        last += length + 1
