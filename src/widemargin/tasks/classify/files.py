"""Files of examples to classify: the svmlight format."""

from collections.abc import Mapping
from typing import Any

from widemargin.errors import WidemarginError
from widemargin.files.raw import RawText
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files


class ClassifyFiles(Files):
    """Files whose labels a classifier learns: of sets where the data have several labels anywhere."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A matrix, as wide as that of before if there was one, and the labels of every row."""
        data = read_svmlight(path, reading)
        width = about.get("width", data.width)
        several = about.get("several", own.get("multilabel") or any(len(labels) > 1 for labels in data.labels))
        y = data.labels if several else data.classes()
        found = {"format": "svmlight", "width": width, "several": several}
        return Corpus(data.matrix(width), y, found, {"examples": len(data.labels)}, data)

    def kind(self, corpus: Corpus, own: Mapping[str, Any]) -> str:
        """Sets of labels, where there are any."""
        return "multilabel" if corpus.about["several"] else "classes"

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Equal weights for all classes as the parameter that it is."""
        given.pop("multilabel")
        return given | {"class_weight": "balanced" if given.pop("balanced") else None}


def read_svmlight(path: str, reading: Reading) -> SvmlightData:
    """A file that can be read in no other way."""
    if reading.format not in (None, "svmlight"):
        raise WidemarginError(f"classifiers read svmlight files, not {reading.format}")
    if reading.label is not None or reading.columns is not None or reading.text:
        raise WidemarginError("svmlight files have no columns of tokens; leave out --label, --columns and --text")
    return parse(RawText.load(path))
