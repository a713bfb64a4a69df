"""How good rankings are: precision@k, NDCG@k, average precision, reciprocal rank; each the mean over queries.

    P@k = 1/k Σ_{r ≤ k} [relevant_r]          DCG@k = Σ_{r ≤ k} (2^grade_r − 1) / log₂(r + 1)
    AP = mean of P@r over the places r of relevant documents      RR = 1 / place of the first relevant document

NDCG@k is DCG@k over that of the best ranking. A query without any relevant document (for NDCG: with no grade above 0)
says nothing about a ranking and is left out, as in trec_eval. Among documents of equal score, the first in the data
comes first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.sparse import sums
from widemargin.report.evaluation import Evaluation, Table
from widemargin.report.numbers import share

SHOWN = (1, 3, 5, 10)
"""The k of tables."""


def ranked(scores: FloatVector, indptr: LongVector) -> LongVector:
    """The numbers of all documents, query by query, each query's best first."""
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.lexsort((-scores, query))


class Rankings:
    """The grades of all documents in the order in which a model ranks them.

    Parameters
    ----------
    scores, grades : a number for each document
    indptr : where the documents of each query begin
    relevant_from : the least grade that is relevant
    """

    def __init__(self, scores: FloatVector, grades: IntVector, indptr: LongVector, relevant_from: int = 1) -> None:
        self.indptr = indptr
        self.place = np.arange(indptr[-1]) - np.repeat(indptr[:-1], np.diff(indptr)) + 1
        self.grades = grades[ranked(scores, indptr)]
        self.best = grades[ranked(grades.astype(np.float64), indptr)]
        self.relevant = self.grades >= relevant_from
        self.n_relevant = sums(self.relevant, indptr)

    def precision(self, k: int) -> FloatVector:
        """P@k of each query; nan without relevant documents."""
        return self._among(sums(self.relevant & (self.place <= k), self.indptr) / k, self.n_relevant > 0)

    def ndcg(self, k: int | None = None) -> FloatVector:
        """NDCG@k of each query, NDCG of the whole ranking without a k; nan where all grades are 0."""
        best = self._dcg(self.best, k)
        return self._among(self._dcg(self.grades, k) / np.where(best > 0, best, 1.0), best > 0)

    def average_precision(self) -> FloatVector:
        """AP of each query; nan without relevant documents."""
        before = np.repeat(np.concatenate([[0.0], np.cumsum(self.n_relevant)[:-1]]), np.diff(self.indptr))
        precisions = (np.cumsum(self.relevant) - before) / self.place
        total = sums(precisions * self.relevant, self.indptr)
        return self._among(total / np.maximum(self.n_relevant, 1.0), self.n_relevant > 0)

    def reciprocal_rank(self) -> FloatVector:
        """1 / the place of the first relevant document of each query; nan without relevant documents."""
        places = np.where(self.relevant, self.place, np.inf)
        first = np.minimum.reduceat(places, self.indptr[:-1]) if len(self.indptr) > 1 else np.empty(0)
        return self._among(1.0 / first, self.n_relevant > 0)

    def results(self, ks: Sequence[int] = SHOWN) -> dict[str, float]:
        """All measures by name, as means over queries."""
        found = {f"precision@{k}": mean(self.precision(k)) for k in ks}
        found |= {f"ndcg@{k}": mean(self.ndcg(k)) for k in ks}
        return found | {"map": mean(self.average_precision()), "mrr": mean(self.reciprocal_rank())}

    def _dcg(self, grades: IntVector, k: int | None) -> FloatVector:
        counted = 1.0 if k is None else self.place <= k
        return sums((2.0**grades - 1.0) / np.log2(self.place + 1.0) * counted, self.indptr)

    @staticmethod
    def _among(values: FloatVector, known: BoolVector) -> FloatVector:
        return np.where(known, values, np.nan)


def mean(values: FloatVector) -> float:
    """The mean over queries for which the measure is known; 0 if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def main_measure(measure: str, k: int) -> str:
    """The name of the score that training for a measure is judged by."""
    return {"precision": f"precision@{k}", "map": "map"}.get(measure, f"ndcg@{k}")


def ranking_evaluation(rankings: Rankings, measure: str, k: int, seconds: dict[str, float]) -> Evaluation:
    """All measures as an evaluation, of which that of training says most."""
    ks, main = sorted({*SHOWN, k}), main_measure(measure, k)
    results: dict[str, Any] = {**rankings.results(ks)}
    left_out = int((rankings.n_relevant == 0).sum())
    results["queries_without_relevant_documents"] = left_out
    facts = [(main, share(results[main])), ("MAP", share(results["map"])), ("MRR", share(results["mrr"]))]
    rows = [[str(k), share(results[f"precision@{k}"]), share(results[f"ndcg@{k}"])] for k in ks]
    remark = f"{left_out:,} queries without relevant documents are left out." if left_out else ""
    tables = [Table("The first k", ["k", "precision", "NDCG"], rows, remark)]
    return Evaluation(results, main, facts, tables, seconds)
