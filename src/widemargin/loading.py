"""Loading a model file as the estimator it was saved from."""

import os
from typing import Any

from widemargin.classifier import Classifier, MultilabelModel
from widemargin.errors import ModelFileError
from widemargin.estimators import LinearClassifier, MultilabelClassifier, SequenceTagger
from widemargin.model import read_model
from widemargin.tagger import Tagger

KINDS: dict[str, tuple[Any, Any]] = {
    "chain": (Tagger, SequenceTagger),
    "classes": (Classifier, LinearClassifier),
    "multilabel": (MultilabelModel, MultilabelClassifier),
}
"""For every structure what its model files hold, and the estimator around it."""


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed."""
    file, name = read_model(path), os.fspath(path)
    structure = file.header.get("structure")
    if structure not in KINDS:
        raise ModelFileError(f"the model {name} predicts {structure!r}, which widemargin.load does not know")
    model, estimator = KINDS[structure]
    trained = model.from_file(file, name)
    try:
        return estimator.from_model(trained)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained") from None
