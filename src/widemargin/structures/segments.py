"""Segmentations: an output cuts a sequence into labelled segments, a semi-Markov chain (Sarawagi & Cohen 2004).

    score(y) = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. Outputs are codes, one per token: twice the label, plus one where a segment begins.

The own parts of a sequence of n tokens with L labels are its segments of up to m tokens, m ≤ n: (t m + d) L + l.
Segments that would run beyond the end of the sequence have numbers, but no output has them. All sequences share the
pairs of neighbouring labels (k L + l), then the first label and the last one.

The recursions are those of `decoders.semimarkov`. Here they run over a batch. Chains of labels are segmentations into
single tokens, so both inherit from `structures.chain.SemiMarkov`.
"""

from dataclasses import dataclass

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntVector, LongVector
from widemargin.decoders.semimarkov import semimarkov
from widemargin.structures.chain import SemiMarkov, segmented_of
from widemargin.structures.flat import Numbers, Scores, longest_of
from widemargin.structures.parts import Sums


@kernel
def _best(scores: Scores, longest: int, n_labels: int, outputs: IntVector) -> None:
    shape, write = (longest_of(scores.sizes), n_labels), 0
    arrival, best = np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, out = segmented_of(scores, k, longest, n_labels), outputs[write : write + n]
            semimarkov(one, arrival, best, out)
        write += n


@kernel
def _parts(sizes: LongVector, longest: int, n_labels: int, outputs: IntVector) -> tuple[LongVector, LongVector]:
    """At the last token of a segment the segment, then its pair with the next; at the end first and last label."""
    # Two places for each token, −1 inside segments: segmentations that agree have the same part at the same place.
    indptr, numbers = np.zeros(len(sizes) + 1, np.int64), np.full(2 * (len(outputs) + len(sizes)), -1, np.int64)
    write = read = 0
    for k in range(len(sizes)):
        n, codes, start = sizes[k], outputs[read : read + sizes[k]], 0
        most = min(longest, n)
        at_pairs = n * most * n_labels
        at_begin = at_pairs + n_labels * n_labels
        for t in range(n):
            if t == n - 1 or codes[t + 1] & 1:
                label = codes[t] >> 1
                numbers[write] = (start * most + t - start) * n_labels + label
                if t < n - 1:
                    numbers[write + 1] = at_pairs + label * n_labels + (codes[t + 1] >> 1)
                start = t + 1
            write += 2
        if n > 0:
            numbers[write], numbers[write + 1] = at_begin + (codes[0] >> 1), at_begin + n_labels + (codes[n - 1] >> 1)
            write += 2
        read += n
        indptr[k + 1] = write
    return indptr, numbers[:write]


@dataclass(frozen=True, slots=True)
class Segments(SemiMarkov):
    """Segmentations into segments of up to `longest` tokens."""

    n_labels: int
    longest: int

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each first token, length and label."""
        return sizes * np.minimum(sizes, self.longest) * self.n_labels

    @property
    def n_shared(self) -> int:
        """Pairs, first and last labels."""
        return self.n_labels * (2 + self.n_labels)

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """Segments, pairs of neighbouring labels, first and last labels."""
        return Numbers(*_parts(sizes, self.longest, self.n_labels, outputs))

    def best(self, scores: Scores) -> IntVector:
        """The best segmentations."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.longest, self.n_labels, outputs)
        return outputs

    def sums(self, scores: Scores) -> Sums:
        """Semi-Markov forward–backward."""
        from widemargin.structures.segment_searches import segment_sums

        log_z, counts = np.empty(len(scores.sizes)), self.no_counts(scores)
        segment_sums(scores, self.longest, self.n_labels, log_z, counts)
        return Sums(log_z, counts)
