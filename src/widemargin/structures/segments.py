"""Segmentations: an output cuts a sequence into labelled segments, a semi-Markov chain (Sarawagi & Cohen 2004).

    score(y) = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. Outputs are codes, one per token: twice the label, plus one where a segment begins.

The own parts of a sequence of n tokens with L labels are its segments of up to m tokens, m ≤ n: (t m + d) L + l. Those
that run beyond the end of the sequence have a number, but no output has them. All sequences share the pairs of
neighbouring labels (k L + l), then the first label and the last one.

The recursions are those of `decoders.semimarkov`. Here they run over a batch. Chains of labels are segmentations into
single tokens (`structures.chain`), so all but their best labels and their sums is found here as well (`SemiMarkov`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.semimarkov import Segmented, semimarkov
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, longest_of
from widemargin.structures.parts import Best, Sums


@kernel
def table_of(own: FloatVector, start: int, n: int, longest: int, n_labels: int) -> FloatMatrix:
    """The (n, m, L) numbers of the segments of a sequence of n tokens whose own parts begin at `start`."""
    most = min(longest, n)
    return own[start : start + n * most * n_labels].reshape(n, most, n_labels)


@kernel
def segmented_of(scores: Scores, k: int, longest: int, n_labels: int) -> Segmented:
    """The scores of sequence k; if pairs are not shared, each token has a table of its own behind the segments."""
    n, at_ends = scores.sizes[k], len(scores.shared) - 2 * n_labels
    segment = table_of(scores.own, scores.starts[k], n, longest, n_labels)
    transition = scores.shared[:at_ends].reshape(at_ends // n_labels**2, n_labels, n_labels)
    if at_ends == 0:
        begin = scores.starts[k] + segment.size
        transition = scores.own[begin : begin + n * n_labels**2].reshape(n, n_labels, n_labels)
    begin_scores, end_scores = scores.shared[at_ends : at_ends + n_labels], scores.shared[at_ends + n_labels :]
    return Segmented(segment, transition, begin_scores, end_scores)


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


class SemiMarkov(Flat):
    """Sequences of labelled segments of up to `longest` tokens: their positions are the candidate spans."""

    __slots__ = ()
    counts_errors: ClassVar[bool] = True
    n_labels: int
    longest: int

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

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each candidate span."""
        return counts.own[self.candidates(counts.starts, counts.sizes)]

    def codes(self, outputs: IntVector) -> IntVector:
        """Outputs as codes, in an array of their own."""
        return outputs.copy()

    def outputs(self, codes: IntVector) -> IntVector:
        """Codes as outputs."""
        return codes

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best segmentations."""
        from widemargin.structures.segment_searches import best_segmentations  # all but decoding is loaded when needed

        counts, totals, codes = best_segmentations(scores, self.longest, self.n_labels, k)
        return Best(counts, totals, self.outputs(codes))

    def through(self, scores: Scores) -> FloatMatrix:
        """For each candidate span, by first token and length, the best score with each label there."""
        from widemargin.structures.segment_searches import through_segments

        best = np.empty((self.positions(scores.sizes).sum(), self.n_labels))
        through_segments(scores, self.longest, best)
        return best

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst segmentations that are wrong at each candidate span (Sarawagi & Gupta 2008, §4.3)."""
        from widemargin.structures.segment_searches import violating_segmentations

        errors, gold_scores = np.zeros(self.positions(scores.sizes).sum()), self.total(scores, gold)
        codes = violating_segmentations(scores, costs, self.longest, self.n_labels, gold_scores, errors)
        return errors, self.outputs(codes)

    def best_wrong(self, scores: Scores, costs: Scores, gold: IntVector) -> IntVector:
        """The best segmentations that have an error."""
        from widemargin.structures.segment_searches import best_wrong_segmentations

        codes = self.codes(gold)
        best_wrong_segmentations(scores, costs, self.longest, self.n_labels, codes)
        return self.outputs(codes)

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntVector) -> IntVector:
        """The worst segmentations under slack scaling; the error is a dimension of the recursion."""
        from widemargin.structures.segment_searches import worst_segmentations

        codes, gold_scores = self.codes(gold), self.total(scores, gold)
        worst_segmentations(scores, costs, self.longest, self.n_labels, unit, gold_scores, codes)
        return self.outputs(codes)

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """What `worst` takes: two tables of the best score for each token, label and error."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Forward filtering, backward sampling."""
        from widemargin.structures.segment_searches import sample_segmentations

        codes = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        # A number for the label of each segment, and one for its length unless all have one token.
        uniforms = np.asarray(rng.random((*codes.shape, min(self.longest, 2))))
        sample_segmentations(scores, self.longest, self.n_labels, uniforms, codes)
        return self.outputs(codes)


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

        # Room between sequences belongs to none.
        room = np.empty if self.n_own(scores.sizes).sum() == len(scores.own) else np.zeros
        log_z, shared = np.empty(len(scores.sizes)), np.zeros((len(scores.sizes), len(scores.shared)))
        counts = Counts(scores.starts, scores.sizes, room(len(scores.own)), shared)
        segment_sums(scores, self.longest, self.n_labels, log_z, counts)
        return Sums(log_z, counts)
