"""`widemargin predict` for classifiers, on svmlight files."""

import sys

from widemargin._threads import count_threads
from widemargin.classifier import LinearModel
from widemargin.data.atomic import replacing
from widemargin.data.raw import RawText
from widemargin.data.svmlight import SvmlightData, parse
from widemargin.errors import WidemarginError


def predict(model: LinearModel, file: str, out: str, file_format: str | None, jobs: int) -> None:
    """Write a line of labels per example, or the file with its labels replaced."""
    if file_format not in (None, "svmlight"):
        raise WidemarginError(f"the model predicts {model.predicts}, from svmlight files, not from {file_format}")
    data = parse(RawText.load(file))
    labels = [",".join(each) for each in predicted_labels(model, data, jobs)]
    text = data.relabelled(labels) if file_format == "svmlight" else "".join(f"{label}\n" for label in labels)
    if out == "-":
        sys.stdout.write(text)
    else:
        with replacing(out) as stream:
            stream.write(text)


def predicted_labels(model: LinearModel, data: SvmlightData, jobs: int) -> list[list[str]]:
    """The labels of every example, as strings."""
    outputs = model.predict(data.matrix(model.extractor.width or 0), count_threads(jobs))
    return [list(map(str, each if isinstance(each, list) else [each])) for each in outputs]
