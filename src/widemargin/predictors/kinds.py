"""Every kind of trained model by the structure that model files name, imported when it is needed."""

import os
from importlib import import_module
from typing import Any

from widemargin.errors import ModelFileError
from widemargin.model import ModelFile, read_model
from widemargin.predictors.base import Predictor

KINDS = {
    "chain": "tagger.Tagger",
    "segment": "segmenter.SegmentPredictor",
    "classes": "classifier.Classifier",
    "multilabel": "classifier.MultilabelModel",
    "tree": "parser.Parser",
    "brackets": "bracketer.Bracketer",
}
CLASSES = ("classes", "multilabel")
TREES = ("tree", "brackets")


def load_predictor(path: str | os.PathLike[str]) -> Any:
    """The trained model in a file, whatever its structure."""
    return predictor_in(read_model(path), os.fspath(path))


def predictor_in(file: ModelFile, name: str) -> Any:
    """The trained model in a file that has been read."""
    structure = file.header.get("structure")
    if structure not in KINDS:
        known = " or ".join(kind(each).predicts for each in KINDS)
        raise ModelFileError(f"the model {name} predicts {structure!r}, not {known}")
    return kind(structure).from_file(file, name)


def kind(structure: str) -> type[Predictor]:
    """The class of the models of a structure."""
    module, _, name = KINDS[structure].partition(".")
    found: type[Predictor] = getattr(import_module(f"widemargin.predictors.{module}"), name)
    return found
