"""Parsing into constituents as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin._types import FloatMatrix
from widemargin.tasks.abilities import TreeEstimator
from widemargin.tasks.answers import Ranked
from widemargin.tasks.bracket import BracketerParameters
from widemargin.tasks.bracket.binary import as_trees
from widemargin.tasks.bracket.compile import TAGS, compile_brackets, survey_brackets
from widemargin.tasks.bracket.metrics import scores_of
from widemargin.tasks.bracket.model import Bracketer
from widemargin.tasks.parameters import documented
from widemargin.text.inputs import as_tagged


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
