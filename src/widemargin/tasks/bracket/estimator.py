"""Parsing into constituents: from users' trees to examples, and the scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, IntMatrix
from widemargin.core.stop import Score
from widemargin.files.brackets import columns_of
from widemargin.tasks.abilities import TreeEstimator
from widemargin.tasks.answers import Ranked
from widemargin.tasks.bracket import BracketerParameters
from widemargin.tasks.bracket.binary import Bracketing, Fold, Labels, as_trees, common_root
from widemargin.tasks.bracket.examples import BracketExamples
from widemargin.tasks.bracket.features import (
    DEFAULT_BRACKET_TEMPLATES,
    RICH,
    RICH_BRACKET_TEMPLATES,
    BracketHasher,
    columns_read,
    parse_bracket_templates,
)
from widemargin.tasks.bracket.metrics import bracket_scores, scores_of
from widemargin.tasks.bracket.model import Bracketer
from widemargin.tasks.parameters import documented
from widemargin.tasks.stacking import TagColumns, tagged
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, Data, score_of_outputs
from widemargin.text.columns import Columns
from widemargin.text.inputs import as_tagged
from widemargin.text.roles import RoleTemplate
from widemargin.text.trees import Tree


def survey_brackets(parameters: BracketerParameters, data: Data) -> Survey:
    """The labels of a piece of data, with and without the root of its trees: other pieces may have another root."""
    trees = as_trees(as_tagged(data.X), data.y)
    root = common_root(trees)
    facts: dict[str, Any] = {"roots": frozenset([root])}
    for name, without in (("with", None), ("without", root)):
        facts |= {f"{part} {name} root": each for part, each in Labels.of(trees, without)._asdict().items()}
    return Survey(facts=facts)


def _templates(parameters: BracketerParameters) -> tuple[RoleTemplate, ...]:
    given = parameters.templates
    if given is None:
        return parse_bracket_templates(DEFAULT_BRACKET_TEMPLATES)
    return parse_bracket_templates(RICH_BRACKET_TEMPLATES if given == RICH else given)


TAGS = TagColumns(as_tagged, lambda parameters, survey: columns_read(_templates(parameters)))


def _bracketing(survey: Survey, fold: Fold) -> Bracketing:
    """The labels of all pieces; a root is taken off only if all pieces have the same."""
    roots, facts = survey.facts["roots"], survey.facts
    root = next(iter(roots)) if len(roots) == 1 else None
    which = "with" if root is None else "without"
    return Bracketing.with_labels(root, Labels(*(facts[f"{part} {which} root"] for part in Labels._fields)), fold)


def compile_brackets(
    parameters: BracketerParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[Bracketer]:
    """Compile features and trees to arrays; a `survey` of all pieces, if given, decides on the labels."""
    hash_bits, fold = int(parameters.hash_bits), parameters.fold
    columns = as_tagged(data.X)
    trees = as_trees(columns, data.y)
    templates = _templates(parameters)
    dev = None if data.dev is None else as_tagged(data.dev[0])
    gold_dev = None if dev is None or data.dev is None else as_trees(dev, data.dev[1])
    columns, dev, taggers, filled = tagged(parameters, columns, dev, columns_read(templates), data.told)
    bracketing = Bracketing.of(trees, fold) if survey is None else _bracketing(survey, fold)
    gold = np.concatenate([bracketing.encode(tree) for tree in trees])
    examples = BracketExamples(
        bracketing,
        hash_bits,
        columns.indptr,
        BracketHasher(templates).keys(columns),
        gold,
        missing_cost=parameters.missing_cost,
        error=parameters.error,
        source=columns.source,
    )
    texts = tuple(template.text for template in templates)
    model = Bracketer(
        bracketing.chains, bracketing, texts, hash_bits, weights=np.empty(0), taggers=taggers, filled=filled
    )
    score = None if dev is None or gold_dev is None else _score(parameters, model, dev, gold_dev)
    return Compiled(examples, model.with_solution, bracketing.chains, score, parameters.dev_metric, data.sample_weight)


def _score(parameters: BracketerParameters, model: Bracketer, X: Columns, gold: list[Tree]) -> Score:
    words = columns_of(gold)  # gold tags decide which words are punctuation

    def measure(nodes: IntMatrix) -> float:
        scores = bracket_scores(gold, model.trees_of(nodes, words))
        return scores.exact if parameters.dev_metric == "exact" else scores.micro.f1

    return score_of_outputs(model.examples(X), parameters.n_jobs, measure)


@documented(Bracketer)
@dataclass(kw_only=True, repr=False, eq=False)
class ConstituencyParser(BracketerParameters, TreeEstimator[Bracketer]):
    """Large-margin parsing into trees of constituents.

    Attributes
    ----------
    classes_ : ndarray
        The labels of constituents. A chain of constituents over the same words is one label; a word in none has "".
    taggers_ : dict
        The tagger that the model carries, as the value of ``"pos"``; empty if tags are given.

    Notes
    -----
    X is a list of pairs (words, tags), or `Columns` with ``word`` and ``pos``, as readers return them. With predicted
    tags, `fit` learns to tag from X, and `predict` needs only lists of words. y is a list of
    `widemargin.text.trees.Tree`, or of their texts in brackets. `widemargin.files.brackets.columns_of` makes X from
    trees.

    Examples
    --------
    >>> X = [(["dogs", "bark"], ["N", "V"]), (["big", "dogs", "sleep"], ["A", "N", "V"])]
    >>> y = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (A big) (N dogs)) (VP (V sleep)))"]
    >>> parser = ConstituencyParser(hash_bits=14).fit(X, y)
    >>> print(parser.predict([(["big", "cats", "bark"], ["A", "N", "V"])])[0])
    (S (NP (A big) (N cats)) (VP (V bark)))
    """

    _compile = staticmethod(compile_brackets)
    _survey = staticmethod(survey_brackets)
    _tags = TAGS

    def predict_best(self, X: Any, k: int) -> list[list[Ranked]]:
        """The `k` best trees of every sentence as pairs (score, tree), best first; fewer if fewer exist."""
        found: list[list[Ranked]] = self._ask("predict_best", X, k)
        return found

    def predict_proba(self, X: Any) -> list[FloatMatrix]:
        """For every sentence, at [begin, end, c] the probability that the words begin … end − 1 are `classes_[c]`.

        The model must have been trained with `likelihood` or `softmax-margin`.
        """
        return [each[..., self._order] for each in self._ask("predict_proba", X)]

    def score(self, X: Any, y: Any) -> float:
        """The score that `dev_metric` names, by default F1 of labelled brackets."""
        self._check_fitted()
        columns, y = as_tagged(self._read(X)), self._read(y)
        scores = scores_of(as_trees(columns, y), self.predict(columns))
        return scores.exact if self.dev_metric == "exact" else scores.micro.f1
