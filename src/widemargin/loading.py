"""Loading a model file as the estimator it was saved from."""

import os

from widemargin.estimators import SequenceTagger
from widemargin.tagger import Tagger


def load(path: str | os.PathLike[str]) -> SequenceTagger:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed."""
    return SequenceTagger.from_tagger(Tagger.load(path))
