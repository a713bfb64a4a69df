"""Files of examples to classify, in the svmlight format, and scores of classes and of sets of labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.errors import DataError, WidemarginError
from widemargin.files.formats import guess
from widemargin.files.raw import RawText, Source
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.metrics import counted, quotient
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness

EXAMPLES, RIGHT = ("examples",), ("right",)
LABELS = ("found rightly", "found", "wanted")
"""The names of all counts: of examples, and of labels in three ways."""


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
        counts = class_counts(gold.document.labels, predicted.document.labels)
        return counted_evaluation(counts, {}, {}, several=gold.about["several"])


def read_svmlight(path: Source, reading: Reading) -> SvmlightData:
    """Read an svmlight file; options for other formats are errors."""
    if reading.format not in (None, "svmlight"):
        raise WidemarginError(f"classifiers read svmlight files, not {reading.format}")
    if reading.label is not None or reading.columns is not None or reading.text:
        raise WidemarginError("svmlight files have no columns of tokens; leave out --label, --columns and --text")
    return parse(RawText.load(path))


def class_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counter[Any]:
    """The counts for `counted_evaluation`; counts of several pieces of data can be added."""
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold labels, but {len(predicted)} predicted ones")
    counts: Counter[Any] = Counter({EXAMPLES: len(gold)})
    counts[RIGHT] = sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True))
    both = [set(g).intersection(p) for g, p in zip(gold, predicted, strict=True)]
    for what, sets in zip(LABELS, (both, predicted, gold), strict=True):
        counts.update((what, label) for each in sets for label in each)
    return counts


def counted_evaluation(
    counts: Counter[Any], calibration: Mapping[str, float], seconds: dict[str, float], *, several: bool
) -> Evaluation:
    """How many labels are right, by the counts of `class_counts`."""
    by_kind = ({key[1]: n for key, n in counts.items() if key[0] == what} for what in LABELS)
    scores = counted(*by_kind)
    right = quotient(counts[RIGHT], counts[EXAMPLES])
    results: dict[str, Any] = {"accuracy": right, **overall(scores.micro), "by_label": plain(scores.by_label)}
    facts = [("accuracy", share(right) + (" of the sets are all right" if several else ""))]
    if several:
        facts.append(spelt_f1(scores.micro))
    if calibration:
        results["calibration"] = dict(calibration)
        facts += [("expected calibration error", f"{error:.4f}") for error in calibration.values()]
    tables = [score_table("By label", "label", by_support(scores.by_label))]
    return Evaluation(results, "f1" if several else "accuracy", facts, tables, seconds)
