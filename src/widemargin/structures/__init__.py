"""Structures: one file per kind of output: features, part scores, decoding, feature differences."""

from widemargin.structures.base import Differences, Examples, Outputs
from widemargin.structures.chain import Chain, ChainExamples

__all__ = ["Chain", "ChainExamples", "Differences", "Examples", "Outputs"]
