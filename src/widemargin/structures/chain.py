"""Chains: an output is a label for each position of a sequence.

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The own parts of a sequence of n positions and L labels are the labels of its positions (t L + l). If features make
positions differ, the pairs of labels that lead into each follow (n L + (t L + k) L + l). Otherwise all positions share
one table of pairs, (k L + l) among the shared parts. The first and the last label come last there.

Chains are segmentations into single tokens (`structures.segments`), and are searched as such. Training and prediction
spend their time on the best labels and on sums over all labels. So these have recursions of their own: Viterbi, and
forward–backward in probability space.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.structures.flat import Numbers, Scores, longest_of
from widemargin.structures.parts import Sums
from widemargin.structures.segments import SemiMarkov, segmented_of


class Sequence(NamedTuple):
    """The scores of one sequence; `transition` is (1, L, L) if all positions share one table, else (n, L, L)."""

    emission: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


@kernel
def sequence_of(scores: Scores, k: int, n_labels: int) -> Sequence:
    """The scores of sequence k."""
    one = segmented_of(scores, k, 1, n_labels)
    return Sequence(one.segment.reshape(len(one.segment), n_labels), one.transition, one.begin, one.end)


@kernel
def _best(scores: Scores, n_labels: int, outputs: IntVector) -> None:
    longest, at_ends = longest_of(scores.sizes), len(scores.shared) - 2 * n_labels
    prefix, arrival = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    reach, write = reach_of(scores.shared[:at_ends].reshape(at_ends // n_labels**2, n_labels, n_labels)), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, out = sequence_of(scores, k, n_labels), outputs[write : write + n]
            viterbi(one.emission, one.transition, reach, one.begin, one.end, prefix, arrival, out)
        write += n


@kernel
def _parts(sizes: LongVector, n_labels: int, by_position: bool, outputs: IntVector) -> tuple[LongVector, LongVector]:
    """At each position the label, then the pair or the first label; at the end the last label."""
    n_pairs = n_labels * n_labels
    indptr, numbers = np.zeros(len(sizes) + 1, np.int64), np.empty(2 * len(outputs) + len(sizes), np.int64)
    write = read = 0
    for k in range(len(sizes)):
        n, labels = sizes[k], outputs[read : read + sizes[k]]
        at_pairs, width = n * n_labels, n_pairs if by_position else 0
        at_begin = at_pairs + (n * n_pairs if by_position else n_pairs)
        for t in range(n):
            numbers[write] = t * n_labels + labels[t]
            numbers[write + 1] = at_begin + labels[0]
            if t > 0:
                numbers[write + 1] = at_pairs + t * width + labels[t - 1] * n_labels + labels[t]
            write += 2
        if n > 0:
            numbers[write] = at_begin + n_labels + labels[n - 1]
            write += 1
        read += n
        indptr[k + 1] = write
    return indptr, numbers[:write]


@dataclass(frozen=True, slots=True)
class Chain(SemiMarkov):
    """Label sequences; `by_position` says that each position has a table of transitions of its own."""

    n_labels: int
    by_position: bool = False
    longest: int = field(default=1, init=False, repr=False)

    def n_own(self, sizes: LongVector) -> LongVector:
        """Labels, and pairs if positions differ."""
        return sizes * (self.n_labels * (1 + self.n_labels) if self.by_position else self.n_labels)

    @property
    def n_shared(self) -> int:
        """Pairs unless positions differ, and first and last labels."""
        return self.n_labels * (2 if self.by_position else 2 + self.n_labels)

    def positions(self, sizes: LongVector) -> LongVector:
        """Those of the sequence."""
        return sizes

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """Labels, pairs, first and last labels."""
        return Numbers(*_parts(sizes, self.n_labels, self.by_position, outputs))

    def codes(self, outputs: IntVector) -> IntVector:
        """Labels as segments of one token."""
        return 2 * outputs + np.int32(1)

    def outputs(self, codes: IntVector) -> IntVector:
        """The labels of segments."""
        return np.right_shift(codes, 1, out=codes)

    def best(self, scores: Scores) -> IntVector:
        """The best labels (Viterbi)."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.n_labels, outputs)
        return outputs

    def sums(self, scores: Scores) -> Sums:
        """Forward–backward."""
        from widemargin.structures.chain_sums import chain_sums  # most taggers are trained without probabilities

        return chain_sums(scores, self.n_labels)
