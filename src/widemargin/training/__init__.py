"""Training: what there is to choose, a file per family of models, free of scikit-learn."""

from widemargin.training.base import STANDS_FOR, ModelSettings, TrainingParameters, TrainingSettings
from widemargin.training.bracketing import BracketerParameters, BracketerSettings
from widemargin.training.classifying import (
    ClassifierParameters,
    ClassifierSettings,
    MultilabelParameters,
    MultilabelSettings,
)
from widemargin.training.parsing import ParserParameters, ParserSettings
from widemargin.training.segmenting import SegmenterParameters, SegmenterSettings
from widemargin.training.tagging import TaggerParameters, TaggerSettings

__all__ = [
    "STANDS_FOR",
    "BracketerParameters",
    "BracketerSettings",
    "ClassifierParameters",
    "ClassifierSettings",
    "ModelSettings",
    "MultilabelParameters",
    "MultilabelSettings",
    "ParserParameters",
    "ParserSettings",
    "SegmenterParameters",
    "SegmenterSettings",
    "TaggerParameters",
    "TaggerSettings",
    "TrainingParameters",
    "TrainingSettings",
]
