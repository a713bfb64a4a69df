"""Dependency parsing: from users' trees to examples, and the scikit-learn estimator."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, IntVector
from widemargin.core.sparse import sums
from widemargin.core.stop import Score
from widemargin.errors import DataError
from widemargin.structures.dependencies import WITH_GRANDPARENTS
from widemargin.tasks.abilities import TreeEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.parse import ParserParameters
from widemargin.tasks.parse.dependencies import DependencyRows, arc_lists, as_dependencies
from widemargin.tasks.parse.examples import Trees, tree_examples
from widemargin.tasks.parse.features import (
    ARC_TEMPLATES,
    GRANDPARENT_TEMPLATES,
    LABEL_TEMPLATES,
    SIBLING_TEMPLATES,
    ArcExtractor,
    readable,
    without_lemmas,
)
from widemargin.tasks.parse.metrics import attachment_scores
from widemargin.tasks.parse.model import Parser
from widemargin.tasks.stacking import TagColumns, offered, tagged
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, Data, score_of_outputs
from widemargin.text.columns import Columns
from widemargin.text.inputs import as_columns
from widemargin.text.templates import split_templates

PREDICTABLE = ("word", "upos", "xpos")
"""The columns that default templates read if tags are predicted: lemmas are no tags, and feats have too many values."""


def survey_trees(parameters: ParserParameters, data: Data) -> Survey:
    """The labels and columns of a piece of the data, and whether each of its trees has at most one root."""
    columns = as_columns(data.X)
    heads, column = as_dependencies(columns, data.y)
    facts = {
        "columns": offered(parameters, columns, PREDICTABLE),
        "single_root": bool(np.all(sums(heads == 0, columns.indptr) <= 1)),
    }
    return Survey(Counter(column.strings()), facts=facts)


def columns_read(parameters: ParserParameters, survey: Survey) -> list[str]:
    """The columns that templates read."""
    return _extractor(parameters, survey.facts["columns"]).columns_read


TAGS = TagColumns(as_columns, columns_read)


def compile_trees(parameters: ParserParameters, data: Data, *, survey: Survey | None = None) -> Compiled[Parser]:
    """Compile features and trees to arrays; a `survey` of all pieces, if given, decides on labels and templates."""
    columns = as_columns(data.X)
    if not columns.n_tokens:
        raise DataError("there are no tokens to learn from")
    heads, column = arcs = as_dependencies(columns, data.y)
    found = survey_trees(parameters, data._replace(X=columns, y=arcs)) if survey is None else survey
    labels = [label for label, _ in found.labels.most_common()]
    extractor = _extractor(parameters, found.facts["columns"])
    single_root = found.facts["single_root"] if parameters.single_root is None else parameters.single_root
    trees = Trees(len(labels), extractor.hash_bits, parameters.decoder, parameters.order, bool(single_root))
    dev = None if data.dev is None else as_columns(data.dev[0])
    gold = None if dev is None or data.dev is None else as_dependencies(dev, data.dev[1])
    columns, dev, taggers, filled = tagged(parameters, columns, dev, extractor.columns_read, data.told)
    examples = tree_examples(
        trees,
        columns.indptr,
        extractor.keys(columns),
        heads,
        _numbers(column.values, labels)[column.codes],
        head_cost=parameters.head_cost,
        label_cost=parameters.label_cost,
        source=columns.source,
    )
    model = Parser(labels, trees, extractor, weights=np.empty(0), taggers=taggers, filled=filled)
    score = None if dev is None or gold is None else _score(parameters, model, dev, gold)
    return Compiled(examples, model.with_solution, labels, score, parameters.dev_metric, data.sample_weight)


def _extractor(parameters: ParserParameters, names: Sequence[str]) -> ArcExtractor:
    """The user's templates, or the default ones that read only these columns."""
    defaults = {"arc": ARC_TEMPLATES, "label": LABEL_TEMPLATES}
    if parameters.order != 1:
        defaults["sibling"] = SIBLING_TEMPLATES
    if parameters.order == WITH_GRANDPARENTS:
        defaults["grandparent"] = GRANDPARENT_TEMPLATES
    chosen = {}
    for part, default in defaults.items():
        given = getattr(parameters, f"{part}_templates")
        usual = without_lemmas(default) if parameters.tags == "predicted" else default
        chosen[part] = readable(usual, names) if given is None else split_templates(given)
    return ArcExtractor(**chosen, hash_bits=int(parameters.hash_bits))


def _score(parameters: ParserParameters, model: Parser, X: Columns, gold: DependencyRows) -> Score:
    labels = _numbers(gold.labels.values, model.labels)[gold.labels.codes]

    def measure(codes: IntVector) -> float:
        heads, relations = np.divmod(codes, len(model.labels))
        right = heads == gold.heads
        return float(np.mean(right & (relations == labels) if parameters.dev_metric == "las" else right))

    return score_of_outputs(model.examples(X), parameters.n_jobs, measure)


def _numbers(values: Sequence[str], labels: Sequence[str]) -> IntVector:
    """The number of each value among `labels`; −1 for labels not seen in training."""
    number = {label: k for k, label in enumerate(labels)}
    return np.array([number.get(value, -1) for value in values], dtype=np.int32)


@documented(Parser)
@dataclass(kw_only=True, repr=False, eq=False)
class DependencyParser(ParserParameters, TreeEstimator[Parser]):
    """Large-margin dependency parsing.

    Attributes
    ----------
    classes_ : ndarray
        The labels of arcs.
    taggers_ : dict
        The taggers that the model carries, by the column that each fills in.

    Notes
    -----
    X is a list of sentences whose tokens are dicts of columns (``{"word": …, "upos": …}``) or words alone; or
    `Columns`, as readers return them. With predicted tags, `fit` learns to tag from the columns of X, and `predict`
    reads only words. y has a list of (head, label) for each sentence; heads count from 1, and 0 is the root. Or y is
    the result of `widemargin.tasks.parse.dependencies.arcs` for a file.

    Examples
    --------
    >>> X = [["dogs", "bark"], ["big", "dogs", "sleep"]]
    >>> y = [[(2, "nsubj"), (0, "root")], [(2, "amod"), (3, "nsubj"), (0, "root")]]
    >>> DependencyParser(hash_bits=14).fit(X, y).predict([["big", "dogs", "bark"]])[0][0]
    Arc(head=2, label='amod')
    """

    _compile = staticmethod(compile_trees)
    _survey = staticmethod(survey_trees)
    _tags = TAGS

    def predict_proba(self, X: Any, *, labelled: bool = False) -> list[FloatMatrix]:
        """For each token of every sentence, the probability of each head: 0 is the root, tokens count from 1.

        `labelled` adds a last axis with the probability of each of the `classes_` on that arc. The model must have been
        trained with `likelihood` or `softmax-margin`.
        """
        found = self._ask("predict_proba", X, labelled=labelled)
        return [each[..., self._order] for each in found] if labelled else found

    def score(self, X: Any, y: Any) -> float:
        """The score that `dev_metric` names, by default the share of tokens with the right head and label (LAS)."""
        self._check_fitted()
        columns, y = as_columns(self._read(X)), self._read(y)
        gold = arc_lists(as_dependencies(columns, y), columns.indptr)
        scores = attachment_scores(gold, self.predict(columns)).overall
        return scores.uas if self.dev_metric == "uas" else scores.las
