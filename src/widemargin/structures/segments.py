"""Segmentations: an output cuts a sequence into labelled segments, a semi-Markov chain (Sarawagi & Cohen 2004).

    score(y) = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. Outputs are codes, one per token: twice the label, plus one where a segment begins.

The parts of a sequence of n tokens, with L labels and segments of up to m tokens, are, in this order, the segments
((t m + d) L + l), the pairs of neighbouring labels (n m L + k L + l), the first label and the last one. Segments that
run beyond the end of the sequence have a number and room for a score, but nothing reads or writes it.

The recursions are those of `decoders.semimarkov`. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.semimarkov import backward, forward, max_marginals, segmentation_score, semimarkov
from widemargin.decoders.semimarkov_errors import errors_forward, trace_error
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.decoders.semimarkov_sums import new_segment_sums, semimarkov_sums
from widemargin.decoders.semimarkov_through import both_passes, write_through
from widemargin.structures.chain import grown, longest_of
from widemargin.structures.parts import Best, Parts, Sums


class SegmentScores(NamedTuple):
    """Sequence k has the rows starts[k] … starts[k] + sizes[k] − 1 of `segment`, (rows, ≤ m, L), a row per token.

    Entry [r, d, l] is about the segment of d + 1 tokens with the label l that begins at the token of row r.
    """

    starts: LongVector
    sizes: LongVector
    segment: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


class SegmentCounts(NamedTuple):
    """Coefficients of segments, as in `SegmentScores`, and of pairs: a table per sequence.

    Those of the first and the last label are sums over the segments that begin or end the sequence.
    """

    starts: LongVector
    sizes: LongVector
    segments: FloatMatrix
    pairs: FloatMatrix


@kernel
def _rows_of(scores: SegmentScores, k: int) -> FloatMatrix:
    """The scores of the segments of sequence k."""
    return scores.segment[scores.starts[k] : scores.starts[k] + scores.sizes[k]]


@kernel
def _best(scores: SegmentScores, outputs: IntVector) -> None:
    shape, write = (longest_of(scores.sizes), len(scores.begin)), 0
    arrival, best = np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            out = outputs[write : write + n]
            semimarkov(_rows_of(scores, k), scores.transition, scores.begin, scores.end, arrival, best, out)
        write += n


@kernel
def _best_k(scores: SegmentScores, k: int) -> tuple[IntVector, FloatVector, IntVector]:
    n = len(scores.sizes)
    counts, totals = np.ones(n, dtype=np.int32), np.zeros(n * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n):
        size = scores.sizes[number]
        if size > 0:
            rows, out = _rows_of(scores, number), outputs[write : write + k * size].reshape(k, size)
            best = totals[found : found + k]
            counts[number] = semimarkov_kbest(rows, scores.transition, scores.begin, scores.end, k, out, best)
        else:
            totals[found] = 0.0
        write += counts[number] * size
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def _total(scores: SegmentScores, outputs: IntVector, totals: FloatVector) -> None:
    read = 0
    for k in range(len(scores.sizes)):
        n, totals[k] = scores.sizes[k], 0.0
        if n > 0:
            codes = outputs[read : read + n]
            totals[k] = segmentation_score(_rows_of(scores, k), scores.transition, scores.begin, scores.end, codes)
        read += n


@kernel
def _note(numbers: LongVector, values: FloatVector, write: int, plus: int, minus: int) -> int:
    """Append a part of gold and one of the output, −1 for none, unless they are the same."""
    if plus != minus and plus >= 0:
        numbers[write], values[write] = plus, 1.0
        write += 1
    if plus != minus and minus >= 0:
        numbers[write], values[write] = minus, -1.0
        write += 1
    return write


@kernel
def _ends(codes: IntVector, t: int) -> bool:
    """Whether t is the last token of a segment."""
    return t == len(codes) - 1 or codes[t + 1] & 1 == 1


@kernel
def _pair(codes: IntVector, t: int, n_labels: int) -> int:
    """The labels of t and of the next token."""
    return (codes[t] >> 1) * n_labels + (codes[t + 1] >> 1)


@kernel
def _change(
    sizes: LongVector, longest: int, n_labels: int, gold: IntVector, outputs: IntVector
) -> tuple[LongVector, LongVector, FloatVector]:
    room = 4 * len(sizes) + 4 * sizes.sum()
    indptr, numbers, values = np.zeros(len(sizes) + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    write = read = 0
    for k in range(len(sizes)):
        n = sizes[k]
        right, found = gold[read : read + n], outputs[read : read + n]
        at_pairs = n * longest * n_labels
        right_start = start = 0
        for t in range(n):
            plus = minus = right_pair = pair = -1
            if _ends(right, t):
                plus = (right_start * longest + t - right_start) * n_labels + (right[t] >> 1)
                right_pair = at_pairs + _pair(right, t, n_labels) if t < n - 1 else -1
                right_start = t + 1
            if _ends(found, t):
                minus = (start * longest + t - start) * n_labels + (found[t] >> 1)
                pair = at_pairs + _pair(found, t, n_labels) if t < n - 1 else -1
                start = t + 1
            write = _note(numbers, values, write, plus, minus)
            write = _note(numbers, values, write, right_pair, pair)
        if n > 0:
            at_begin = at_pairs + n_labels * n_labels
            at_end = at_begin + n_labels
            write = _note(numbers, values, write, at_begin + (right[0] >> 1), at_begin + (found[0] >> 1))
            write = _note(numbers, values, write, at_end + (right[n - 1] >> 1), at_end + (found[n - 1] >> 1))
        read += n
        indptr[k + 1] = write
    return indptr, numbers[:write], values[:write]


@kernel
def _through(scores: SegmentScores, out: FloatMatrix) -> None:
    shape, longest, write = (longest_of(scores.sizes), len(scores.begin)), scores.segment.shape[1], 0
    arrival, best, departure, onset = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(len(scores.sizes)):
        n, rows = scores.sizes[k], _rows_of(scores, k)
        forward(rows, scores.transition, scores.begin, arrival, best)
        backward(rows, scores.transition, scores.end, departure, onset)
        for t in range(n):
            for d in range(min(longest, n - t)):
                max_marginals(rows, arrival, departure, t, d, out[write])
                write += 1


@kernel
def _most_errors(costs: FloatMatrix) -> int:
    """The largest error of any segmentation."""
    n, longest, n_labels = costs.shape
    most = np.zeros(n + 1)
    for t in range(n):
        for d in range(min(longest, n - t)):
            for label in range(n_labels):
                most[t + d + 1] = max(most[t + d + 1], most[t] + costs[t, d, label])
    return int(most[n])


@kernel
def _worst(scores: SegmentScores, costs: SegmentScores, unit: float, gold: IntVector, outputs: IntVector) -> None:
    n_labels, read = len(scores.begin), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        out, right = outputs[read : read + n], gold[read : read + n]
        read += n
        if n == 0:
            continue
        for t in range(n):
            out[t] = right[t]
        rows, errors = _rows_of(scores, k), _rows_of(costs, k)
        gold_score = segmentation_score(rows, scores.transition, scores.begin, scores.end, right)
        shape = n, n_labels, _most_errors(errors) + 1
        arrival, best = np.empty(shape), np.empty(shape)
        errors_forward(rows, errors, scores.transition, scores.begin, arrival, best)
        value, error, last = 0.0, 0, 0
        for label in range(n_labels):
            for e in range(1, shape[2]):
                other = unit * e * (1.0 - gold_score + best[n - 1, label, e] + scores.end[label])
                if other > value:
                    value, error, last = other, e, label
        if error > 0:
            trace_error(rows, errors, scores.transition, arrival, best, last, error, out)


@kernel
def _worst_label(costs: FloatVector, marginals: FloatVector, gold: float) -> int:
    """The label with the largest cost · (1 − gold + max-marginal), −1 if none is above 0."""
    found, value = -1, 0.0
    for label in range(len(marginals)):
        # The product of no cost and −∞ is not a number.
        if costs[label] > 0.0 and costs[label] * (1.0 - gold + marginals[label]) > value:
            found, value = label, costs[label] * (1.0 - gold + marginals[label])
    return found


@kernel
def _violators(scores: SegmentScores, costs: SegmentScores, gold: IntVector, errors: FloatVector) -> IntVector:
    longest, marginals = scores.segment.shape[1], np.empty(len(scores.begin))
    outputs, read, write, position = np.empty(len(errors), dtype=np.int32), 0, 0, 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        own, right = _rows_of(costs, k), gold[read : read + n]
        passes = both_passes(_rows_of(scores, k), scores.transition, scores.begin, scores.end)
        gold_score = segmentation_score(passes.segment, scores.transition, scores.begin, scores.end, right)
        for t in range(n):
            for d in range(min(longest, n - t)):
                max_marginals(passes.segment, passes.arrival, passes.departure, t, d, marginals)
                label = _worst_label(own[t, d], marginals, gold_score)
                if label >= 0:
                    errors[position] = own[t, d, label]
                    outputs = grown(outputs, write, n)
                    write_through(passes, t, d, label, outputs[write : write + n])
                    write += n
                position += 1
        read += n
    return outputs[:write]


@kernel
def _best_wrong(scores: SegmentScores, costs: SegmentScores, gold: IntVector, outputs: IntVector) -> None:
    longest, n_labels, read = scores.segment.shape[1], len(scores.begin), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        own, out = _rows_of(costs, k), outputs[read : read + n]
        passes = both_passes(_rows_of(scores, k), scores.transition, scores.begin, scores.end)
        start, more, wrong, best = 0, 0, -1, -np.inf
        for t in range(n):
            out[t] = gold[read + t]
            for d in range(min(longest, n - t)):
                for label in range(n_labels):
                    total = passes.arrival[t, label] + passes.segment[t, d, label] + passes.departure[t + d, label]
                    if own[t, d, label] > 0.0 and total > best:
                        start, more, wrong, best = t, d, label, total
        if wrong >= 0:
            write_through(passes, start, more, wrong, out)
        read += n


@kernel
def _plus(room: SegmentScores, scores: SegmentScores) -> None:
    longest, n_labels = room.segment.shape[1:]
    for k in range(len(room.sizes)):
        n = room.sizes[k]
        for t in range(n):
            own, other = room.segment[room.starts[k] + t], scores.segment[scores.starts[k] + t]
            for d in range(min(longest, n - t)):
                for label in range(n_labels):
                    own[d, label] += other[d, label]


@kernel
def _sums(scores: SegmentScores, log_z: FloatVector, segments: FloatMatrix, pairs: FloatMatrix) -> None:
    room = new_segment_sums(longest_of(scores.sizes), len(scores.begin))
    for k in range(len(scores.sizes)):
        first, n = scores.starts[k], scores.sizes[k]
        log_z[k] = 0.0
        if n > 0:
            rows, out = _rows_of(scores, k), segments[first : first + n]
            log_z[k] = semimarkov_sums(rows, scores.transition, scores.begin, scores.end, room, out, pairs[k])


@kernel
def _residual(counts: SegmentCounts, gold: IntVector) -> None:
    longest, n_labels = counts.segments.shape[1:]
    read = 0
    for k in range(len(counts.sizes)):
        first, n, pairs = counts.starts[k], counts.sizes[k], counts.pairs[k]
        for row in range(first, first + n):
            for d in range(longest):
                for label in range(n_labels):
                    counts.segments[row, d, label] = -counts.segments[row, d, label]
        for p in range(n_labels):
            for label in range(n_labels):
                pairs[p, label] = -pairs[p, label]
        codes, start = gold[read : read + n], 0
        for t in range(n):
            if _ends(codes, t):
                counts.segments[first + start, t - start, codes[t] >> 1] += 1.0
                if t < n - 1:
                    pairs[codes[t] >> 1, codes[t + 1] >> 1] += 1.0
                start = t + 1
        read += n


def candidates(sizes: LongVector, longest: int) -> BoolMatrix:
    """Which segments [t, d] end within their sequence; sequences are laid end to end.

    >>> candidates(np.array([3, 1]), 2).tolist()
    [[True, True], [True, True], [True, False], [True, False]]
    """
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(sizes.sum())
    return np.arange(longest) < left[:, None]


@dataclass(frozen=True, slots=True)
class Segments:
    """Segmentations into segments of up to `longest` tokens."""

    counts_errors: ClassVar[bool] = True

    n_labels: int
    longest: int

    def room(self, sizes: LongVector) -> SegmentScores:
        """Room for the scores of segments, no longer than the longest sequence."""
        longest = min(self.longest, int(sizes.max(initial=1)))
        segment = np.empty((sizes.sum(), longest, self.n_labels))
        nothing = np.empty(0)
        return SegmentScores(np.cumsum(sizes) - sizes, sizes, segment, np.empty((0, 0)), nothing, nothing)

    def lengths(self, sizes: LongVector) -> LongVector:
        """A code for each token."""
        return sizes

    def entries(self, sizes: LongVector) -> LongVector:
        """As many scores, at most."""
        return sizes * (self.longest * self.n_labels)

    def positions(self, sizes: LongVector) -> LongVector:
        """The candidate spans of a sequence: all that are no longer than `longest`."""
        longest = np.minimum(sizes, self.longest)
        return longest * sizes - longest * (longest - 1) // 2

    def plus(self, room: SegmentScores, scores: SegmentScores) -> SegmentScores:
        """The scores added to costs that fill the room."""
        _plus(room, scores)
        return room._replace(transition=scores.transition, begin=scores.begin, end=scores.end)

    def best(self, scores: SegmentScores) -> IntVector:
        """The best segmentations."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, outputs)
        return outputs

    def best_k(self, scores: SegmentScores, k: int) -> Best:
        """The k best segmentations."""
        return Best(*_best_k(scores, k))

    def total(self, scores: SegmentScores, outputs: IntVector) -> FloatVector:
        """The scores of segmentations."""
        totals = np.empty(len(scores.sizes))
        _total(scores, outputs, totals)
        return totals

    def change(self, sizes: LongVector, gold: IntVector, outputs: IntVector) -> Parts:
        """The segments, pairs, first and last labels that differ."""
        return Parts(*_change(sizes, self.longest, self.n_labels, gold, outputs))

    def through(self, scores: SegmentScores) -> FloatMatrix:
        """For each candidate span, by first token and length, the best score with each label there."""
        best = np.empty((self.positions(scores.sizes).sum(), self.n_labels))
        _through(scores, best)
        return best

    def best_wrong(self, scores: SegmentScores, costs: SegmentScores, gold: IntVector) -> IntVector:
        """The best segmentations that have an error."""
        outputs = np.empty(len(gold), dtype=np.int32)
        _best_wrong(scores, costs, gold, outputs)
        return outputs

    def worst(self, scores: SegmentScores, costs: SegmentScores, unit: float, gold: IntVector) -> IntVector:
        """The worst segmentations under slack scaling; the error is a dimension of the recursion."""
        outputs = np.empty(len(gold), dtype=np.int32)
        _worst(scores, costs, unit, gold, outputs)
        return outputs

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """What `worst` takes: two tables of the best score for each token, label and error."""
        return 16.0 * sizes * self.n_labels * (most + 1.0)

    def violators(self, scores: SegmentScores, costs: SegmentScores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst segmentations that are wrong at each candidate span (Sarawagi & Gupta 2008, §4.3.2)."""
        errors = np.zeros(self.positions(scores.sizes).sum())
        return errors, _violators(scores, costs, gold, errors)

    def sums(self, scores: SegmentScores) -> Sums:
        """Semi-Markov forward–backward."""
        n, rows = len(scores.sizes), len(scores.segment)
        # Rows of padding belong to no sequence.
        room = np.empty if scores.sizes.sum() == rows else np.zeros
        log_z, segments, pairs = np.empty(n), room(scores.segment.shape), np.zeros((n, self.n_labels, self.n_labels))
        _sums(scores, log_z, segments, pairs)
        return Sums(log_z, SegmentCounts(scores.starts, scores.sizes, segments, pairs))

    def own(self, counts: SegmentCounts) -> FloatMatrix:
        """A row for each candidate span."""
        return counts.segments[candidates(counts.sizes, counts.segments.shape[1])]

    def residual(self, counts: SegmentCounts, gold: IntVector) -> SegmentCounts:
        """Indicators of the gold segments and pairs, less the counts."""
        _residual(counts, gold)
        return counts
