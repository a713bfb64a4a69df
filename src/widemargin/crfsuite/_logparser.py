"""python-crfsuite's name for the module of training logs, which pickled models of sklearn-crfsuite refer to."""

from widemargin._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names("widemargin.crfsuite", {"log": ["LabelScore", "TrainLogParser"]})
