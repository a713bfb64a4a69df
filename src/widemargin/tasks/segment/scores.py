"""Features of segmentations: θ = F w, from weights to the scores of segments and pairs of labels, and back.

    segment[t, d, y] = Σ_{f∈x_t} B[f, y] + Σ_{s=t}^{t+d} Σ_{f∈x_s} I[f, y] + Σ_{f∈x_t+d} E[f, y]
                     + Σ_{g∈z} S[g, y] + length[d, y]

for the segment of d + 1 tokens from t on, whose span has the features z; −inf if it is longer than its label allows.
Gathering is the transpose: coefficients r of segments become coefficients of tokens in three roles. The coefficient of
token t as the first of a segment is Σ_d r[t, d], as the last Σ_d r[t-d, d], and as any token the sum of r over the
segments that contain t.

The candidate spans of a sequence are all spans of up to `longest` tokens, numbered by their first token, then by their
length; those of several sequences follow one another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import (
    NO_ROWS,
    Draft,
    Rows,
    add_features,
    add_thin_features,
    boundaries,
    coalesce,
    new_table,
    with_room,
)
from widemargin.errors import DataError
from widemargin.structures.chain import table_of
from widemargin.structures.flat import Counts, Parts, Scores, longest_of
from widemargin.structures.label_rows import append, append_features, count_features, sum_by_feature
from widemargin.structures.part_rows import distinct, runs
from widemargin.tasks.token_examples import LabelShape, LabelWeights


def span_boundaries(indptr: LongVector, longest: int) -> LongVector:
    """The number of each token's first span, followed by the number of all spans; sequences begin at `indptr`.

    >>> span_boundaries(np.array([0, 3, 4]), longest=2).tolist()
    [0, 2, 4, 5, 6]
    """
    left = np.repeat(indptr[1:], np.diff(indptr)) - np.arange(indptr[-1])
    return boundaries(np.minimum(left, longest))


BEGIN, INSIDE, END = range(3)
"""The roles in which a token's features count: as the first, as any, and as the last token of a segment."""
ROLES = 3


class SegmentParts(NamedTuple):
    """The fields of `SegmentWeights`."""

    roles: FloatMatrix
    segment: FloatMatrix
    length: FloatMatrix
    shared: FloatVector
    thin_roles: Rows = NO_ROWS
    thin_segment: Rows = NO_ROWS


class SegmentWeights(SegmentParts, LabelWeights):
    """A weight vector as named arrays.

    Row f of `roles` holds the labels' weights of token feature f at the first token of a segment, then at every token,
    then at the last; row d of `length` those of segments of d + 1 tokens.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Segmentation(LabelShape):
    """The shape of a segmentation model; `max_lengths` says for each label how many tokens its segments may have.

    The arrays of weights are those of token features (features × roles × labels), of segment features (× labels), of
    lengths (× labels), and of transitions, first and last labels.
    """

    weights: ClassVar[type[SegmentWeights]] = SegmentWeights

    n_labels: int
    n_features: int
    n_segment_features: int
    max_lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.max_lengths) != self.n_labels or min(self.max_lengths, default=0) < 1:
            raise DataError(f"max_lengths must hold a positive length for each of the {self.n_labels} labels")
        self.check_size(
            f"{self.n_features:,} token features in {ROLES} roles and {self.n_segment_features:,} segment features"
        )

    @property
    def longest(self) -> int:
        """The most tokens that any segment may have."""
        return max(self.max_lengths)

    @cached_property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the named arrays."""
        n = self.n_labels
        return (self.n_features, ROLES * n), (self.n_segment_features, n), (self.longest, n), (n * (n + 2),)


class SegmentData(NamedTuple):
    """Sequences laid end to end, as kernels see them.

    `spans[t]` is the row of segment features of the span of token t alone, longer ones follow. The weights of segment
    features, lengths and transitions begin at `at_segment`, `at_length` and `at_transition`.
    """

    indptr: LongVector
    spans: LongVector
    rows: Rows
    segment_rows: Rows
    max_lengths: IntVector
    at_segment: int
    at_length: int
    at_transition: int


@kernel
def _token_scores(data: SegmentData, weights: SegmentWeights, first: int, tokens: FloatMatrix) -> None:
    for t in range(len(tokens)):
        row = tokens[t]
        for k in range(len(row)):
            row[k] = 0.0
        if len(weights.roles) > 0:
            add_features(data.rows, first + t, weights.roles, row)
        else:
            add_thin_features(data.rows, first + t, weights.thin_roles, row)


@kernel
def _add_scores(data: SegmentData, weights: SegmentWeights, batch: IntVector, scores: Scores) -> None:
    longest, n_labels = weights.length.shape
    tokens, running = np.empty((longest_of(scores.sizes), ROLES * n_labels)), np.empty(n_labels)
    some, of_spans = len(data.segment_rows.indptr) > 1, data.segment_rows.indptr
    lengths = np.empty((longest, n_labels))
    for d in range(longest):
        for label in range(n_labels):
            lengths[d, label] = weights.length[d, label] if d < data.max_lengths[label] else -np.inf
    for k in range(len(batch)):
        first, n = data.indptr[batch[k]], scores.sizes[k]
        segment = table_of(scores.own, scores.starts[k], n, longest, n_labels)
        _token_scores(data, weights, first, tokens[:n])
        for t in range(n):
            for label in range(n_labels):
                running[label] = tokens[t, BEGIN * n_labels + label]
            for d in range(min(longest, n - t)):
                inside = tokens[t + d, INSIDE * n_labels : (INSIDE + 1) * n_labels]
                last, length, out = tokens[t + d, END * n_labels :], lengths[d], segment[t, d]
                for label in range(n_labels):
                    running[label] += inside[label]
                for label in range(n_labels):
                    out[label] += running[label] + last[label] + length[label]
                span = data.spans[first + t] + d
                if not some or of_spans[span] == of_spans[span + 1]:
                    continue  # most spans have no features, and a call takes as long as adding several
                if len(weights.segment) > 0:
                    add_features(data.segment_rows, span, weights.segment, out)
                else:
                    add_thin_features(data.segment_rows, span, weights.thin_segment, out)


@kernel
def _push(rows: Rows, row: int, width: int, place: int, value: float, draft: Draft, write: int) -> int:
    """Append value times the features of a row at the weights place, place + width, …; return where they end."""
    for k in range(rows.indptr[row], rows.indptr[row + 1]):
        draft.indices[write] = place + rows.indices[k] * width
        draft.values[write] = value * (rows.values[k] if len(rows.values) > 0 else 1.0)
        write += 1
    return write


@kernel
def _room(data: SegmentData, first: int, t: int, d: int) -> int:
    """An upper bound on the entries of a segment."""
    of_tokens, begin, end = data.rows.indptr, first + t, first + t + d + 1
    room = 1 + of_tokens[end] - of_tokens[begin]
    room += of_tokens[begin + 1] - of_tokens[begin] + of_tokens[end] - of_tokens[end - 1]
    if len(data.segment_rows.indptr) > 1:
        span = data.spans[begin] + d
        room += data.segment_rows.indptr[span + 1] - data.segment_rows.indptr[span]
    return room


@kernel
def _gather(data: SegmentData, longest: int, n_labels: int, batch: IntVector, parts: Parts) -> Rows:
    width, most = ROLES * n_labels, 1
    for i in batch:
        most = max(most, data.indptr[i + 1] - data.indptr[i])
    # Coefficients of a sequence's tokens in their roles. Where gold and output agree they cancel here, before any
    # feature is written, so that an output close to gold costs little however long its segments are.
    roles, touched = np.zeros((most, width)), np.zeros(most, dtype=np.bool_)
    indptr = np.zeros(len(batch) + 1, dtype=np.int64)
    draft = Draft(np.empty(64 * len(batch), dtype=np.int32), np.empty(64 * len(batch)), new_table(64))
    for k in range(len(batch)):
        first, n = data.indptr[batch[k]], data.indptr[batch[k] + 1] - data.indptr[batch[k]]
        widest = min(longest, n)
        at_pairs, begin, end = n * widest * n_labels, parts.indptr[k], parts.indptr[k + 1]
        room = end - begin
        for j in range(begin, end):
            if parts.numbers[j] < at_pairs:
                span = parts.numbers[j] // n_labels
                room += _room(data, first, span // widest, span % widest)
        draft = with_room(draft, indptr[k], room)
        write = indptr[k]
        for j in range(begin, end):
            number, value = parts.numbers[j], parts.values[j]
            if number >= at_pairs:
                # Pairs of labels, first labels and last labels have weights of their own, in this order.
                draft.indices[write], draft.values[write] = data.at_transition + number - at_pairs, value
                write += 1
                continue
            span, label = number // n_labels, number % n_labels
            t, d = span // widest, span % widest
            roles[t, BEGIN * n_labels + label] += value
            roles[t + d, END * n_labels + label] += value
            for s in range(t, t + d + 1):
                roles[s, INSIDE * n_labels + label] += value
                touched[s] = True
            draft.indices[write], draft.values[write] = data.at_length + d * n_labels + label, value
            write += 1
            if len(data.segment_rows.indptr) > 1:
                place = data.at_segment + label
                write = _push(data.segment_rows, data.spans[first + t] + d, n_labels, place, value, draft, write)
        for t in range(n):
            if touched[t]:
                touched[t] = False
                row = roles[t]
                for place in range(width):
                    if row[place] != 0.0:
                        write = _push(data.rows, first + t, width, place, row[place], draft, write)
                        row[place] = 0.0
        indptr[k + 1] = coalesce(draft.indices, draft.values, indptr[k], write, indptr[k], draft.table)
    end = indptr[len(batch)]
    return Rows(indptr, draft.indices[:end], draft.values[:end])


@kernel
def _add(row: FloatVector, out: FloatVector) -> None:
    for label in range(len(row)):
        out[label] += row[label]


@kernel
def _sum_parts(segments: FloatMatrix, spans: FloatMatrix, roles: FloatMatrix, lengths: FloatVector) -> int:
    """Sum coefficients of segments by token and role and by length; list them by span; return the number of spans."""
    n, longest, n_labels = segments.shape
    for t in range(n):
        for k in range(ROLES * n_labels):
            roles[t, k] = 0.0
    for d in range(longest):
        for label in range(n_labels):
            lengths[d * n_labels + label] = 0.0
    row, onward = 0, np.empty(n_labels)
    for t in range(n):
        for label in range(n_labels):
            onward[label] = 0.0
        most = min(longest, n - t)
        # Longest first, so that `onward` is the sum over the segments from t on that contain the token t + d.
        for d in range(most - 1, -1, -1):
            part = segments[t, d]
            for label in range(n_labels):
                spans[row + d, label] = part[label]
            _add(part, lengths[d * n_labels : (d + 1) * n_labels])
            _add(part, onward)
            _add(part, roles[t + d, END * n_labels : (END + 1) * n_labels])
            _add(onward, roles[t + d, INSIDE * n_labels : (INSIDE + 1) * n_labels])
        _add(onward, roles[t, BEGIN * n_labels : (BEGIN + 1) * n_labels])
        row += most
    return row


@kernel
def _gather_counts(data: SegmentData, longest: int, L: int, batch: IntVector, counts: Counts) -> Rows:
    room, most = count_features(data.rows, data.indptr, batch)
    room_spans, most_spans = count_features(data.segment_rows, data.spans[data.indptr], batch)
    room = room * ROLES * L + room_spans * L + len(batch) * (longest + L + 2) * L
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, names = new_table(max(most, most_spans)), np.empty(max(most, most_spans), dtype=np.int32)
    sums, span_sums = np.empty((most, ROLES * L)), np.empty((most_spans, L))
    n_tokens = longest_of(counts.sizes)
    roles, lengths, spans = np.empty((n_tokens, ROLES * L)), np.empty(longest * L), np.empty((n_tokens * longest, L))
    write = psi.indptr[0]
    for k in range(len(batch)):
        first, n = data.indptr[batch[k]], counts.sizes[k]
        # Coefficients are summed by token and span, then by distinct feature: every weight is written once, and no
        # entries have to be merged afterwards.
        if n > 0:
            own, segments = roles[:n], table_of(counts.own, counts.starts[k], n, longest, L)
            n_spans = _sum_parts(segments, spans, own, lengths)
            n_distinct = sum_by_feature(data.rows, first, own, table, names, sums)
            write = append_features(names, sums, n_distinct, data.indptr[0], psi, write)
            if most_spans > 0:
                n_distinct = sum_by_feature(
                    data.segment_rows, data.spans[first], spans[:n_spans], table, names, span_sums
                )
                write = append_features(names, span_sums, n_distinct, data.at_segment, psi, write)
            write = append(lengths[: segments.shape[1] * L], data.at_length, psi, write)
            write = append(counts.shared[k], data.at_transition, psi, write)
        psi.indptr[k + 1] = write
    return Rows(psi.indptr, psi.indices[:write], psi.values[:write])


class SegmentFeatures:
    """The features of sequences and their candidate spans (`structures.parts.Features`).

    Parameters
    ----------
    shape : of the weights
    indptr : (n + 1,) where each sequence begins among the tokens
    rows : the features of each token, a row per token
    segment_rows : the features of each candidate span, a row per span, or no rows
    """

    def __init__(self, shape: Segmentation, indptr: LongVector, rows: Rows, segment_rows: Rows = NO_ROWS) -> None:
        self.shape, self.indptr, self.rows, self.segment_rows = shape, indptr, rows, segment_rows
        self.n_weights, self.sizes = shape.n_weights, indptr[1:] - indptr[:-1]
        self.spans = span_boundaries(indptr, shape.longest)
        lengths = np.array(shape.max_lengths, dtype=np.int32)
        self._data = SegmentData(indptr, self.spans, rows, segment_rows, lengths, *shape.offsets[1:])

    @cached_property
    def work(self) -> FloatVector:
        """Microseconds per sequence, measured with errors: as for chains, plus 8 ns for each label of a span."""
        n_labels = self.shape.n_labels
        nanoseconds = self.sizes * n_labels**2 / 6 + self.n_spans * 8 * n_labels
        nanoseconds += self._n_features * (10 + ROLES * n_labels / 2) + self._n_segment_features * (10 + n_labels / 2)
        return nanoseconds / 1000

    @property
    def n_spans(self) -> LongVector:
        """How many candidate spans each sequence has."""
        return np.diff(self.spans[self.indptr])

    @property
    def _n_features(self) -> LongVector:
        """How many features the tokens of each sequence have."""
        return np.diff(self.rows.indptr[self.indptr])

    @property
    def _n_segment_features(self) -> LongVector:
        """How many features the candidate spans of each sequence have."""
        if len(self.segment_rows.indptr) == 1:
            return np.zeros(len(self.sizes), dtype=np.int64)
        return np.diff(self.segment_rows.indptr[self.spans[self.indptr]])

    def scores(self, w: FloatVector | SegmentWeights, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features; transitions are the weights themselves."""
        weights = w if isinstance(w, SegmentWeights) else self.shape.parts(w)
        _add_scores(self._data, weights, batch, room)
        return room._replace(shared=weights.shared)

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self._data, self.shape.longest, self.shape.n_labels, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        return _gather_counts(self._data, self.shape.longest, self.shape.n_labels, batch, counts)

    def most_entries(self) -> FloatVector:
        """How many entries ψ of each sequence may have.

        The estimate assumes a segment per token, with the average number of features of a span.
        """
        of_spans = self.sizes * self._n_segment_features / np.maximum(self.n_spans, 1)
        return 4.0 * (self.sizes + 1.0) + 2.0 * ROLES * self._n_features + 2.0 * of_spans

    def count_entries(self) -> LongVector:
        """How many entries `gather_counts` may have for the features of each sequence."""
        return (ROLES * self._n_features + self._n_segment_features) * self.shape.n_labels

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: adding up rows is as fast."""

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all lengths and transitions."""
        data, n_labels = self._data, self.shape.n_labels
        of_tokens = distinct(self.rows, self.indptr, batch)
        parts = [runs(of_tokens, ROLES * n_labels, 0), np.array([[data.at_length, self.n_weights]])]
        if self.shape.n_segment_features:
            of_spans = distinct(self.segment_rows, self.spans[self.indptr], batch)
            parts.append(runs(of_spans, n_labels, data.at_segment))
        return np.concatenate(parts)
