"""Loading a model file as the estimator it was saved from."""

import os

from widemargin.errors import ModelFileError
from widemargin.estimators import SequenceTagger
from widemargin.tagger import Tagger


def load(path: str | os.PathLike[str]) -> SequenceTagger:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed."""
    tagger = Tagger.load(path)
    try:
        return SequenceTagger.from_tagger(tagger)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError(f"the model {os.fspath(path)} is damaged: it does not tell how it was trained") from None
