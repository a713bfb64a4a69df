"""Structures: one file per kind of output: features, part scores, decoding, feature differences."""

from widemargin.structures.base import (
    Differences,
    ErrorCounts,
    Examples,
    KBest,
    Marginals,
    Outputs,
    Positions,
    RunnerUp,
    Scale,
)
from widemargin.structures.chain import ChainExamples
from widemargin.structures.chain_weights import Chain, ChainWeights
from widemargin.structures.custom import CustomExamples, CustomProblem
from widemargin.structures.custom_positions import custom_examples

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
    "Marginals",
    "Outputs",
    "Positions",
    "RunnerUp",
    "Scale",
    "custom_examples",
]
