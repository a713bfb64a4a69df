"""scikit-learn estimators: the library behind `fit`, `predict` and `score`."""

from widemargin.estimators.classifiers import LinearClassifier, MultilabelClassifier
from widemargin.estimators.constituency_parser import ConstituencyParser
from widemargin.estimators.dependency_parser import DependencyParser
from widemargin.estimators.segmenter import Segmenter
from widemargin.estimators.sequence_tagger import SequenceTagger
from widemargin.estimators.structured import StructuredPredictor

__all__ = [
    "ConstituencyParser",
    "DependencyParser",
    "LinearClassifier",
    "MultilabelClassifier",
    "Segmenter",
    "SequenceTagger",
    "StructuredPredictor",
]
