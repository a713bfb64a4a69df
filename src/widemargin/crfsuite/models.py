"""CRFsuite's model files as our own models, and our own models as CRFsuite's files."""

import os
from typing import Any

from widemargin.core.atomic import replacing
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.tasks.base import foreign_model


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted `SequenceTagger` in one of CRFsuite's model files, which can do all that our own can.

    It answers to sequences of ready-made features: a list of names or a dict per position.
    """
    from widemargin.tasks.estimator import estimator_of  # imports scikit-learn

    name, model = os.fspath(path), foreign_model(path)
    if model is None:
        with open(path, "rb"):
            raise ModelFileError(f"{name} is not a model file of CRFsuite")
    return estimator_of(model, name)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `SequenceTagger`, or its model, as a file that CRFsuite reads.

    The tagger must have been trained on ready-made features, and have no weights for first and last labels.
    """
    model = getattr(model, "model_", model)
    if ".crfsuite" not in getattr(model, "exports", ()):
        raise UnsupportedError(f"a {type(model).__name__} cannot be written as a model file of CRFsuite; taggers can")
    content = model.exported(".crfsuite")
    with replacing(path, "wb") as stream:
        stream.write(content)
