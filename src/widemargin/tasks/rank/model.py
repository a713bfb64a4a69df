"""Trained rankers: features and weights. Model files call their structure ``ranking``."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.core.header import Fields, flag, names, one_of, record, whole
from widemargin.core.sparse import Rows, with_values
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.tasks.base import VectorModel
from widemargin.tasks.rank import HIGHEST_GRADE
from widemargin.tasks.rank.examples import QueryExamples
from widemargin.tasks.rank.features import Queries, as_grades, as_queries, normalise
from widemargin.tasks.rank.files import Rankings, query_begins, rank_order
from widemargin.text.inputs import describe
from widemargin.text.matrices import MatrixExtractor


class RankingSettings(NamedTuple):
    """The measure that a ranker was trained for, and how its features are scaled (`parameters.RankerParameters`)."""

    measure: Literal["precision", "ndcg", "map", "pairs"]
    k: int
    relevant_from: int
    normalize: bool


def feature_rows(
    extractor: MatrixExtractor, queries: Queries, settings: RankingSettings
) -> tuple[Rows, int, LongVector]:
    """The features of documents, how many there are, and where queries begin."""
    rows = with_values(extractor.rows(queries.matrix))
    if settings.normalize:
        rows = normalise(rows, extractor.n_features, queries.indptr)
    return rows, extractor.n_features, queries.indptr


@dataclass
class RankingModel(VectorModel):
    """A trained ranker: the score of a document is ⟨w, x⟩."""

    kind: ClassVar[str] = "ranking"
    predicts: ClassVar[str] = "rankings"
    label: ClassVar[str] = "relevance"
    fields: ClassVar[Fields] = {
        "labels": names(str, at_least=1),
        "features": record({}),
        "measure": one_of("precision", "ndcg", "map", "pairs"),
        "k": whole(at_least=1, at_most=2**31 - 1),
        "relevant_from": whole(at_least=1, at_most=HIGHEST_GRADE),
        "normalize": flag(),
    }

    extractor: MatrixExtractor
    weights: FloatVector
    settings: RankingSettings

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, features and weights."""
        return {"labels": len(self.labels), "features": self.extractor.n_features, "weights": len(self.w)}

    def predict(self, X: Any, n_threads: int = 1) -> FloatVector:
        """The score of every document; only a model that scales features needs to know the queries."""
        queries = self.queries(X)
        examples = QueryExamples(
            *feature_rows(self.extractor, queries, self.settings), np.zeros(queries.indptr[-1], dtype=np.int32)
        )
        return examples.scores(self.w, np.arange(queries.n_queries, dtype=np.int32))

    def queries(self, X: Any) -> Queries:
        """Documents with their queries; a matrix alone is one query, unless features are scaled within queries."""
        if isinstance(X, Queries | list | tuple) or self.settings.normalize:
            return as_queries(X, width=self.extractor.width)
        return as_queries(X, qid=np.zeros(X.shape[0]), width=self.extractor.width)

    def rank(self, X: Any) -> list[LongVector]:
        """For every query the numbers of its documents, counted within the query, best first."""
        queries = self.queries(X)
        order = rank_order(self.predict(queries), queries.indptr)
        return np.split(order - query_begins(queries.indptr), queries.indptr[1:-1])

    def rankings(self, X: Any, y: Any) -> Rankings:
        """The rankings of all queries, to be scored by the grades `y`."""
        queries = as_queries(X, width=self.extractor.width)
        grades = as_grades(y, queries.indptr)
        return Rankings(self.predict(queries), grades, queries.indptr, self.settings.relevant_from)

    def compact(self) -> Self:
        """The same model without features whose weight is zero."""
        used = self.w != 0.0
        return replace(self, extractor=self.extractor.keep(used), weights=self.w[used])

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = describe(self.extractor)
        return {"features": described, **self.settings._asdict()}, tensors | {"weights": self.w}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header, extractor = stored.header, MatrixExtractor.restore(stored.part("features"))
        if header["labels"] != [cls.label]:
            raise DataError(f"labels is {header['labels']!r:.60}, not {[cls.label]!r}")
        weights = stored.vector("weights", np.float64, extractor.n_features)
        settings = RankingSettings(*(header[name] for name in RankingSettings._fields))
        return cls(header["labels"], extractor, weights, settings, summary=header["summary"])
