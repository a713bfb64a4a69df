"""Dependency parsing as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin._types import FloatMatrix
from widemargin.tasks.abilities import TreeEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.parse import ParserParameters
from widemargin.tasks.parse.compile import TAGS, compile_trees, survey_trees
from widemargin.tasks.parse.dependencies import arc_lists, as_dependencies
from widemargin.tasks.parse.metrics import attachment_scores
from widemargin.tasks.parse.model import Parser
from widemargin.text.inputs import as_columns


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
