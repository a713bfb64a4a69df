"""Trained rankers: features and weights. Model files call their structure ``ranking``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.core.header import Fields, flag, names, one_of, record, whole
from widemargin.core.sparse import NO_ROWS, Matrix, Rows, boundaries
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Model, Reading
from widemargin.tasks.rank.examples import QueryExamples
from widemargin.tasks.rank.features import HIGHEST_GRADE, Queries, as_grades, as_queries, normalise, with_values
from widemargin.tasks.rank.files import (
    Rankings,
    cut,
    has_queries,
    query_begins,
    rank_order,
    ranking_evaluation,
    read_documents,
)
from widemargin.tasks.strongest import Part, strongest
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
class RankingModel(Model):
    """A trained ranker: the score of a document is ⟨w, x⟩."""

    kind: ClassVar[str] = "ranking"
    predicts: ClassVar[str] = "rankings"
    counts: ClassVar[str] = "documents"
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

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights

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

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """Precision, NDCG, average precision and reciprocal rank."""
        begin = perf_counter()
        rankings = self.rankings(X, y)
        seconds = {"ranking": perf_counter() - begin}
        return ranking_evaluation(rankings, self.settings.measure, self.settings.k, seconds)

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two queries if the file marks them; None otherwise, since it may be a single query."""
        return cut if has_queries(head) else None

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """An svmlight file, without features not seen in training."""
        grouped = gold or self.settings.normalize
        return read_documents(path, reading, self.extractor.width, gold=gold, grouped=grouped)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """A score per line; or, if its format is asked for, the file with grade 1 for the first k of each query."""
        if reading.format is None:
            return "".join(f"{float(score)!r}\n" for score in outputs)
        data, indptr = corpus.document
        order = rank_order(outputs, indptr)
        chosen = np.zeros(len(order), dtype=np.int64)
        chosen[order[np.arange(len(order)) - query_begins(indptr) < self.settings.k]] = 1
        text: str = data.relabelled(list(map(str, chosen.tolist())))
        return text

    def warm_up(self) -> None:
        """Rank one document without features, so that loading compiled kernels does not count as ranking."""
        rows = NO_ROWS._replace(indptr=np.zeros(2, dtype=np.int64))
        self.predict(Queries(Matrix(rows, self.extractor.width or 0), boundaries([1])))

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        names = self.extractor.names()
        return {"features": Part("Features for and against", strongest(self.w, top, names.__getitem__))}

    def compacted(self) -> Self:
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
