"""Every kind of trained model by the structure that model files name."""

import os
from typing import Any

from widemargin.errors import ModelFileError
from widemargin.model import ModelFile, read_model
from widemargin.predictors.base import Predictor
from widemargin.predictors.bracketer import Bracketer
from widemargin.predictors.classifier import Classifier, MultilabelModel
from widemargin.predictors.segmenter import SegmentPredictor
from widemargin.predictors.tagger import Tagger

PREDICTORS: dict[str, type[Predictor]] = {
    kind.structure: kind for kind in (Tagger, SegmentPredictor, Classifier, MultilabelModel, Bracketer)
}


def load_predictor(path: str | os.PathLike[str]) -> Any:
    """The trained model in a file, whatever its structure."""
    return predictor_in(read_model(path), os.fspath(path))


def predictor_in(file: ModelFile, name: str) -> Any:
    """The trained model in a file that has been read."""
    structure = file.header.get("structure")
    if structure not in PREDICTORS:
        known = " or ".join(kind.predicts for kind in PREDICTORS.values())
        raise ModelFileError(f"the model {name} predicts {structure!r}, not {known}")
    return PREDICTORS[structure].from_file(file, name)
