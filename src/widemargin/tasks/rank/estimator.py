"""Rankers as a scikit-learn estimator."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.sparse import of_width
from widemargin.core.stop import Callback, Score
from widemargin.errors import DataError
from widemargin.tasks.abilities import NamedEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.rank import RankerParameters
from widemargin.tasks.rank.examples import PositionExamples, QueryExamples, SwapExamples
from widemargin.tasks.rank.features import as_grades, as_queries
from widemargin.tasks.rank.files import Rankings, main_measure
from widemargin.tasks.rank.model import RankingModel, RankingSettings, feature_rows
from widemargin.tasks.survey import Survey, refuse_latent, widened
from widemargin.tasks.training import Compiled, Data
from widemargin.text.matrices import MatrixExtractor, warn_of_scales

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison


VISIBLE = 0.001
NOTHING_LEARNT = (
    f"training ended at weights of almost zero: no two documents of a query differ by {VISIBLE} in score, where an "
    "error counts as 1; raise C, or begin elsewhere: with init='rule', with n_restarts, or with a model of "
    "measure='pairs', which needs no beginning"
)


def survey_rankings(parameters: RankerParameters, data: Data) -> Survey:
    """The number of features of a piece of the data."""
    if settings_of(parameters).measure in ("precision", "ndcg"):
        refuse_latent(f"of measure={parameters.measure!r} the best of equal rankings is hidden")
    return Survey(facts={"size": {"width": as_queries(data.X).matrix.width}})


def compile_rankings(
    parameters: RankerParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[RankingModel]:
    """Compile documents and grades to arrays; with a `survey` of all pieces, a piece may have nothing to learn from."""
    settings = settings_of(parameters)
    queries = as_queries(data.X)
    queries = queries._replace(matrix=widened(queries.matrix, survey))
    grades, extractor = as_grades(data.y, queries.indptr), MatrixExtractor(queries.matrix.width)
    examples = examples_for(settings, *feature_rows(extractor, queries, settings), grades)
    warn_of_scales(queries.matrix.rows)
    return assemble_rankings(parameters, extractor, examples, data, alone=survey is None)


def assemble_rankings(
    parameters: RankerParameters,
    extractor: MatrixExtractor,
    examples: PositionExamples | SwapExamples,
    data: Data,
    *,
    alone: bool = True,
) -> Compiled[RankingModel]:
    """The examples with their development score, and how to make a model; `alone` if they are all there is."""
    settings = settings_of(parameters)
    weight = checked_weights(data.sample_weight, examples.n_examples) * examples.informative()
    if alone and not weight.any():
        choice = f"relevant and other documents to choose {settings.k} from"
        wanted = choice if settings.measure == "precision" else "documents of different relevance to put in order"
        raise DataError(f"no query has {wanted}")
    score = None
    if data.dev is not None:
        dev = as_queries(data.dev[0], width=extractor.width)
        # Documents of a file may have features that no training document has.
        dev = dev._replace(matrix=of_width(dev.matrix, extractor.n_features)) if dev is data.dev[0] else dev
        of_dev = as_grades(data.dev[1], dev.indptr)
        score = _score(settings, QueryExamples(*feature_rows(extractor, dev, settings), of_dev))
    return Compiled(
        examples,
        partial(_model, settings, extractor, examples if alone else None),
        [RankingModel.label],
        score,
        main_measure(settings.measure, settings.k),
        weight,
        completions=partial(_completions, examples) if isinstance(examples, PositionExamples) else None,
    )


def settings_of(parameters: RankerParameters) -> RankingSettings:
    """The settings of the model."""
    k, relevant_from = int(parameters.k), int(parameters.relevant_from)
    return RankingSettings(parameters.measure, k, relevant_from, bool(parameters.normalize))


def examples_for(settings: RankingSettings, *arrays: Any) -> PositionExamples | SwapExamples:
    """The examples for a measure, made of features, their number, boundaries of queries, and grades."""
    if settings.measure == "precision" or settings.measure == "ndcg":  # noqa: PLR1714 — mypy narrows only this way
        return PositionExamples(*arrays, measure=settings.measure, k=settings.k, relevant_from=settings.relevant_from)
    return SwapExamples(*arrays, measure=settings.measure, relevant_from=settings.relevant_from)


def _score(settings: RankingSettings, dev: QueryExamples) -> Score:
    """The main measure on development data as a function of the weights."""
    everything, name = np.arange(dev.n_examples, dtype=np.int32), main_measure(settings.measure, settings.k)
    return lambda w: Rankings(dev.scores(w, everything), dev.grades, dev.indptr, settings.relevant_from).results(
        [settings.k]
    )[name]


def _completions(examples: PositionExamples, given: Any) -> IntVector:
    """The user's rankings, one list of document numbers per query, cut to the places that count."""
    if len(given) != examples.n_examples:
        raise DataError(f"init has {len(given)} rankings, but there are {examples.n_examples} queries")
    parts = []
    for i, (ranking, n, wanted) in enumerate(
        zip(given, examples.n_documents.tolist(), examples.n_chosen.tolist(), strict=True)
    ):
        chosen = np.asarray(ranking)[:wanted]
        whole = chosen.ndim == 1 and np.issubdtype(chosen.dtype, np.integer)
        if not whole or len(np.unique(chosen)) != wanted or not 0 <= chosen.min() <= chosen.max() < n:
            raise DataError(f"init: the ranking of query {i} must hold {wanted} different numbers from 0 to {n - 1}")
        levels = examples.levels[examples.indptr[i] : examples.indptr[i + 1]]
        if not np.array_equal(levels[chosen], np.sort(levels)[::-1][:wanted]):
            raise DataError(f"init: the ranking of query {i} has a document before a more relevant one")
        parts.append(chosen.astype(np.int32))
    return np.concatenate(parts)


def _model(
    settings: RankingSettings,
    extractor: MatrixExtractor,
    examples: QueryExamples | None,
    solution: Solution,
    summary: dict[str, Any],
) -> RankingModel:
    if examples is not None:
        scores = examples.scores(solution.w, np.arange(examples.n_examples, dtype=np.int32))
        highest, lowest = (each.reduceat(scores, examples.indptr[:-1]) for each in (np.maximum, np.minimum))
        if (highest - lowest < VISIBLE).all():
            warnings.warn(NOTHING_LEARNT, stacklevel=2)
    return RankingModel([RankingModel.label], extractor, solution.w.copy(), settings, summary=summary)


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
        return super().fit(queries, y, sample_weight, _with_queries(dev), callbacks, checkpoint, resume)

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
        return super().fit_path(as_queries(X, group, qid), y, C, sample_weight, _with_queries(dev))

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
        return super().compare(as_queries(X, group, qid), y, solvers, sample_weight, _with_queries(dev))

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

    def _wrap(self, model: RankingModel, solution: Solution | None = None) -> Self:
        super()._wrap(model, solution)
        self.n_features_in_ = model.extractor.width
        return self


def _with_queries(dev: tuple[Any, ...] | None) -> tuple[Any, Any] | None:
    """Development data with their queries."""
    if dev is None:
        return None
    if len(dev) not in (2, 3):
        raise DataError(f"dev must be (X, y, group), or (X, y) with lists of queries, not {len(dev)} parts")
    return as_queries(dev[0], dev[2] if len(dev) == 3 else None), dev[1]
