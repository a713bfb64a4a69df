"""`widemargin predict` and `calibrate` for classifiers, on svmlight files."""

import json
from collections.abc import Iterator
from typing import Any

from widemargin._threads import count_threads
from widemargin.answers.calibration import CalibrationReport
from widemargin.data.document import write_text
from widemargin.data.raw import RawText
from widemargin.data.svmlight import SvmlightData, parse
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.predictors.classifier import Classifier, LinearModel


def predict(
    model: LinearModel,
    file: str,
    out: str,
    file_format: str | None,
    jobs: int,
    best: int | None = None,
    confidence: bool = False,
) -> None:
    """Write a line of labels per example, or the file with its labels replaced, or answers as JSON lines."""
    if file_format not in (None, "svmlight"):
        raise WidemarginError(f"the model predicts {model.predicts}, from svmlight files, not from {file_format}")
    data = parse(RawText.load(file))
    if best is not None or confidence:
        write_text(out, "".join(_json_lines(_one_class(model), data, best, confidence)))
        return
    labels = [",".join(each) for each in predicted_labels(model, data, jobs)]
    text = data.relabelled(labels) if file_format == "svmlight" else "".join(f"{label}\n" for label in labels)
    write_text(out, text)


def calibrate(model: LinearModel, file: str, jobs: int) -> CalibrationReport:
    """Calibrate a model on a file."""
    data = parse(RawText.load(file))
    return _one_class(model).calibrate(data.matrix(model.extractor.width or 0), data.classes(), count_threads(jobs))


def _one_class(model: LinearModel) -> Classifier:
    if not isinstance(model, Classifier):
        raise UnsupportedError(f"the model predicts {model.predicts}, which have no confidence and no alternatives")
    return model


def _json_lines(model: Classifier, data: SvmlightData, best: int | None, confidence: bool) -> Iterator[str]:
    """An object an example: its class, and as far as wanted the confidence in it and alternatives."""
    X = data.matrix(model.extractor.width or 0)
    parts: list[list[dict[str, Any]]] = [[{"label": label} for label in model.predict(X)]]
    if confidence:
        parts.append([{"confidence": each} for each in model.confidence(X).tolist()])
    if best is not None:
        ranked = model.predict_best(X, best)
        parts.append([{"alternatives": [{"score": score, "label": label} for score, label in each]} for each in ranked])
    for of_example in zip(*parts, strict=True):
        answer = {key: value for part in of_example for key, value in part.items()}
        yield json.dumps(answer, ensure_ascii=False) + "\n"


def predicted_labels(model: LinearModel, data: SvmlightData, jobs: int) -> list[list[str]]:
    """The labels of every example, as strings."""
    outputs = model.predict(data.matrix(model.extractor.width or 0), count_threads(jobs))
    return [list(map(str, each if isinstance(each, list) else [each])) for each in outputs]
