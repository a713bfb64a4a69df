"""Sums over the segmentations of a batch (`decoders.semimarkov_sums`), and draws from their distribution."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix
from widemargin.decoders.log_sums import draw_one
from widemargin.decoders.semimarkov import step_to, write_segment
from widemargin.decoders.semimarkov_sums import forward_sums, new_segment_sums, semimarkov_sums
from widemargin.structures.flat import Counts, Scores, longest_of
from widemargin.structures.segments import segmented_of, table_of


@kernel
def segment_sums(scores: Scores, longest: int, n_labels: int, log_z: FloatVector, counts: Counts) -> None:
    """Write log Z of each sequence, and the expected counts of segments, pairs, first and last labels."""
    room, at_begin = new_segment_sums(longest_of(scores.sizes), n_labels), n_labels * n_labels
    for k in range(len(scores.sizes)):
        n, log_z[k] = scores.sizes[k], 0.0
        if n == 0:
            continue
        one, shared = segmented_of(scores, k, longest, n_labels), counts.shared[k]
        segments, pairs = table_of(counts.own, counts.starts[k], n, longest, n_labels), shared[:at_begin]
        log_z[k] = semimarkov_sums(one, room, segments, pairs.reshape(1, n_labels, n_labels))
        first, last = shared[at_begin : at_begin + n_labels], shared[at_begin + n_labels :]
        for d in range(segments.shape[1]):
            for label in range(n_labels):
                first[label] += segments[0, d, label]
                last[label] += segments[n - 1 - d, d, label]


@kernel
def sample_segmentations(
    scores: Scores, longest: int, n_labels: int, uniforms: FloatMatrix, outputs: IntMatrix
) -> None:
    """Write a draw of every sequence to each row of `outputs`: a forward pass, then segments from the last on.

    `uniforms` holds, for each token that may be the last of a segment, a random number for its label and one for its
    length, which it needs if there is a choice.
    """
    room, write = new_segment_sums(longest_of(scores.sizes), n_labels), 0
    labels, lengths = np.empty(n_labels), np.empty(longest)
    for k in range(len(scores.sizes)):
        n, one = scores.sizes[k], segmented_of(scores, k, longest, n_labels)
        if n > 0:
            forward_sums(one, room)
        for draw in range(len(outputs)):
            u, following = n - 1, 0
            while u >= 0:
                for label in range(n_labels):
                    after = one.end[label] if u == n - 1 else step_to(one, u + 1)[label, following]
                    labels[label] = room.passes.best[u, label] + after
                following = draw_one(labels, uniforms[draw, write + u, 0])
                most = min(longest, u + 1)
                for d in range(most):
                    lengths[d] = room.passes.arrival[u - d, following] + one.segment[u - d, d, following]
                d = draw_one(lengths[:most], uniforms[draw, write + u, -1])
                write_segment(u - d, d, following, outputs[draw, write : write + n])
                u -= d + 1
        write += n
