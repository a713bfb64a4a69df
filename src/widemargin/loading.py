"""Loading a model file as the estimator it was saved from."""

import os
from typing import Any

from widemargin.errors import ModelFileError
from widemargin.estimators import ConstituencyParser, LinearClassifier, MultilabelClassifier, Segmenter, SequenceTagger
from widemargin.predictors.kinds import load_predictor

ESTIMATORS: dict[str, Any] = {
    "brackets": ConstituencyParser,
    "chain": SequenceTagger,
    "classes": LinearClassifier,
    "multilabel": MultilabelClassifier,
    "segment": Segmenter,
}


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed."""
    model = load_predictor(path)
    try:
        return ESTIMATORS[model.structure].from_model(model)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError(f"the model {os.fspath(path)} is damaged: it does not tell how it was trained") from None
