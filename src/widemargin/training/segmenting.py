"""Training of segmenters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.spans import OUTSIDE
from widemargin.features.inputs import as_columns, lengths
from widemargin.features.segments import SEGMENT_FEATURES, SegmentExtractor
from widemargin.features.template_extractor import TemplateExtractor
from widemargin.features.templates import DEFAULT_TEMPLATES
from widemargin.loop import Score
from widemargin.predictors.segmenter import SegmentPredictor
from widemargin.segmentations import (
    Lengths,
    Penalties,
    as_labels,
    as_spans,
    bio_names,
    encode_segments,
    max_lengths,
)
from widemargin.solution import Solution
from widemargin.structures import Segmentation, SegmentExamples
from widemargin.structures.segment_check import gold_lengths
from widemargin.training.base import ModelSettings, TrainingSettings
from widemargin.training.tokens import TokenParameters


@dataclass(kw_only=True, repr=False, eq=False)
class SegmenterParameters(TokenParameters):
    """What there is to choose for a segmenter.

    Parameters
    ----------
    templates, lexicons, clusters, min_count, hash_bits : see `TokenParameters`; they are about the features of tokens
    segment_features : features of whole segments, some of `widemargin.features.segments.SEGMENT_FEATURES`
    segment_min_count : features that fewer segments of the training data have are left out
    max_length : how many tokens a segment may have: None for as many as the longest of its label in the training data,
        a number that none of these may exceed, or a dict with numbers for some labels
    precision, recall : what a wrong segment costs, and what a missed one, as dicts by label; what is not named costs 1,
        and nothing for ``"O"``, which is the label of tokens outside
    confusion : what a wrong label on a right segment costs, ``{(gold, predicted): cost}`` or ``{gold: cost}``; what is
        not named costs as much as a wrong segment and a missed one
    dev_metric : the development score: ``"f1"`` (of segments), ``"accuracy"`` (of tokens), ``"sequence_accuracy"``
    """

    segment_features: Sequence[str] = SEGMENT_FEATURES
    segment_min_count: int = 2
    max_length: Lengths = None
    precision: Mapping[str, float] | None = None
    recall: Mapping[str, float] | None = None
    confusion: Mapping[Any, float] | None = None
    dev_metric: str = "f1"


class SegmenterSettings(SegmenterParameters, ModelSettings[SegmentPredictor]):
    """Parameters that can train a segmenter."""

    def compile(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> "SegmentingTask":
        """Features and segments as arrays, once, for any number of training runs."""
        spans = as_spans(X, y)
        labels, gold = encode_segments(spans, lengths(X))
        longest = max_lengths(self.max_length, labels, spans)
        columns = as_columns(X)
        tokens = TemplateExtractor(
            DEFAULT_TEMPLATES if self.templates is None else self.templates,
            self.resources(),
            min_count=self.min_count,
            hash_bits=self.hash_bits,
        )
        extractor = SegmentExtractor(tokens, self.segment_features, min_count=self.segment_min_count)
        inside = np.array([label != OUTSIDE for label in labels])[gold >> 1]
        features = extractor.fit(columns, gold_lengths(columns.indptr, gold) * inside, max(longest))
        shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, longest)
        penalties = Penalties.of(labels, self.precision, self.recall, self.confusion)
        examples = SegmentExamples(shape, *features, gold, **penalties._asdict())
        score = None
        if dev is not None:
            X_dev = as_columns(dev[0])
            dev_examples = SegmentExamples(shape, *extractor.transform(X_dev, shape.longest))
            gold_dev = as_labels(X_dev, dev[1])
            score = self.token_score(self.dev_metric, dev_examples, X_dev.indptr, bio_names(labels), gold_dev)
        return SegmentingTask(labels, extractor, examples, score)


@dataclass(frozen=True)
class SegmentingTask:
    """Training data compiled to arrays: labels, features, examples, and the development score if there is one."""

    labels: list[str]
    extractor: SegmentExtractor
    examples: SegmentExamples
    score: Score | None

    def model(self, solution: Solution, settings: TrainingSettings) -> SegmentPredictor:
        """The segmenter with the weights of `solution`, which training with `settings` has found."""
        shape = self.examples.shape
        weights, summary = shape.parts(solution.w).thinned(), settings.summary(solution)
        return SegmentPredictor(self.labels, self.extractor, weights, shape.max_lengths, summary=summary)
