"""Parsing into constituents as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin._threads import count_threads
from widemargin.bracketings import as_trees
from widemargin.estimators.base import ModelEstimator
from widemargin.features.inputs import as_tagged
from widemargin.predictors.bracketer import Bracketer
from widemargin.training import BracketerParameters, BracketerSettings
from widemargin.tree_metrics import bracket_scores
from widemargin.trees import Tree


@dataclass(kw_only=True, repr=False, eq=False)
class ConstituencyParser(BracketerParameters, ModelEstimator[Bracketer]):
    """Large-margin parsing of tagged sentences into trees of constituents.

    Parameters
    ----------
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`
    templates, hash_bits, missing_cost, dev_metric : see `widemargin.training.BracketerParameters`

    `fit` takes as X a list of pairs (words, tags), or `Columns` with ``word`` and ``pos``, as readers return them; as y
    a list of `widemargin.trees.Tree`, or of their texts in brackets. `widemargin.data.brackets.columns_of` makes X of
    trees.

    Attributes
    ----------
    classes_ : the labels of constituents, chains of them over the same words being one; the empty one is that of words
    solution_ : weights, trace, primal, dual, gap, whether it is certified, and why training stopped
    model_ : the trained model, free of scikit-learn

    Examples
    --------
    >>> X = [(["dogs", "bark"], ["N", "V"]), (["big", "dogs", "sleep"], ["A", "N", "V"])]
    >>> y = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (A big) (N dogs)) (VP (V sleep)))"]
    >>> parser = ConstituencyParser(hash_bits=14).fit(X, y)
    >>> print(parser.predict([(["big", "cats", "bark"], ["A", "N", "V"])])[0])
    (S (NP (A big) (N cats)) (VP (V bark)))
    """

    _kind = BracketerSettings

    def predict(self, X: Any) -> list[Tree]:
        """The best tree of every sentence."""
        self._check_fitted()
        return self.model_.predict_trees(X, count_threads(self.n_jobs))

    def score(self, X: Any, y: Any) -> float:
        """F1 of labelled brackets."""
        return bracket_scores(as_trees(as_tagged(X), y), self.predict(X)).micro.f1
