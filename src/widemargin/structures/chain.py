"""Chains and segmentations: an output labels the positions of a sequence, or cuts it into labelled segments.

    chain     score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]
    segments  score(y) = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

Segments j = 1 … p follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the label y_j: a
semi-Markov chain (Sarawagi & Cohen 2004). Outputs of chains are labels. Those of segmentations are codes, one per
token: twice the label, plus one where a segment begins.

The own parts of a sequence of n tokens with L labels are its segments of up to m tokens, m ≤ n: (t m + d) L + l. With
m = 1, in a chain, they are the labels of its positions. Segments that would run beyond the end of the sequence have
numbers, but no output has them. If transitions of a chain have features, the pairs of labels that lead into each
position follow (n L + (t L + k) L + l). Otherwise all positions share one table of pairs, (k L + l) among the shared
parts. The shared parts end with the first and the last label.

Chains are segmentations into single tokens, and are searched as such (`segment_searches`, `decoders.semimarkov`).
Training and prediction spend most of their time on the best labels and on sums over all labels. These two have faster
recursions of their own: Viterbi, and forward–backward in probability space.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.semimarkov import Passes, new_passes, semimarkov
from widemargin.decoders.viterbi import Segmented, reach_of, viterbi
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, longest_of, places_of
from widemargin.structures.parts import Best, Sums


@kernel
def table_of(own: FloatVector, start: int, n: int, longest: int, n_labels: int) -> FloatMatrix:
    """The (n, m, L) numbers of the segments of a sequence of n tokens whose own parts begin at `start`."""
    most = min(longest, n)
    return own[start : start + n * most * n_labels].reshape(n, most, n_labels)


@kernel
def tables_of(own: FloatVector, shared: FloatVector, start: int, n: int, longest: int, n_labels: int) -> Segmented:
    """The numbers of a sequence, from own and shared ones; if pairs are not shared, they follow the segments."""
    at_begin = len(shared) - 2 * n_labels
    at_end, segment = at_begin + n_labels, table_of(own, start, n, longest, n_labels)
    transition = shared[:at_begin].reshape(at_begin // n_labels**2, n_labels, n_labels)
    if at_begin == 0:
        at_pairs = start + segment.size
        transition = own[at_pairs : at_pairs + n * n_labels**2].reshape(n, n_labels, n_labels)
    return Segmented(segment, transition, shared[at_begin:at_end], shared[at_end:])


@kernel
def segmented_of(scores: Scores, k: int, longest: int, n_labels: int) -> Segmented:
    """The scores of sequence k."""
    return tables_of(scores.own, scores.shared, scores.starts[k], scores.sizes[k], longest, n_labels)


@kernel
def _best(scores: Scores, n_labels: int, outputs: IntVector) -> None:
    longest, at_ends = longest_of(scores.sizes), len(scores.shared) - 2 * n_labels
    prefix, arrival = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    reach, write = reach_of(scores.shared[:at_ends].reshape(at_ends // n_labels**2, n_labels, n_labels)), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, out = segmented_of(scores, k, 1, n_labels), outputs[write : write + n]
            emission = one.segment.reshape(n, n_labels)
            viterbi(emission, one.transition, reach, one.begin, one.end, prefix, arrival, out)
        write += n


@kernel
def _parts(sizes: LongVector, n_labels: int, by_position: bool, outputs: IntVector) -> tuple[LongVector, LongVector]:
    """At each position the label, then the pair or the first label; at the end the last label."""
    # Two places for each position, whatever the labels: gold and output can be compared place by place.
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


class SemiMarkov(Flat):
    """Sequences of labelled segments of up to `longest` tokens; positions are candidate spans."""

    __slots__ = ()
    counts_errors: ClassVar[bool] = True
    n_labels: int
    longest: int

    def lengths(self, sizes: LongVector) -> LongVector:
        """A code for each token."""
        return sizes

    def positions(self, sizes: LongVector) -> LongVector:
        """The number of candidate spans: spans of at most `longest` tokens."""
        longest = np.minimum(sizes, self.longest)
        return longest * sizes - longest * (longest - 1) // 2

    def candidates(self, starts: LongVector, sizes: LongVector) -> LongMatrix:
        """The places of the labels of each candidate span among own parts; spans go by first token, then length.

        >>> Segments(1, 2).candidates(np.array([0, 6]), np.array([3, 1])).ravel().tolist()
        [0, 1, 2, 3, 4, 6]
        """
        token = places_of(0 * sizes, sizes)
        most = np.repeat(np.minimum(sizes, self.longest), sizes)
        width = np.minimum(most, np.repeat(sizes, sizes) - token)
        d = places_of(0 * width, width)
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
        through_segments(scores, self.longest, self._passes(scores.sizes), best)
        return best

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst segmentations that are wrong at each candidate span (Sarawagi & Gupta 2008, §4.3)."""
        from widemargin.structures.segment_searches import violating_segmentations

        errors, gold_scores = np.zeros(self.positions(scores.sizes).sum()), self.total(scores, gold)
        given = self.longest, self.n_labels, self._passes(scores.sizes)
        codes = violating_segmentations(scores, costs, *given, gold_scores, errors)
        return errors, self.outputs(codes)

    def hull(self, scores: Scores, costs: Scores, gold: IntVector, most_decodes: int) -> IntVector:
        """The worst segmentations under slack scaling among those that decoding finds."""
        from widemargin.structures.segment_searches import hull_segmentations

        codes, gold_scores = self.codes(gold), self.total(scores, gold)
        given = self.longest, self.n_labels, most_decodes, self._passes(scores.sizes)
        hull_segmentations(scores, costs, *given, gold_scores, codes)
        return self.outputs(codes)

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntVector) -> IntVector:
        """The worst segmentations under slack scaling; the error is a dimension of the recursion."""
        from widemargin.structures.segment_searches import worst_segmentations

        codes, gold_scores = self.codes(gold), self.total(scores, gold)
        worst_segmentations(scores, costs, self.longest, self.n_labels, unit, gold_scores, codes)
        return self.outputs(codes)

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """The memory of `worst`: two tables of the best score for each token, label and error."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Forward filtering, backward sampling."""
        from widemargin.decoders.semimarkov_sums import new_segment_sums
        from widemargin.structures.segment_searches import sample_segmentations

        codes = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        # One number for the label of each segment, and one for its length unless all segments have one token.
        uniforms = np.asarray(rng.random((*codes.shape, min(self.longest, 2))))
        room = new_segment_sums(int(scores.sizes.max(initial=1)), self.n_labels)
        sample_segmentations(scores, self.longest, self.n_labels, room, uniforms, codes)
        return self.outputs(codes)

    def _passes(self, sizes: LongVector) -> Passes:
        """Scratch space for the longest sequence."""
        return new_passes(int(sizes.max(initial=1)), self.n_labels)


@dataclass(frozen=True, slots=True)
class Chain(SemiMarkov):
    """Label sequences; with `by_position`, each position has its own table of transitions."""

    n_labels: int
    by_position: bool = False
    longest: int = field(default=1, init=False, repr=False)

    def n_own(self, sizes: LongVector) -> LongVector:
        """Labels, and pairs if each position has its own."""
        return sizes * (self.n_labels * (1 + self.n_labels) if self.by_position else self.n_labels)

    @property
    def n_shared(self) -> int:
        """Pairs unless each position has its own, and first and last labels."""
        return self.n_labels * (2 if self.by_position else 2 + self.n_labels)

    def positions(self, sizes: LongVector) -> LongVector:
        """The tokens."""
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


@kernel
def _best_segments(scores: Scores, longest: int, n_labels: int, outputs: IntVector) -> None:
    shape, write = (longest_of(scores.sizes), n_labels), 0
    arrival, best = np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            one, out = segmented_of(scores, k, longest, n_labels), outputs[write : write + n]
            semimarkov(one, arrival, best, out)
        write += n


@kernel
def _segment_parts(sizes: LongVector, longest: int, n_labels: int, outputs: IntVector) -> tuple[LongVector, LongVector]:
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
        return Numbers(*_segment_parts(sizes, self.longest, self.n_labels, outputs))

    def best(self, scores: Scores) -> IntVector:
        """The best segmentations."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best_segments(scores, self.longest, self.n_labels, outputs)
        return outputs

    def sums(self, scores: Scores) -> Sums:
        """Semi-Markov forward–backward."""
        from widemargin.decoders.semimarkov_sums import new_segment_sums
        from widemargin.structures.segment_searches import segment_sums

        log_z, counts = np.empty(len(scores.sizes)), self.no_counts(scores)
        room = new_segment_sums(int(scores.sizes.max(initial=1)), self.n_labels)
        segment_sums(scores, self.longest, self.n_labels, room, log_z, counts)
        return Sums(log_z, counts)
