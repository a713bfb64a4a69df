"""Structures: one file per kind of output: features, part scores, decoding, feature differences."""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names

if TYPE_CHECKING:
    from widemargin.structures.base import Differences as Differences
    from widemargin.structures.base import ErrorCounts as ErrorCounts
    from widemargin.structures.base import Examples as Examples
    from widemargin.structures.base import HullSearch as HullSearch
    from widemargin.structures.base import KBest as KBest
    from widemargin.structures.base import Marginals as Marginals
    from widemargin.structures.base import Outputs as Outputs
    from widemargin.structures.base import Positions as Positions
    from widemargin.structures.base import Scale as Scale
    from widemargin.structures.bracket import BracketExamples as BracketExamples
    from widemargin.structures.chain import ChainExamples as ChainExamples
    from widemargin.structures.chain_weights import Chain as Chain
    from widemargin.structures.chain_weights import ChainWeights as ChainWeights
    from widemargin.structures.classes import ClassExamples as ClassExamples
    from widemargin.structures.custom import CustomExamples as CustomExamples
    from widemargin.structures.custom import CustomProblem as CustomProblem
    from widemargin.structures.custom_positions import custom_examples as custom_examples
    from widemargin.structures.multilabel import EnumeratedMultilabel as EnumeratedMultilabel
    from widemargin.structures.multilabel import IndependentMultilabel as IndependentMultilabel
    from widemargin.structures.multilabel import MultilabelExamples as MultilabelExamples
    from widemargin.structures.multilabel import SearchedMultilabel as SearchedMultilabel
    from widemargin.structures.multilabel import multilabel_kind as multilabel_kind
    from widemargin.structures.segment import SegmentExamples as SegmentExamples
    from widemargin.structures.segment_scores import Limits as Limits
    from widemargin.structures.segment_weights import Segmentation as Segmentation
    from widemargin.structures.segment_weights import SegmentWeights as SegmentWeights
    from widemargin.structures.tree import TreeExamples as TreeExamples
    from widemargin.structures.tree import Trees as Trees

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": [
            "Differences",
            "ErrorCounts",
            "Examples",
            "HullSearch",
            "KBest",
            "Marginals",
            "Outputs",
            "Positions",
            "Scale",
        ],
        "bracket": ["BracketExamples"],
        "chain": ["ChainExamples"],
        "chain_weights": ["Chain", "ChainWeights"],
        "classes": ["ClassExamples"],
        "custom": ["CustomExamples", "CustomProblem"],
        "custom_positions": ["custom_examples"],
        "multilabel": [
            "EnumeratedMultilabel",
            "IndependentMultilabel",
            "MultilabelExamples",
            "SearchedMultilabel",
            "multilabel_kind",
        ],
        "segment": ["SegmentExamples"],
        "segment_scores": ["Limits"],
        "segment_weights": ["Segmentation", "SegmentWeights"],
        "tree": ["TreeExamples", "Trees"],
    },
)
