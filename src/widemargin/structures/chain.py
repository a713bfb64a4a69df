"""Chains: an output is a label for each position of a sequence.

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The own parts of a sequence of n positions and L labels are the labels of its positions (t L + l). If features make
positions differ, the pairs of labels that lead into each follow (n L + (t L + k) L + l). Otherwise all positions share
one table of pairs, (k L + l) among the shared parts. The first and the last label come last there.

The recursions are those of `decoders`: Viterbi, k best, max-marginals, forward–backward. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, longest_of
from widemargin.structures.parts import Best, Sums


class Sequence(NamedTuple):
    """The scores of one sequence; `transition` is (1, L, L) if all positions share one table, else (n, L, L)."""

    emission: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


@kernel
def grown(outputs: IntVector, used: int, wanted: int) -> IntVector:
    """The outputs with room for `wanted` more entries after the first `used`."""
    if used + wanted <= len(outputs):
        return outputs
    larger = np.empty(2 * (used + wanted), dtype=np.int32)
    for k in range(used):
        larger[k] = outputs[k]
    return larger


@kernel
def rows_of(scores: Scores, k: int, n_labels: int) -> FloatMatrix:
    """The scores of labels of sequence k."""
    n, begin = scores.sizes[k], scores.starts[k]
    return scores.own[begin : begin + n * n_labels].reshape(n, n_labels)


@kernel
def sequence_of(scores: Scores, k: int, n_labels: int) -> Sequence:
    """The scores of sequence k."""
    n, n_shared = scores.sizes[k], len(scores.shared)
    at_ends = n_shared - 2 * n_labels
    transition = scores.shared[:at_ends].reshape(at_ends // n_labels**2, n_labels, n_labels)
    if at_ends == 0:
        begin = scores.starts[k] + n * n_labels
        transition = scores.own[begin : begin + n * n_labels**2].reshape(n, n_labels, n_labels)
    begin_scores, end_scores = scores.shared[at_ends : at_ends + n_labels], scores.shared[at_ends + n_labels :]
    return Sequence(rows_of(scores, k, n_labels), transition, begin_scores, end_scores)


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
def sequence_score(one: Sequence, labels: IntVector) -> float:
    """The score of one label sequence."""
    if len(labels) == 0:
        return 0.0
    total = one.begin[labels[0]] + one.emission[0, labels[0]] + one.end[labels[len(labels) - 1]]
    for t in range(1, len(labels)):
        table = 0 if len(one.transition) == 1 else t
        total += one.emission[t, labels[t]] + one.transition[table, labels[t - 1], labels[t]]
    return total


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
class Chain(Flat):
    """Label sequences; `by_position` says that each position has a table of transitions of its own."""

    counts_errors: ClassVar[bool] = True

    n_labels: int
    by_position: bool = False

    def n_own(self, sizes: LongVector) -> LongVector:
        """Labels, and pairs if positions differ."""
        return sizes * (self.n_labels * (1 + self.n_labels) if self.by_position else self.n_labels)

    @property
    def n_shared(self) -> int:
        """Pairs unless positions differ, and first and last labels."""
        return self.n_labels * (2 if self.by_position else 2 + self.n_labels)

    def lengths(self, sizes: LongVector) -> LongVector:
        """A label for each position."""
        return sizes

    def positions(self, sizes: LongVector) -> LongVector:
        """Those of the sequence."""
        return sizes

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """Labels, pairs, first and last labels."""
        return Numbers(*_parts(sizes, self.n_labels, self.by_position, outputs))

    def best(self, scores: Scores) -> IntVector:
        """The best labels (Viterbi)."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.n_labels, outputs)
        return outputs

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best sequences of labels."""
        from widemargin.structures.chain_searches import best_sequences  # all but decoding is loaded when it is needed

        return Best(*best_sequences(scores, self.n_labels, k))

    def through(self, scores: Scores) -> FloatMatrix:
        """For each position a row of scores: the best sequence's with each label there."""
        from widemargin.structures.chain_searches import through_labels

        best = np.empty((scores.sizes.sum(), self.n_labels))
        through_labels(scores, best)
        return best

    def best_wrong(self, scores: Scores, costs: Scores, gold: IntVector) -> IntVector:
        """The best label sequences that have an error."""
        from widemargin.structures.chain_searches import best_wrong_sequences

        outputs = np.empty(len(gold), dtype=np.int32)
        best_wrong_sequences(scores, costs, self.n_labels, gold, outputs)
        return outputs

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: IntVector) -> IntVector:
        """The worst label sequences under slack scaling; the number of errors is a dimension of the recursion."""
        from widemargin.structures.chain_searches import worst_sequences

        outputs = np.empty(len(gold), dtype=np.int32)
        worst_sequences(scores, costs, self.n_labels, unit, gold, outputs)
        return outputs

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """What `worst` takes: two tables of the best score for each position, label and number of errors."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst label sequences that are wrong at each position (Sarawagi & Gupta 2008, §4.3.1)."""
        from widemargin.structures.chain_searches import violating_sequences

        return violating_sequences(scores, costs, self.n_labels, gold)

    def sums(self, scores: Scores) -> Sums:
        """Forward–backward."""
        from widemargin.structures.chain_sums import chain_sums  # most taggers are trained without probabilities

        return chain_sums(scores, self.n_labels)

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Forward filtering, backward sampling."""
        from widemargin.structures.chain_sums import sample_chains

        outputs = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        sample_chains(scores, self.n_labels, np.asarray(rng.random(outputs.shape)), outputs)
        return outputs

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each position."""
        if not self.by_position:
            return counts.own.reshape(-1, self.n_labels)
        rows = [counts.own[at : at + n * self.n_labels] for at, n in zip(counts.starts, counts.sizes, strict=True)]
        return np.concatenate([*rows, np.empty(0)]).reshape(-1, self.n_labels)
