"""Segmentations: an output cuts a sequence into labelled segments, a semi-Markov chain (Sarawagi & Cohen 2004).

    score(y) = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. Outputs are codes, one per token: twice the label, plus one where a segment begins.

The own parts of a sequence of n tokens with L labels are its segments of up to m tokens, m ≤ n: (t m + d) L + l. Those
that run beyond the end of the sequence have a number, but no output has them. All sequences share the pairs of
neighbouring labels (k L + l), then the first label and the last one.

The recursions are those of `decoders.semimarkov`. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.semimarkov import semimarkov
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, longest_of
from widemargin.structures.parts import Best, Sums


class Segmented(NamedTuple):
    """The scores of one sequence: `segment` is (n, m, L), entries beyond the end of the sequence mean nothing."""

    segment: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


@kernel
def table_of(own: FloatVector, start: int, n: int, longest: int, n_labels: int) -> FloatMatrix:
    """The (n, m, L) numbers of the segments of a sequence of n tokens whose own parts begin at `start`."""
    most = min(longest, n)
    return own[start : start + n * most * n_labels].reshape(n, most, n_labels)


@kernel
def segmented_of(scores: Scores, k: int, longest: int, n_labels: int) -> Segmented:
    """The scores of sequence k."""
    at_begin = n_labels * n_labels
    return Segmented(
        table_of(scores.own, scores.starts[k], scores.sizes[k], longest, n_labels),
        scores.shared[:at_begin].reshape(n_labels, n_labels),
        scores.shared[at_begin : at_begin + n_labels],
        scores.shared[at_begin + n_labels :],
    )


@kernel
def _best(scores: Scores, longest: int, n_labels: int, outputs: IntVector) -> None:
    shape, write = (longest_of(scores.sizes), n_labels), 0
    arrival, best = np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, out = segmented_of(scores, k, longest, n_labels), outputs[write : write + n]
            semimarkov(one.segment, one.transition, one.begin, one.end, arrival, best, out)
        write += n


@kernel
def _parts(sizes: LongVector, longest: int, n_labels: int, outputs: IntVector) -> tuple[LongVector, LongVector]:
    """Where a segment ends, the segment, then its pair with the next; behind all, the first and the last label."""
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
class Segments(Flat):
    """Segmentations into segments of up to `longest` tokens."""

    counts_errors: ClassVar[bool] = True

    n_labels: int
    longest: int

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each first token, length and label."""
        return sizes * np.minimum(sizes, self.longest) * self.n_labels

    @property
    def n_shared(self) -> int:
        """Pairs, first and last labels."""
        return self.n_labels * (2 + self.n_labels)

    def lengths(self, sizes: LongVector) -> LongVector:
        """A code for each token."""
        return sizes

    def positions(self, sizes: LongVector) -> LongVector:
        """The candidate spans of a sequence: all that are no longer than `longest`."""
        longest = np.minimum(sizes, self.longest)
        return longest * sizes - longest * (longest - 1) // 2

    def candidates(self, starts: LongVector, sizes: LongVector) -> LongMatrix:
        """For each candidate span, by first token and length, where the numbers of its labels are among own parts.

        >>> Segments(1, 2).candidates(np.array([0, 6]), np.array([3, 1])).ravel().tolist()
        [0, 1, 2, 3, 4, 6]
        """
        token = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        most = np.repeat(np.minimum(sizes, self.longest), sizes)
        width = np.minimum(most, np.repeat(sizes, sizes) - token)
        d = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        first = np.repeat(starts, sizes) + token * most * self.n_labels
        places: LongMatrix = (np.repeat(first, width) + d * self.n_labels)[:, None] + np.arange(self.n_labels)
        return places

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """Segments, pairs of neighbouring labels, first and last labels."""
        return Numbers(*_parts(sizes, self.longest, self.n_labels, outputs))

    def best(self, scores: Scores) -> IntVector:
        """The best segmentations."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.longest, self.n_labels, outputs)
        return outputs

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best segmentations."""
        from widemargin.structures.segment_searches import best_segmentations  # all but decoding is loaded when needed

        return Best(*best_segmentations(scores, self.longest, self.n_labels, k))

    def through(self, scores: Scores) -> FloatMatrix:
        """For each candidate span, by first token and length, the best score with each label there."""
        from widemargin.structures.segment_searches import through_segments

        best = np.empty((self.positions(scores.sizes).sum(), self.n_labels))
        through_segments(scores, self.longest, best)
        return best

    def best_wrong(self, scores: Scores, costs: Scores, gold: IntVector) -> IntVector:
        """The best segmentations that have an error."""
        from widemargin.structures.segment_searches import best_wrong_segmentations

        outputs = np.empty(len(gold), dtype=np.int32)
        best_wrong_segmentations(scores, costs, self.longest, self.n_labels, gold, outputs)
        return outputs

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntVector) -> IntVector:
        """The worst segmentations under slack scaling; the error is a dimension of the recursion."""
        from widemargin.structures.segment_searches import worst_segmentations

        outputs = np.empty(len(gold), dtype=np.int32)
        worst_segmentations(scores, costs, self.longest, self.n_labels, unit, gold, outputs)
        return outputs

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """What `worst` takes: two tables of the best score for each token, label and error."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst segmentations that are wrong at each candidate span (Sarawagi & Gupta 2008, §4.3.2)."""
        from widemargin.structures.segment_searches import violating_segmentations

        errors = np.zeros(self.positions(scores.sizes).sum())
        return errors, violating_segmentations(scores, costs, self.longest, self.n_labels, gold, errors)

    def sums(self, scores: Scores) -> Sums:
        """Semi-Markov forward–backward."""
        from widemargin.structures.segment_sums import segment_sums  # most segmenters are trained without probabilities

        # Room between sequences belongs to none.
        room = np.empty if self.n_own(scores.sizes).sum() == len(scores.own) else np.zeros
        log_z, shared = np.empty(len(scores.sizes)), np.zeros((len(scores.sizes), len(scores.shared)))
        counts = Counts(scores.starts, scores.sizes, room(len(scores.own)), shared)
        segment_sums(scores, self.longest, self.n_labels, log_z, counts)
        return Sums(log_z, counts)

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Forward filtering, backward sampling."""
        from widemargin.structures.segment_sums import sample_segmentations

        outputs = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        uniforms = np.asarray(rng.random((*outputs.shape, 2)))
        sample_segmentations(scores, self.longest, self.n_labels, uniforms, outputs)
        return outputs

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each candidate span."""
        return counts.own[self.candidates(counts.starts, counts.sizes)]
