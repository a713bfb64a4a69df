"""scikit-learn estimators: the library behind `fit`, `predict` and `score`."""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names

if TYPE_CHECKING:
    from widemargin.estimators.classifiers import LinearClassifier as LinearClassifier
    from widemargin.estimators.classifiers import MultilabelClassifier as MultilabelClassifier
    from widemargin.estimators.constituency_parser import ConstituencyParser as ConstituencyParser
    from widemargin.estimators.dependency_parser import DependencyParser as DependencyParser
    from widemargin.estimators.segmenter import Segmenter as Segmenter
    from widemargin.estimators.sequence_tagger import SequenceTagger as SequenceTagger
    from widemargin.estimators.structured import StructuredPredictor as StructuredPredictor

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "classifiers": ["LinearClassifier", "MultilabelClassifier"],
        "constituency_parser": ["ConstituencyParser"],
        "dependency_parser": ["DependencyParser"],
        "segmenter": ["Segmenter"],
        "sequence_tagger": ["SequenceTagger"],
        "structured": ["StructuredPredictor"],
    },
)
