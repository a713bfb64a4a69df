"""Training of dependency parsers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, IntVector
from widemargin.columns import Columns
from widemargin.data.dependencies import Dependencies, as_arcs
from widemargin.errors import DataError, WidemarginError
from widemargin.features.arcs import ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES, ArcExtractor, readable
from widemargin.features.inputs import as_columns
from widemargin.features.templates import listed
from widemargin.loop import Score
from widemargin.predictors.hashed import checked_bits
from widemargin.predictors.parser import Parser
from widemargin.problem import predict
from widemargin.solution import Solution
from widemargin.structures.tree import TreeExamples, Trees
from widemargin.training.base import ModelSettings, TrainingParameters, TrainingSettings

METRICS = ("las", "uas")


@dataclass(kw_only=True, repr=False, eq=False)
class ParserParameters(TrainingParameters):
    """What there is to choose for a dependency parser.

    Parameters
    ----------
    C, max_epochs : as ever, with defaults for trees, which have many features and are slow to decode
    decoder : ``"projective"`` (no two arcs cross) or ``"nonprojective"``
    order : 1, or 2 for features on pairs of siblings, which take longer (projective trees only)
    single_root : whether exactly one token is attached to the root; None goes by the training data
    arc_templates, label_templates, sibling_templates : feature templates (`widemargin.features.arcs`); None takes
        those of the defaults for which the data have all columns
    hash_bits : features share a table of 2^hash_bits weights
    feature_memory : how many megabytes the features of arcs may take that are kept while training, which makes it
        faster; what there is no room for is worked out each time
    head_cost, label_cost : the error of a wrong head, and of a wrong label at the right head
    dev_metric : the development score: ``"las"`` (right heads with right labels) or ``"uas"`` (right heads)
    """

    C: float = 0.01
    max_epochs: int | None = 20
    decoder: str = "projective"
    order: int = 1
    single_root: bool | None = None
    arc_templates: str | Sequence[str] | None = None
    label_templates: str | Sequence[str] | None = None
    sibling_templates: str | Sequence[str] | None = None
    hash_bits: int = 22
    feature_memory: float = 512.0
    head_cost: float = 1.0
    label_cost: float = 1.0
    dev_metric: str = "las"


class ParserSettings(ParserParameters, ModelSettings[Parser]):
    """Parameters that can train a dependency parser."""

    def compile(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> "ParsingTask":
        """Features and trees as arrays, once, for any number of training runs."""
        if self.dev_metric not in METRICS:
            raise WidemarginError(f"there is no dev_metric {self.dev_metric!r}; there are {', '.join(METRICS)}")
        columns = as_columns(X)
        if not columns.n_tokens:
            raise DataError("there are no tokens to learn from")
        heads, column = as_dependencies(columns, y)
        labels = [label for label, _ in Counter(column.strings()).most_common()]
        extractor = self._extractor(columns)
        single_root = self.single_root
        if single_root is None:
            single_root = has_single_roots(columns, heads)
        trees = Trees(len(labels), extractor.hash_bits, self.decoder, self.order, bool(single_root))
        examples = TreeExamples(
            trees,
            columns.indptr,
            extractor.keys(columns),
            heads,
            _numbers(column.values, labels)[column.codes],
            head_cost=self.head_cost,
            label_cost=self.label_cost,
            memory=self.feature_memory,
        )
        score = None if dev is None else self._score(trees, extractor, labels, *dev)
        return ParsingTask(labels, extractor, examples, score)

    def _extractor(self, columns: Columns) -> ArcExtractor:
        defaults = {"arc": ARC_TEMPLATES, "label": LABEL_TEMPLATES, "sibling": SIBLING_TEMPLATES}
        chosen = {}
        for part, default in defaults.items():
            given = getattr(self, f"{part}_templates")
            chosen[part] = readable(default, columns) if given is None else listed(given)
        if self.order == 1:
            chosen["sibling"] = ()
        return ArcExtractor(**chosen, hash_bits=checked_bits(self.hash_bits))

    def _score(self, trees: Trees, extractor: ArcExtractor, labels: list[str], X: Any, y: Any) -> Score:
        columns = as_columns(X)
        heads, column = as_dependencies(columns, y)
        gold = _numbers(column.values, labels)[column.codes]
        examples, n_threads = TreeExamples(trees, columns.indptr, extractor.keys(columns)), count_threads(self.n_jobs)

        def score(w: FloatVector) -> float:
            found, relations = np.divmod(np.concatenate(predict(examples, w, n_threads)), len(labels))
            right = found == heads
            return float(np.mean(right & (relations == gold) if self.dev_metric == "las" else right))

        return score


@dataclass(frozen=True)
class ParsingTask:
    """Training data compiled to arrays: labels, features, examples, and the development score if there is one."""

    labels: list[str]
    extractor: ArcExtractor
    examples: TreeExamples
    score: Score | None

    def model(self, solution: Solution, settings: TrainingSettings) -> Parser:
        """The parser with the weights of `solution`, which training with `settings` has found."""
        summary = settings.summary(solution)
        return Parser(self.labels, self.examples.trees, self.extractor, weights=solution.w, summary=summary)


def as_dependencies(columns: Columns, y: Any) -> Dependencies:
    """Gold trees for these sentences: `Dependencies`, or for each sentence a list of (head, label)."""
    if not isinstance(y, Dependencies):
        return as_arcs(np.diff(columns.indptr).tolist(), y)
    if len(y.heads) != columns.n_tokens:
        raise DataError(f"{columns.source} has {columns.n_tokens} tokens, but there are {len(y.heads)} heads")
    return y


def has_single_roots(columns: Columns, heads: IntVector) -> bool:
    """Whether no sentence has more than one token that is attached to the root."""
    roots = np.concatenate([[0], np.cumsum(heads == 0)])[columns.indptr]
    return bool(np.all(np.diff(roots) <= 1))


def _numbers(values: Sequence[str], labels: Sequence[str]) -> IntVector:
    """The numbers of labels; −1 for those that training has not seen."""
    number = {label: k for k, label in enumerate(labels)}
    return np.array([number.get(value, -1) for value in values], dtype=np.int32)
