"""Segmentations as a probability model: how they differ from gold on average.

    p(y) ∝ exp(⟨w, φ(x, y)⟩ + error_scale · Δ(y));   −log p(gold) = log Z − ⟨w, φ(x, gold)⟩
    φ(x, gold) − E[φ(x, y)]:   Σ over spans (t, u) of φ(t, u, y) · r[t, u, y],   r = [gold has (t, u, y)] − p(t, u, y)

and likewise for pairs of labels. The features of a token count in three roles. Its residual as the first token of a
segment is Σ_u r[t, u], as the last Σ_t r[t, u], and as any Σ r over the spans that hold it.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, new_table
from widemargin.decoders.semimarkov import segmentation_score
from widemargin.decoders.semimarkov_sums import SegmentSums, new_segment_sums, semimarkov_sums
from widemargin.structures.label_rows import append, append_features, count_features, sum_by_feature
from widemargin.tasks.segment.difference import Layout
from widemargin.tasks.segment.scores import SegmentData, new_scores, part_scores
from widemargin.tasks.segment.weights import BEGIN, END, INSIDE, ROLES, SegmentWeights


class Scratch(NamedTuple):
    """Arrays for the longest sequence of a batch: part scores, sums, and the residuals of all parts."""

    tokens: FloatMatrix
    segment: FloatMatrix
    sums: SegmentSums
    segments: FloatMatrix
    pairs: FloatMatrix
    spans: FloatMatrix
    roles: FloatMatrix
    lengths: FloatMatrix


@kernel
def _new_scratch(data: SegmentData, weights: SegmentWeights, batch: IntVector) -> Scratch:
    tokens, segment = new_scores(data, weights, batch)
    n, longest, n_labels = segment.shape
    return Scratch(
        tokens,
        segment,
        new_segment_sums(n, n_labels),
        np.empty(segment.shape),
        np.empty((n_labels, n_labels)),
        np.empty((n * longest, n_labels)),
        np.empty(tokens.shape),
        np.empty((longest, n_labels)),
    )


@kernel
def _subtract_from_gold(gold: IntVector, segments: FloatMatrix, pairs: FloatMatrix) -> None:
    """Turn probabilities into indicators of the gold segments and pairs less probabilities."""
    for t in range(segments.shape[0]):
        for d in range(segments.shape[1]):
            for label in range(segments.shape[2]):
                segments[t, d, label] = -segments[t, d, label]
    for k in range(len(pairs)):
        for label in range(len(pairs)):
            pairs[k, label] = -pairs[k, label]
    t = 0
    for u in range(len(gold)):
        if u == len(gold) - 1 or gold[u + 1] & 1:
            segments[t, u - t, gold[u] >> 1] += 1.0
            if u < len(gold) - 1:
                pairs[gold[u] >> 1, gold[u + 1] >> 1] += 1.0
            t = u + 1


@kernel
def _add(row: FloatVector, out: FloatVector) -> None:
    for label in range(len(row)):
        out[label] += row[label]


@kernel
def _sum_parts(segments: FloatMatrix, spans: FloatMatrix, roles: FloatMatrix, lengths: FloatMatrix) -> int:
    """Sum the residuals of segments by tokens in their roles and by lengths; list those of spans, return how many."""
    n, longest, n_labels = segments.shape
    for t in range(n):
        for k in range(ROLES * n_labels):
            roles[t, k] = 0.0
    for d in range(longest):
        for label in range(n_labels):
            lengths[d, label] = 0.0
    row, onward = 0, np.empty(n_labels)
    for t in range(n):
        for label in range(n_labels):
            onward[label] = 0.0
        most = min(longest, n - t)
        # From the longest on, so that `onward` is the sum over the segments from t on that hold the token t + d.
        for d in range(most - 1, -1, -1):
            part = segments[t, d]
            for label in range(n_labels):
                spans[row + d, label] = part[label]
            _add(part, lengths[d])
            _add(part, onward)
            _add(part, roles[t + d, END * n_labels : (END + 1) * n_labels])
            _add(onward, roles[t + d, INSIDE * n_labels : (INSIDE + 1) * n_labels])
        _add(onward, roles[t, BEGIN * n_labels : (BEGIN + 1) * n_labels])
        row += most
    return row


@kernel
def _residuals(data: SegmentData, weights: SegmentWeights, i: int, error_scale: float, scratch: Scratch) -> float:
    """Leave indicators of gold less probabilities in `segments` and `pairs`; return −log p(gold)."""
    n = part_scores(data, weights, i, error_scale, scratch.tokens, scratch.segment)
    first, segment, segments = data.indptr[i], scratch.segment[:n], scratch.segments[:n]
    log_z = semimarkov_sums(
        segment, weights.transition, weights.begin, weights.end, scratch.sums, segments, scratch.pairs
    )
    gold = data.gold[first : first + n]
    _subtract_from_gold(gold, segments, scratch.pairs)
    return max(log_z - segmentation_score(segment, weights.transition, weights.begin, weights.end, gold), 0.0)


@kernel
def probabilities(
    data: SegmentData,
    weights: SegmentWeights,
    batch: IntVector,
    starts: LongVector,
    out: FloatMatrix,
    log_z: FloatVector,
) -> None:
    """A row for each candidate span of the batch: for each label, the probability of that segment; and each log Z.

    Weights may be thinned.
    """
    scratch = _new_scratch(data, weights, batch)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], 0.0, scratch.tokens, scratch.segment)
        log_z[position] = 0.0
        if n > 0:
            segments = scratch.segments[:n]
            log_z[position] = semimarkov_sums(
                scratch.segment[:n],
                weights.transition,
                weights.begin,
                weights.end,
                scratch.sums,
                segments,
                scratch.pairs,
            )
            _sum_parts(segments, out[starts[position] : starts[position + 1]], scratch.roles[:n], scratch.lengths)


@kernel
def expectation(
    data: SegmentData, weights: SegmentWeights, layout: Layout, batch: IntVector, error_scale: float
) -> tuple[FloatVector, Rows]:
    """−log p(gold) of every sequence of the batch, and φ(x, gold) − E[φ(x, y)] without zeros. No thinned weights."""
    L, (n_lengths, _) = layout.n_labels, weights.length.shape
    scratch = _new_scratch(data, weights, batch)
    room, most = count_features(data.features, data.indptr, batch)
    room_spans, most_spans = count_features(data.segment_features, data.spans[data.indptr], batch)
    room = room * ROLES * L + room_spans * L + len(batch) * (n_lengths + L + 2) * L
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, names = new_table(max(most, most_spans)), np.empty(max(most, most_spans), dtype=np.int32)
    sums, span_sums = np.empty((most, ROLES * L)), np.empty((most_spans, L))
    errors = np.zeros(len(batch))
    write = psi.indptr[0]
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], data.indptr[batch[position] + 1] - data.indptr[batch[position]]
        if n > 0:
            errors[position] = _residuals(data, weights, batch[position], error_scale, scratch)
            roles, lengths = scratch.roles[:n], scratch.lengths
            n_spans = _sum_parts(scratch.segments[:n], scratch.spans, roles, lengths)
            n_distinct = sum_by_feature(data.features, first, roles, table, names, sums)
            write = append_features(names, sums, n_distinct, data.indptr[0], psi, write)
            if most_spans > 0:
                spans = scratch.spans[:n_spans]
                n_distinct = sum_by_feature(data.segment_features, data.spans[first], spans, table, names, span_sums)
                write = append_features(names, span_sums, n_distinct, layout.segment, psi, write)
            write = append(lengths.reshape(lengths.size), layout.length, psi, write)
            write = append(scratch.pairs.reshape(L * L), layout.transition, psi, write)
            write = append(roles[0, BEGIN * L : (BEGIN + 1) * L], layout.begin, psi, write)
            write = append(roles[n - 1, END * L : (END + 1) * L], layout.end, psi, write)
        psi.indptr[position + 1] = write
    return errors, Rows(psi.indptr, psi.indices[:write], psi.values[:write])
