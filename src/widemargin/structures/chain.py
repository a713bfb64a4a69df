"""Chains: an output is a label for each position of a sequence.

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The parts of a sequence of n positions and L labels are, in this order, the labels of its positions (t L + l), the pairs
of labels that lead into each position (n L + (t L + k) L + l), the first label (n L + n L² + l) and the last one. All
positions share one table of transitions, unless features make them differ.

The recursions are those of `decoders`: Viterbi, k best, max-marginals, forward–backward. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.structures.parts import Best, Parts, Sums

NOTHING: FloatVector = np.empty(0)


class ChainScores(NamedTuple):
    """Sequence k has the rows starts[k] … starts[k] + sizes[k] − 1 of `emission`, (rows, L).

    `transition` is (1, L, L) if all positions share one table; else (rows, L, L), and entry [r] leads into row r.
    """

    starts: LongVector
    sizes: LongVector
    emission: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


class ChainCounts(NamedTuple):
    """Coefficients of labels, a row per position, and of pairs: a table per sequence, or per row if those differ.

    Those of the first and the last label are the first and the last row of `labels`.
    """

    starts: LongVector
    sizes: LongVector
    labels: FloatMatrix
    pairs: FloatMatrix


@kernel
def longest_of(sizes: LongVector) -> int:
    """The largest size, at least 1."""
    longest = 1
    for size in sizes:
        longest = max(longest, size)
    return longest


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
def rows_of(scores: ChainScores, k: int) -> FloatMatrix:
    """The emission scores of sequence k."""
    return scores.emission[scores.starts[k] : scores.starts[k] + scores.sizes[k]]


@kernel
def tables_of(scores: ChainScores, k: int) -> FloatMatrix:
    """The transition scores of sequence k: one table for each position, or one for all."""
    shared = len(scores.transition) == 1
    begin = 0 if shared else scores.starts[k]
    return scores.transition[begin : 1 if shared else begin + scores.sizes[k]]


@kernel
def _best(scores: ChainScores, outputs: IntVector) -> None:
    longest, n_labels = longest_of(scores.sizes), len(scores.begin)
    prefix, arrival = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    reach, write = reach_of(scores.transition), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            out = outputs[write : write + n]
            viterbi(rows_of(scores, k), tables_of(scores, k), reach, scores.begin, scores.end, prefix, arrival, out)
        write += n


@kernel
def sequence_score(
    emission: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, labels: IntVector
) -> float:
    """The score of one label sequence."""
    if len(labels) == 0:
        return 0.0
    total = begin[labels[0]] + emission[0, labels[0]] + end[labels[len(labels) - 1]]
    for t in range(1, len(labels)):
        table = 0 if len(transition) == 1 else t
        total += emission[t, labels[t]] + transition[table, labels[t - 1], labels[t]]
    return total


@kernel
def _total(scores: ChainScores, outputs: IntVector, totals: FloatVector) -> None:
    read = 0
    for k in range(len(scores.sizes)):
        labels = outputs[read : read + scores.sizes[k]]
        totals[k] = sequence_score(rows_of(scores, k), tables_of(scores, k), scores.begin, scores.end, labels)
        read += scores.sizes[k]


@kernel
def _note(numbers: LongVector, values: FloatVector, write: int, plus: int, minus: int) -> int:
    """Append a part of gold and one of the output, unless they are the same."""
    numbers[write], values[write] = plus, 1.0
    numbers[write + 1], values[write + 1] = minus, -1.0
    return write + (0 if plus == minus else 2)


@kernel
def _change(
    sizes: LongVector, n_labels: int, gold: IntVector, outputs: IntVector
) -> tuple[LongVector, LongVector, FloatVector]:
    room = 4 * len(sizes) + 4 * sizes.sum()
    indptr, numbers, values = np.zeros(len(sizes) + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    write = read = 0
    for k in range(len(sizes)):
        n = sizes[k]
        right, found = gold[read : read + n], outputs[read : read + n]
        at_pairs = n * n_labels
        at_begin = at_pairs * (n_labels + 1)
        at_end = at_begin + n_labels
        for t in range(n):
            write = _note(numbers, values, write, t * n_labels + right[t], t * n_labels + found[t])
            if t == 0:
                write = _note(numbers, values, write, at_begin + right[0], at_begin + found[0])
            else:
                plus = at_pairs + (t * n_labels + right[t - 1]) * n_labels + right[t]
                minus = at_pairs + (t * n_labels + found[t - 1]) * n_labels + found[t]
                write = _note(numbers, values, write, plus, minus)
            if t == n - 1:
                write = _note(numbers, values, write, at_end + right[t], at_end + found[t])
        read += n
        indptr[k + 1] = write
    return indptr, numbers[:write], values[:write]


@kernel
def _plus(room: ChainScores, scores: ChainScores) -> None:
    for k in range(len(room.sizes)):
        for t in range(room.sizes[k]):
            own, other = room.emission[room.starts[k] + t], scores.emission[scores.starts[k] + t]
            for label in range(len(own)):
                own[label] += other[label]


@kernel
def _residual(counts: ChainCounts, by_row: bool, gold: IntVector) -> None:
    labels, pairs, read = counts.labels, counts.pairs, 0
    for k in range(len(counts.sizes)):
        first, n = counts.starts[k], counts.sizes[k]
        for row in range(first, first + n):
            for label in range(labels.shape[1]):
                labels[row, label] = -labels[row, label]
            labels[row, gold[read + row - first]] += 1.0
        for table in range(first if by_row else k, first + n if by_row else k + 1):
            for p in range(pairs.shape[1]):
                for label in range(pairs.shape[2]):
                    pairs[table, p, label] = -pairs[table, p, label]
        for t in range(1, n):
            pairs[first + t if by_row else k, gold[read + t - 1], gold[read + t]] += 1.0
        read += n


@dataclass(frozen=True, slots=True)
class Chain:
    """Label sequences; `by_position` says that each position has a table of transitions of its own."""

    counts_errors: ClassVar[bool] = True

    n_labels: int
    by_position: bool = False

    def room(self, sizes: LongVector) -> ChainScores:
        """Room for emission scores, and for transition scores if positions differ."""
        ends, L = np.cumsum(sizes), self.n_labels
        rows = ends[-1] if len(ends) else 0
        tables = np.empty((rows if self.by_position else 0, L, L))
        return ChainScores(ends - sizes, sizes, np.empty((rows, L)), tables, NOTHING, NOTHING)

    def lengths(self, sizes: LongVector) -> LongVector:
        """A label for each position."""
        return sizes

    def entries(self, sizes: LongVector) -> LongVector:
        """As many scores."""
        return sizes * (self.n_labels * (1 + self.n_labels) if self.by_position else self.n_labels)

    def positions(self, sizes: LongVector) -> LongVector:
        """Those of the sequence."""
        return sizes

    def plus(self, room: ChainScores, scores: ChainScores) -> ChainScores:
        """The scores added to costs that fill the room."""
        _plus(room, scores)
        if not self.by_position:
            return room._replace(transition=scores.transition, begin=scores.begin, end=scores.end)
        room.transition[:] = scores.transition[
            np.repeat(scores.starts - room.starts, room.sizes) + np.arange(len(room.transition))
        ]
        return room._replace(begin=scores.begin, end=scores.end)

    def best(self, scores: ChainScores) -> IntVector:
        """The best labels (Viterbi)."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, outputs)
        return outputs

    def best_k(self, scores: ChainScores, k: int) -> Best:
        """The k best sequences of labels."""
        from widemargin.structures.chain_searches import best_sequences  # all but decoding is loaded when it is needed

        return Best(*best_sequences(scores, k))

    def total(self, scores: ChainScores, outputs: IntVector) -> FloatVector:
        """The scores of label sequences."""
        totals = np.empty(len(scores.sizes))
        _total(scores, outputs, totals)
        return totals

    def change(self, sizes: LongVector, gold: IntVector, outputs: IntVector) -> Parts:
        """The labels, pairs, first and last labels that differ."""
        return Parts(*_change(sizes, self.n_labels, gold, outputs))

    def through(self, scores: ChainScores) -> FloatMatrix:
        """For each position a row of scores: the best sequence's with each label there."""
        from widemargin.structures.chain_searches import through_labels

        best = np.empty((scores.sizes.sum(), self.n_labels))
        through_labels(scores, best)
        return best

    def best_wrong(self, scores: ChainScores, costs: ChainScores, gold: IntVector) -> IntVector:
        """The best label sequences that have an error."""
        from widemargin.structures.chain_searches import best_wrong_sequences

        outputs = np.empty(len(gold), dtype=np.int32)
        best_wrong_sequences(scores, costs.emission, gold, outputs)
        return outputs

    def worst(self, scores: ChainScores, costs: ChainScores, unit: float, gold: IntVector) -> IntVector:
        """The worst label sequences under slack scaling; the number of errors is a dimension of the recursion."""
        from widemargin.structures.chain_searches import worst_sequences

        outputs = np.empty(len(gold), dtype=np.int32)
        worst_sequences(scores, costs.emission, unit, gold, outputs)
        return outputs

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """What `worst` takes: two tables of the best score for each position, label and number of errors."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def violators(self, scores: ChainScores, costs: ChainScores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst label sequences that are wrong at each position (Sarawagi & Gupta 2008, §4.3.1)."""
        from widemargin.structures.chain_searches import violating_sequences

        return violating_sequences(scores, costs.emission, gold)

    def sums(self, scores: ChainScores) -> Sums:
        """Forward–backward."""
        from widemargin.structures.chain_sums import chain_sums  # most taggers are trained without probabilities

        log_z, labels, pairs = chain_sums(scores, by_position=self.by_position)
        return Sums(log_z, ChainCounts(scores.starts, scores.sizes, labels, pairs))

    def sample(self, scores: ChainScores, n: int, rng: np.random.Generator) -> IntMatrix:
        """Forward filtering, backward sampling."""
        from widemargin.structures.chain_sums import sample_chains

        outputs = np.empty((n, scores.sizes.sum()), dtype=np.int32)
        sample_chains(scores, np.asarray(rng.random(outputs.shape)), outputs)
        return outputs

    def own(self, counts: ChainCounts) -> FloatMatrix:
        """A row for each position."""
        return counts.labels

    def residual(self, counts: ChainCounts, gold: IntVector) -> ChainCounts:
        """Indicators of the gold labels and pairs, less the counts."""
        _residual(counts, self.by_position, gold)
        return counts
