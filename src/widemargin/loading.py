"""Loading a model file as the estimator it was saved from."""

import os
from typing import Any

from widemargin import estimators
from widemargin.errors import ModelFileError
from widemargin.predictors.kinds import load_predictor

ESTIMATORS = {
    "chain": "SequenceTagger",
    "segment": "Segmenter",
    "classes": "LinearClassifier",
    "multilabel": "MultilabelClassifier",
    "tree": "DependencyParser",
    "brackets": "ConstituencyParser",
}


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed."""
    model = load_predictor(path)
    estimator = getattr(estimators, ESTIMATORS[model.structure])
    try:
        return estimator.from_model(model)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError(f"the model {os.fspath(path)} is damaged: it does not tell how it was trained") from None
