"""Segments of new sequences: what a trained segmenter is asked most, without the checks and gold of training."""

from typing import Any

import numpy as np

from widemargin._types import IntVector
from widemargin.structures.examples import PartExamples
from widemargin.structures.segments import Segments
from widemargin.tasks.segment.costs import SegmentCosts
from widemargin.tasks.segment.features import ReadSegments, SegmentExtractor
from widemargin.tasks.segment.scores import SegmentFeatures
from widemargin.tasks.segment.weights import Segmentation, SegmentWeights
from widemargin.text.inputs import as_columns

NO_GOLD: IntVector = np.empty(0, dtype=np.int32)
NO_COSTS = SegmentCosts(np.zeros(1, dtype=np.int64), NO_GOLD, np.empty(0), np.empty(0), np.empty((0, 0)))


class SegmentPredictor:
    """The segmentations that a model gives to sequences, as codes."""

    def __init__(self, extractor: SegmentExtractor, weights: SegmentWeights, shape: Segmentation) -> None:
        self.extractor, self.weights, self.shape = extractor, weights, shape
        self.longest, self._structure = shape.longest, Segments(shape.n_labels, shape.longest)

    def looked_up(self, X: Any) -> ReadSegments:
        """Sequences with their strings looked up."""
        return self.extractor.read(as_columns(X), self.longest)

    def label(self, found: ReadSegments, first: int, last: int) -> IntVector:
        """The codes of the sequences first:last, end to end."""
        features = SegmentFeatures(self.shape, *found.features(first, last))
        examples = PartExamples(self._structure, features, NO_COSTS, NO_GOLD)
        codes: IntVector = examples.decode(self.weights, np.arange(last - first, dtype=np.int32))
        return codes

    @property
    def token_work(self) -> float:
        """About how many microseconds a token takes."""
        # Measured: a nanosecond for 6 label pairs, 8 for each label of a span, 100 for its features.
        n_labels = len(self.weights.begin)
        return 0.5 + n_labels**2 / 6000 + self.longest * (8 * n_labels + 100) / 1000
