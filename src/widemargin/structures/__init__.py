"""Structures: one file per kind of output: features, part scores, decoding, feature differences."""

from widemargin.structures.base import (
    Differences,
    ErrorCounts,
    Examples,
    KBest,
    Marginals,
    Outputs,
    Positions,
    Scale,
)
from widemargin.structures.chain import ChainExamples
from widemargin.structures.chain_weights import Chain, ChainWeights
from widemargin.structures.custom import CustomExamples, CustomProblem
from widemargin.structures.segment import SegmentExamples
from widemargin.structures.segment_scores import Limits
from widemargin.structures.segment_weights import Segmentation, SegmentWeights

__all__ = [
    "Chain",
    "ChainExamples",
    "ChainWeights",
    "CustomExamples",
    "CustomProblem",
    "Differences",
    "ErrorCounts",
    "Examples",
    "KBest",
    "Limits",
    "Marginals",
    "Outputs",
    "Positions",
    "Scale",
    "SegmentExamples",
    "SegmentWeights",
    "Segmentation",
]
