"""Files of examples to classify, in the svmlight format, and scores of classes and of sets of labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.core.sparse import NO_ROWS, Matrix, entries_of, take_rows
from widemargin.errors import DataError, WidemarginError
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.files.svmlight import SvmlightData, cut, parse
from widemargin.metrics import quotient, scores_from_counts
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.explain import Explanation, Option, Question, compare_options, list_parts
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading, Tally
from widemargin.tasks.files import Files, Likeness, TallyReporter, check_no_tokens, time_call
from widemargin.tasks.strongest import Part, strongest

if TYPE_CHECKING:
    from widemargin.tasks.classify.model import LinearModel

EXAMPLES, RIGHT = ("examples",), ("right",)
LABELS = ("found rightly", "found", "wanted")
"""The names of all counts: of examples, and of labels in three ways."""


class LinearReporter(TallyReporter):
    """Reports on classifiers of both kinds."""

    model: "LinearModel"

    asked = ("label",)
    ask_for = "another --label"

    @property
    def explains(self) -> bool:
        """Whether outputs are single classes."""
        return not self.model.several

    def count(self, X: Any, y: Any, n_threads: int, **options: Any) -> Tally:
        """Counts of right and wrong labels."""
        outputs, seconds = time_call("classifying", self.model.predict, X, n_threads)
        return Tally(class_counts(self._in_words(y), self._in_words(outputs)), seconds)

    def score(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """How many labels are right."""
        return counted_evaluation(tally.counts, calibration, tally.seconds, several=self.model.several)

    def _in_words(self, outputs: Any) -> list[list[str]]:
        """The labels of every example, as strings."""
        return [list(map(str, each if self.model.several else [each])) for each in outputs]

    def warm_up(self) -> None:
        """Classify one row of zeros, so that loading compiled kernels does not count as classifying."""
        rows = NO_ROWS._replace(indptr=np.zeros(2, dtype=np.int64))
        self.model.predict(Matrix(rows, self.model.extractor.width or 0))

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two examples."""
        return cut

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """An svmlight file, without features not seen in training."""
        data, y = read_svmlight(path, reading), None
        if gold:
            y = data.labels if self.model.several else data.classes()
        X = data.matrix(self.model.extractor.width or 0)
        return Corpus(X, y, {"format": "svmlight"}, {"examples": len(data.labels)}, data)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """A line of labels per example, or the file with its labels replaced if its format is asked for."""
        labels = [",".join(each) for each in self._in_words(outputs)]
        if reading.format is not None:
            return str(corpus.document.relabel(labels))
        return "".join(f"{label}\n" for label in labels)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features, biases and pairs of labels."""
        model, labels, names = self.model, list(map(str, self.model.labels)), self.model.extractor.names()
        bias = np.zeros(len(labels))
        bias[list(chosen)] = model.bias[list(chosen)]
        features = {labels[j]: strongest(model.W[:, j], top, names.__getitem__) for j in chosen}
        parts = {
            "features": Part("Features for and against", by_label=features),
            "bias": Part("Biases", strongest(bias, top, labels.__getitem__)),
        }
        if len(model.pairs):
            first, second = (each.tolist() for each in np.triu_indices(len(labels), 1))
            at = [k for k, both in enumerate(zip(first, second, strict=True)) if not set(chosen).isdisjoint(both)]
            pairs = strongest(model.pairs[at], top, lambda k: f"{labels[first[at[k]]]} and {labels[second[at[k]]]}")
            parts["pairs"] = Part("Pairs of labels", pairs)
        return parts

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One example of a file alone, counted from 1."""
        n = corpus.size["examples"]
        if not 1 <= number <= n:
            raise WidemarginError(f"there is no example {number} in a file of {n}")
        return corpus._replace(X=corpus.X._replace(rows=take_rows(corpus.X.rows, np.array([number - 1]))), y=None)

    def answer(self, X: Any, question: Question) -> Explanation:
        """Why an example has its class and not the named one; without a name, its margin over the runner-up."""
        model: Any = self.model
        labels, (scores,) = list(map(str, model.labels)), model.scores(X)
        best, *rest = np.argsort(-scores, kind="stable").tolist()
        if question.label is None:
            return list_parts([(labels[best], float(scores[best] - scores[rest[0]]), labels[rest[0]])])
        if question.label not in labels or question.label == labels[best]:
            known = ", ".join(repr(labels[each]) for each in sorted(rest))
            raise WidemarginError(f"the class is {labels[best]!r}; compare it with one of {known}")
        return compare_options(self._option(X, best), self._option(X, labels.index(question.label)))

    def _option(self, X: Any, label: int) -> Option:
        model = self.model
        names = model.extractor.names()
        votes = [
            (f"{names[feature]}={value:g}", value * float(model.W[feature, label]))
            for feature, value in entries_of(model.extractor.rows(X), 0)
        ]
        return Option(str(model.labels[label]), [*votes, ("bias", float(model.bias[label]))])


class ClassifyFiles(Files):
    """Files with labels to learn: sets of labels if any example has several."""

    reporter = LinearReporter

    def read(self, path: Source, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A matrix, as wide as that of the training data, and the labels of every row."""
        data = read_svmlight(path, reading)
        width = about.get("width", data.width)
        found_several = not own.get("classes") and any(len(labels) > 1 for labels in data.labels)
        several = bool(about.get("several", own.get("multilabel") or found_several))
        y = data.labels if several else data.classes()
        found = {"format": "svmlight", "width": width, "several": several}
        return Corpus(data.matrix(width), y, found, {"examples": len(data.labels)}, data)

    def kind(self, kinds: Sequence[str], corpus: Corpus) -> str:
        """Sets of labels if any example has several."""
        return "multilabel" if corpus.about.get("several", corpus.about.get("multilabel")) else "classes"

    def cut(self, head: RawText, reading: Reading) -> Cut:
        """Cut between two examples."""
        return cut

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Turn the option `balanced` into the parameter `class_weight`."""
        given.pop("multilabel")
        return given | {"class_weight": "balanced" if given.pop("balanced") else None}

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Examples of the svmlight format."""
        return Likeness.POSSIBLE if (reading.format or guess(raw)) == "svmlight" else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Accuracy and F1."""
        counts = class_counts(gold.document.labels, predicted.document.labels)
        return counted_evaluation(counts, {}, {}, several=gold.about["several"])


def read_svmlight(path: Source, reading: Reading) -> SvmlightData:
    """Read an svmlight file; options for other formats are errors."""
    check_no_tokens(reading, "examples to classify", ["svmlight"])
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
    scores = scores_from_counts(*by_kind)
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
