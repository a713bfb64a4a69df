"""Structures: one file per kind of output: features, part scores, decoding, feature differences.

Names are imported when first used, so that a model of one kind does not wait for the kernels of all others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "Chain": "chain_weights",
    "ChainExamples": "chain",
    "ChainWeights": "chain_weights",
    "ClassExamples": "classes",
    "CustomExamples": "custom",
    "CustomProblem": "custom",
    "Differences": "base",
    "EnumeratedMultilabel": "multilabel",
    "ErrorCounts": "base",
    "Examples": "base",
    "HullSearch": "base",
    "IndependentMultilabel": "multilabel",
    "KBest": "base",
    "Limits": "segment_scores",
    "Marginals": "base",
    "MultilabelExamples": "multilabel",
    "Outputs": "base",
    "Positions": "base",
    "Scale": "base",
    "SearchedMultilabel": "multilabel",
    "SegmentExamples": "segment",
    "SegmentWeights": "segment_weights",
    "Segmentation": "segment_weights",
    "custom_examples": "custom_positions",
    "multilabel": "multilabel",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
