"""Chains: an output is a label for each position of a sequence.

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The own parts of a sequence of n positions and L labels are the labels of its positions (t L + l). If transitions have
features, the pairs of labels that lead into each position follow (n L + (t L + k) L + l). Otherwise all positions share
one table of pairs, (k L + l) among the shared parts. The shared parts end with the first and the last label.

Chains are segmentations into single tokens (`structures.segments`), and are searched as such. Training and prediction
spend most of their time on the best labels and on sums over all labels. These two have faster recursions of their own:
Viterbi, and forward–backward in probability space.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.viterbi import Segmented, reach_of, viterbi
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, longest_of
from widemargin.structures.parts import Best, Sums


class Sequence(NamedTuple):
    """The scores of one sequence; `transition` is (1, L, L) if all positions share one table, else (n, L, L)."""

    emission: FloatMatrix
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
    """The scores of sequence k; if pairs are not shared, a table for each token follows the segments."""
    n, at_ends = scores.sizes[k], len(scores.shared) - 2 * n_labels
    segment = table_of(scores.own, scores.starts[k], n, longest, n_labels)
    transition = scores.shared[:at_ends].reshape(at_ends // n_labels**2, n_labels, n_labels)
    if at_ends == 0:
        begin = scores.starts[k] + segment.size
        transition = scores.own[begin : begin + n * n_labels**2].reshape(n, n_labels, n_labels)
    begin_scores, end_scores = scores.shared[at_ends : at_ends + n_labels], scores.shared[at_ends + n_labels :]
    return Segmented(segment, transition, begin_scores, end_scores)


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

        >>> from widemargin.structures.segments import Segments
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

    def hull(self, scores: Scores, costs: Scores, gold: IntVector, most_decodes: int) -> IntVector:
        """The worst segmentations under slack scaling among those that decoding finds."""
        from widemargin.structures.segment_searches import hull_segmentations

        codes, gold_scores = self.codes(gold), self.total(scores, gold)
        hull_segmentations(scores, costs, self.longest, self.n_labels, most_decodes, gold_scores, codes)
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
        from widemargin.structures.segment_searches import sample_segmentations

        codes = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        # One number for the label of each segment, and one for its length unless all segments have one token.
        uniforms = np.asarray(rng.random((*codes.shape, min(self.longest, 2))))
        sample_segmentations(scores, self.longest, self.n_labels, uniforms, codes)
        return self.outputs(codes)


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
