"""Structures: one file per kind of output: features, part scores, decoding, feature differences."""

from widemargin.structures.base import (
    Differences,
    ErrorCounts,
    Examples,
    HullSearch,
    KBest,
    Marginals,
    Outputs,
    Positions,
    Scale,
)
from widemargin.structures.chain import ChainExamples
from widemargin.structures.chain_weights import Chain, ChainWeights
from widemargin.structures.classes import ClassExamples
from widemargin.structures.custom import CustomExamples, CustomProblem
from widemargin.structures.custom_positions import custom_examples
from widemargin.structures.multilabel import (
    EnumeratedMultilabel,
    IndependentMultilabel,
    MultilabelExamples,
    SearchedMultilabel,
    multilabel,
)
from widemargin.structures.segment import SegmentExamples
from widemargin.structures.segment_scores import Limits
from widemargin.structures.segment_weights import Segmentation, SegmentWeights

__all__ = [
    "Chain",
    "ChainExamples",
    "ChainWeights",
    "ClassExamples",
    "CustomExamples",
    "CustomProblem",
    "Differences",
    "EnumeratedMultilabel",
    "ErrorCounts",
    "Examples",
    "HullSearch",
    "IndependentMultilabel",
    "KBest",
    "Limits",
    "Marginals",
    "MultilabelExamples",
    "Outputs",
    "Positions",
    "Scale",
    "SearchedMultilabel",
    "SegmentExamples",
    "SegmentWeights",
    "Segmentation",
    "custom_examples",
    "multilabel",
]
