"""Dependency parsing as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin._threads import count_threads
from widemargin.data.dependencies import arc_lists
from widemargin.estimators.base import ModelEstimator
from widemargin.features.inputs import as_columns
from widemargin.predictors.parser import Parser
from widemargin.training import ParserParameters, ParserSettings
from widemargin.training.parsing import as_dependencies
from widemargin.tree_metrics import attachment_scores
from widemargin.trees import Arc


@dataclass(kw_only=True, repr=False, eq=False)
class DependencyParser(ParserParameters, ModelEstimator[Parser]):
    """Large-margin dependency parsing.

    Parameters
    ----------
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`
    decoder, order, single_root, arc_templates, label_templates, sibling_templates, hash_bits, feature_memory,
    head_cost, label_cost, dev_metric : see `widemargin.training.ParserParameters`

    `fit` takes as X a list of sentences whose tokens are dicts of columns (``{"word": …, "upos": …}``) or words alone,
    or `Columns`, as readers return them; as y for each sentence a list of (head, label), where heads count from 1 and 0
    is the root, or what `widemargin.data.dependencies.arcs` finds in a file.

    Attributes
    ----------
    classes_ : the labels of arcs
    solution_ : weights, trace, primal, dual, gap, whether it is certified, and why training stopped
    model_ : the trained model, free of scikit-learn

    Examples
    --------
    >>> X = [["dogs", "bark"], ["big", "dogs", "sleep"]]
    >>> y = [[(2, "nsubj"), (0, "root")], [(2, "amod"), (3, "nsubj"), (0, "root")]]
    >>> DependencyParser(hash_bits=14).fit(X, y).predict([["big", "dogs", "bark"]])[0][0]
    Arc(head=2, label='amod')
    """

    _kind = ParserSettings

    def predict(self, X: Any) -> list[list[Arc]]:
        """The best tree of every sentence: for each token its head and the label of the arc to it."""
        self._check_fitted()
        return self.model_.predict_trees(X, count_threads(self.n_jobs))

    def score(self, X: Any, y: Any) -> float:
        """The labelled attachment score: the share of tokens with the right head and label."""
        columns = as_columns(X)
        gold = arc_lists(as_dependencies(columns, y), columns.indptr)
        return attachment_scores(gold, self.predict(X)).overall.las
