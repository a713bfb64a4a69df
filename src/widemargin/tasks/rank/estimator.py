"""Rankers as a scikit-learn estimator."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from widemargin._types import FloatVector, LongVector
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.errors import DataError
from widemargin.tasks.abilities import NamedEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.rank import RankerParameters
from widemargin.tasks.rank.compile import compile_rankings, survey_rankings
from widemargin.tasks.rank.model import RankingModel
from widemargin.tasks.rank.queries import as_queries

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison


@documented(RankingModel)
@dataclass(kw_only=True, repr=False, eq=False)
class Ranker(RankerParameters, NamedEstimator[RankingModel]):
    """Large-margin ranking of the documents of queries, for precision@k, NDCG@k, average precision or pairs.

    Attributes
    ----------
    coef_ : ndarray
        The weight of each feature.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    `X` is a matrix with a row per document, dense or sparse, with `group`, the number of documents of each query, or
    `qid`, the query of each document. Documents of a query are together. Or `X` is a list of matrices, one per query,
    which scikit-learn's cross-validation can split. `y` holds a grade for each document, a whole number from 0 (not
    relevant) to 30. `sample_weight` has a weight per query. `dev` is ``(X, y, group)``, or ``(X, y)`` with lists.

    Examples
    --------
    >>> X = [[0.9, 0.2], [0.1, 0.7], [0.3, 0.1], [0.8, 0.6], [0.2, 0.9]]
    >>> ranker = Ranker(measure="pairs").fit(X, [1, 0, 0, 1, 0], group=[3, 2])
    >>> [order.tolist() for order in ranker.rank(X, group=[3, 2])]
    [[0, 2, 1], [0, 1]]
    """

    _compile = staticmethod(compile_rankings)
    _survey = staticmethod(survey_rankings)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, ...] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        *,
        group: Any = None,
        qid: Any = None,
    ) -> Self:
        """Train on documents `X` with the grades `y`.

        Parameters
        ----------
        X, y : documents and their grades, in the forms listed under Notes
        sample_weight : one weight per query
        dev : development data (X, y, group), scored after every epoch; the best epoch's weights are kept
        callbacks : informed as training proceeds
        checkpoint : a file that saves the run as it proceeds
        resume : continue from the checkpoint, if it exists, exactly as its run would have continued
        group : the number of documents of each query
        qid : the query of each document
        """
        queries = as_queries(X, group, qid)
        return super().fit(queries, y, sample_weight, _grouped(dev), callbacks, checkpoint, resume)

    def fit_path(
        self,
        X: Any,
        y: Any,
        C: Sequence[float],
        sample_weight: Any = None,
        dev: tuple[Any, ...] | None = None,
        *,
        group: Any = None,
        qid: Any = None,
    ) -> list[Self]:
        """Train with each value in `C`: fitted clones in the order of `C`; the estimator itself is unchanged."""
        return super().fit_path(as_queries(X, group, qid), y, C, sample_weight, _grouped(dev))

    def compare(
        self,
        X: Any,
        y: Any,
        solvers: Iterable[str] | Mapping[str, Solver],
        sample_weight: Any = None,
        dev: tuple[Any, ...] | None = None,
        *,
        group: Any = None,
        qid: Any = None,
    ) -> "Comparison":
        """Train with each solver on the same features, and compare how far and how fast each gets."""
        return super().compare(as_queries(X, group, qid), y, solvers, sample_weight, _grouped(dev))

    def predict(self, X: Any, *, group: Any = None, qid: Any = None) -> Any:
        """The score of every document; for a list of matrices, a list with the scores of each.

        Queries must be given only with `normalize`.
        """
        self._check_fitted()
        if isinstance(X, list | tuple) and group is None and qid is None and len(X) and np.ndim(X[0]) == 2:
            queries = as_queries(X, width=self.model_.extractor.width)
            return np.split(self.model_.predict(queries), queries.indptr[1:-1])
        if group is None and qid is None and not self.normalize:
            qid = np.zeros(np.shape(X)[0])
        return self._ask("predict", as_queries(X, group, qid, self.model_.extractor.width))

    def rank(self, X: Any, *, group: Any = None, qid: Any = None) -> list[LongVector]:
        """For every query the numbers of its documents, counted within the query, best first."""
        self._check_fitted()
        return self.model_.rank(as_queries(X, group, qid, self.model_.extractor.width))

    def score(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> float:
        """The measure of training (NDCG@k for pairs), as a mean over queries."""
        results = self.evaluate(X, y, group=group, qid=qid)
        return results[next(iter(results))]

    def evaluate(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> dict[str, float]:
        """All measures by name, the measure of training first."""
        self._check_fitted()
        found = self.model_.evaluate(as_queries(X, group, qid, self.model_.extractor.width), y)
        return {found.main: found.results[found.main], **found.results}

    @property
    def coef_(self) -> FloatVector:
        """The weight of each feature."""
        if not hasattr(self, "model_"):
            raise AttributeError("there are no weights before fit")
        weights, extractor = np.zeros(self.model_.extractor.width or 0), self.model_.extractor
        weights[slice(None) if extractor.columns is None else extractor.columns] = self.model_.w
        return weights

    def _fitted(self, model: RankingModel, solution: Solution | None = None) -> Self:
        super()._fitted(model, solution)
        self.n_features_in_ = model.extractor.width
        return self


def _grouped(dev: tuple[Any, ...] | None) -> tuple[Any, Any] | None:
    """Development data with their queries."""
    if dev is None:
        return None
    if len(dev) not in (2, 3):
        raise DataError(f"dev must be (X, y, group), or (X, y) with lists of queries, not {len(dev)} parts")
    return as_queries(dev[0], dev[2] if len(dev) == 3 else None), dev[1]
