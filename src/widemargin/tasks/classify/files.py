"""Files of examples to classify: the svmlight format."""

from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.errors import WidemarginError
from widemargin.files.formats import guess
from widemargin.files.raw import RawText, Source
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness


class ClassifyFiles(Files):
    """Files with labels to learn: sets of labels if any example has several."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A matrix, as wide as that of the training data, and the labels of every row."""
        data = read_svmlight(path, reading)
        width = about.get("width", data.width)
        several = about.get("several", own.get("multilabel") or any(len(labels) > 1 for labels in data.labels))
        y = data.labels if several else data.classes()
        found = {"format": "svmlight", "width": width, "several": several}
        return Corpus(data.matrix(width), y, found, {"examples": len(data.labels)}, data)

    def kind(self, kinds: Sequence[str], corpus: Corpus) -> str:
        """Sets of labels if any example has several."""
        return "multilabel" if corpus.about["several"] else "classes"

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Turn the option `balanced` into the parameter `class_weight`."""
        given.pop("multilabel")
        return given | {"class_weight": "balanced" if given.pop("balanced") else None}

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Examples of the svmlight format."""
        return Likeness.POSSIBLE if (reading.format or guess(raw)) == "svmlight" else Likeness.NONE

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Accuracy and F1."""
        from widemargin.tasks.classify.evaluation import class_evaluation

        return class_evaluation(gold.document.labels, predicted.document.labels, {}, {}, several=gold.about["several"])


def read_svmlight(path: Source, reading: Reading) -> SvmlightData:
    """Read an svmlight file; options for other formats are errors."""
    if reading.format not in (None, "svmlight"):
        raise WidemarginError(f"classifiers read svmlight files, not {reading.format}")
    if reading.label is not None or reading.columns is not None or reading.text:
        raise WidemarginError("svmlight files have no columns of tokens; leave out --label, --columns and --text")
    return parse(RawText.load(path))
