"""Segments of new sequences: the best ones, the best that comply with constraints, and those of minimum risk.

If a wrong segment costs 1 and a missed one 1, and tokens outside cost nothing, a segmentation y costs on average

    Σ over its segments of (1 − p) + Σ over all others of p   =   a constant − Σ over its segments of (2p − 1)

so the best one for these sums, as scores of its segments, is that of minimum risk.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, IntVector, LongVector
from widemargin.structures.examples import best_outputs
from widemargin.structures.segments import Segments
from widemargin.tasks.constraints import numbers_of
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.features import ReadSegments, SegmentExtractor
from widemargin.tasks.segment.labels import decode_segments
from widemargin.tasks.segment.scores import SegmentFeatures
from widemargin.tasks.segment.weights import Segmentation, SegmentWeights
from widemargin.tasks.token_examples import Constrained
from widemargin.text.inputs import as_columns
from widemargin.text.spans import Span


class SegmentPredictor:
    """The segmentations that a model gives to sequences, as codes, without the checks and gold of training."""

    def __init__(self, extractor: SegmentExtractor, weights: SegmentWeights, shape: Segmentation) -> None:
        self.extractor, self.weights, self.shape = extractor, weights, shape
        self.longest, self._structure = shape.longest, Segments(shape.n_labels, shape.longest)

    def looked_up(self, X: Any) -> ReadSegments:
        """Sequences with their strings looked up."""
        return self.extractor.read(as_columns(X), self.longest)

    def label(self, found: ReadSegments, first: int, last: int) -> IntVector:
        """The codes of the sequences first:last, end to end."""
        features = SegmentFeatures(self.shape, *found.features(first, last))
        codes: IntVector = best_outputs(self._structure, features, self.weights)
        return codes

    @property
    def token_work(self) -> float:
        """About how many microseconds a token takes."""
        # Measured: a nanosecond for 6 label pairs, 8 for each label of a span, 100 for its features.
        n_labels = len(self.weights.begin)
        return 0.5 + n_labels**2 / 6000 + self.longest * (8 * n_labels + 100) / 1000


class ConstrainedSegments(Constrained[SegmentExamples]):
    """Sequences to be cut into segments under constraints.

    Labels are those of segments: the types of spans, and ``"O"`` for tokens outside, each of which is a segment of its
    own. Spans cannot be marked improperly, so `bio` forbids nothing.
    """

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return decode_segments(codes, self.labels, np.array([0, len(codes)]))[0]

    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        allowed: BoolMatrix = np.repeat(self.constraints.possible_labels(lengths, self.number), 2, axis=1)
        for i, span in self.constraints.forced_spans(lengths):
            first, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            [label] = numbers_of([span.type], self.number)
            allowed[first:end, np.arange(2 * len(self.labels)) // 2 != label] = False
            allowed[first + 1 : end, 1::2] = False  # tokens inside begin nothing
            allowed[first, 0::2] = False
            if span.end < lengths[i]:
                allowed[end, 0::2] = False
        return allowed

    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        any_label = np.ones(len(self.labels), dtype=bool)
        return self.constraints.possible_pairs(self.number), any_label, any_label

    def _starting(self, type_: str) -> BoolVector:
        return np.arange(2 * len(self.labels)) == 2 * numbers_of([type_], self.number)[0] + 1


def _table(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """(n, ≤ longest, L) probabilities from a row for each candidate span; −1 beyond the end of the sequence."""
    table = np.full((n, min(longest, n), rows.shape[1]), -1.0)
    table[np.add.outer(np.arange(n), np.arange(table.shape[1])) < n] = rows
    return table


def token_probabilities(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """For each of n tokens, the probability that it is in a segment with each label.

    >>> token_probabilities(np.array([[0.25], [0.75], [0.25]]), 2, 2)  # the first token, both, the second
    array([[1.],
           [1.]])
    """
    table, found = np.maximum(_table(rows, n, longest), 0.0), np.zeros((n, rows.shape[1]))
    reaching = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]  # segments from t on that hold the token t + d
    for d in range(table.shape[1]):
        found[d:] += reaching[: n - d, d]
    return found


def likely_segments(rows: FloatMatrix, n: int, longest: int, least: float) -> Iterator[tuple[int, int, int, float]]:
    """Start, end, label and probability of the segments that are at least that probable, in order."""
    table = _table(rows, n, longest)
    for t, d, label in np.argwhere(table >= max(least, 0.0)).tolist():
        yield t, t + d + 1, label, float(table[t, d, label])


def least_risk(structure: Segments, rows: list[FloatMatrix], sizes: LongVector, inside: BoolVector) -> IntVector:
    """The codes of the segmentations of minimum risk, end to end; labels that are not `inside` cost nothing."""
    room, n = structure.room(sizes), len(inside)
    gains = np.concatenate([*rows, np.empty((0, n))])
    gains = np.where(gains > 0.0, np.where(inside, 2.0 * gains - 1.0, 0.0), -np.inf)
    room.own[structure.candidates(room.starts, sizes)] = gains
    return structure.best(room._replace(shared=np.zeros(n * (n + 2))))
