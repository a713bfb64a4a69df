"""From documents and their grades to examples."""

import warnings
from functools import partial
from typing import Any, get_args

import numpy as np

from widemargin._types import IntVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.rank import RankerParameters
from widemargin.tasks.rank.examples import PositionExamples, QueryExamples, SwapExamples
from widemargin.tasks.rank.files import Rankings, main_measure
from widemargin.tasks.rank.model import RankingModel, Settings, feature_rows
from widemargin.tasks.rank.queries import HIGHEST_GRADE, as_grades, as_queries
from widemargin.tasks.survey import Survey, refuse_latent, widened
from widemargin.tasks.training import Compiled, Data
from widemargin.text.matrices import MatrixExtractor, warn_of_scales

VISIBLE = 0.001
NOTHING_LEARNT = (
    f"training ended at weights of almost zero: no two documents of a query differ by {VISIBLE} in score, where an "
    "error counts as 1; raise C, or begin elsewhere: with init='rule', with n_restarts, or with a model of "
    "measure='pairs', which needs no beginning"
)


def survey_rankings(parameters: RankerParameters, data: Data) -> Survey:
    """The number of features of a piece of the data."""
    if _settings(parameters).measure in ("precision", "ndcg"):
        refuse_latent(f"of measure={parameters.measure!r} the best of equal rankings is hidden")
    return Survey(facts={"size": {"width": as_queries(data.X).matrix.width}})


def compile_rankings(
    parameters: RankerParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[RankingModel]:
    """Compile documents and grades to arrays; with a `survey` of all pieces, a piece may have nothing to learn from."""
    settings = _settings(parameters)
    queries = as_queries(data.X)
    queries = queries._replace(matrix=widened(queries.matrix, survey))
    grades, extractor = as_grades(data.y, queries.indptr), MatrixExtractor(queries.matrix.width)
    examples = _examples(settings, QueryExamples(*feature_rows(extractor, queries, settings), grades))
    warn_of_scales(queries.matrix.rows)
    weight = checked_weights(data.sample_weight, examples.n_examples) * examples.informative()
    if survey is None and not weight.any():
        choice = f"relevant and other documents to choose {settings.k} from"
        wanted = choice if settings.measure == "precision" else "documents of different relevance to put in order"
        raise DataError(f"no query has {wanted}")
    score = None
    if data.dev is not None:
        dev = as_queries(data.dev[0], width=queries.matrix.width)
        of_dev = as_grades(data.dev[1], dev.indptr)
        score = _score(settings, QueryExamples(*feature_rows(extractor, dev, settings), of_dev))
    return Compiled(
        examples,
        partial(_model, settings, extractor, examples if survey is None else None),
        [RankingModel.label],
        score,
        main_measure(settings.measure, settings.k),
        weight,
        completions=partial(_completions, examples) if isinstance(examples, PositionExamples) else None,
    )


def _settings(parameters: RankerParameters) -> Settings:
    for name, most in (("k", 2**31 - 1), ("relevant_from", HIGHEST_GRADE)):
        value = getattr(parameters, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
            raise WidemarginError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
    known = get_args(RankerParameters.__dataclass_fields__["measure"].type)
    if parameters.measure not in known:
        raise WidemarginError(f"measure must be one of {', '.join(known)}, not {parameters.measure!r}")
    return Settings(parameters.measure, int(parameters.k), int(parameters.relevant_from), bool(parameters.normalize))


def _examples(settings: Settings, given: QueryExamples) -> PositionExamples | SwapExamples:
    arrays = given.features, given.n_weights, given.indptr, given.grades
    if settings.measure == "precision" or settings.measure == "ndcg":  # noqa: PLR1714 — mypy narrows only this way
        return PositionExamples(*arrays, measure=settings.measure, k=settings.k, relevant_from=settings.relevant_from)
    return SwapExamples(*arrays, measure=settings.measure, relevant_from=settings.relevant_from)


def _score(settings: Settings, dev: QueryExamples) -> Score:
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
    settings: Settings,
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
