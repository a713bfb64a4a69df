"""Segments of new sequences: what a trained segmenter is asked most, without the checks and gold of training."""

from typing import Any

import numpy as np

from widemargin._types import IntVector
from widemargin.core.sparse import NO_ROWS
from widemargin.tasks.segment.examples import decode_batch
from widemargin.tasks.segment.features import ReadSegments, SegmentExtractor
from widemargin.tasks.segment.known import NO_REACH
from widemargin.tasks.segment.scores import NO_LIMITS, SegmentData
from widemargin.tasks.segment.spans import span_boundaries
from widemargin.tasks.segment.weights import Segmentation, SegmentWeights
from widemargin.text.inputs import as_columns

_NO_GOLD: IntVector = np.empty(0, dtype=np.int32)


class SegmentPredictor:
    """The segmentations that a model gives to sequences, as codes."""

    def __init__(self, extractor: SegmentExtractor, weights: SegmentWeights, shape: Segmentation) -> None:
        self.extractor, self.weights, self.longest = extractor, weights, shape.longest
        nothing, none = np.empty(0, dtype=np.int64), np.empty(0)
        lengths = np.array(shape.max_lengths, dtype=np.int32)
        self._data = SegmentData(
            nothing,
            nothing,
            NO_ROWS,
            NO_ROWS,
            gold=_NO_GOLD,
            gold_lengths=_NO_GOLD,
            max_lengths=lengths,
            precision=none,
            recall=none,
            confusion=np.empty((0, 0)),
            missed=none,
            reach=NO_REACH,
            begins=NO_LIMITS.breaks,
            limits=NO_LIMITS,
        )

    def looked_up(self, X: Any) -> ReadSegments:
        """Sequences with their strings looked up."""
        return self.extractor.read(as_columns(X), self.longest)

    def label(self, found: ReadSegments, first: int, last: int) -> IntVector:
        """The codes of the sequences first:last, end to end."""
        indptr, rows, segment_rows = found.features(first, last)
        spans = span_boundaries(indptr, self.longest)
        data = self._data._replace(indptr=indptr, spans=spans, features=rows, segment_features=segment_rows)
        n, codes = len(indptr) - 1, np.empty(indptr[-1], dtype=np.int32)
        decode_batch(data, self.weights, np.arange(n, dtype=np.int32), indptr, np.zeros(n), codes)
        return codes

    @property
    def token_work(self) -> float:
        """About how many microseconds a token takes."""
        # Measured: a nanosecond for 6 label pairs, 8 for each label of a span, 100 for its features.
        n_labels = len(self.weights.begin)
        return 0.5 + n_labels**2 / 6000 + self.longest * (8 * n_labels + 100) / 1000
