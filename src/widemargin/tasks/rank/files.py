"""Files of documents to rank, and how good rankings are.

Files are in the svmlight format with queries, or with LightGBM's query files next to them. Measures are precision@k,
NDCG@k, average precision and reciprocal rank; each is the mean over queries.

    P@k = 1/k Σ_{r ≤ k} [relevant_r]          DCG@k = Σ_{r ≤ k} (2^grade_r − 1) / log₂(r + 1)
    AP = mean of P@r over the places r of relevant documents      RR = 1 / place of the first relevant document

NDCG@k is DCG@k over that of the best ranking. A query without any relevant document (for NDCG: with no grade above 0)
says nothing about a ranking and is left out, as in trec_eval. Among documents of equal score, the first in the data
comes first.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.sparse import NO_ROWS, Matrix, boundaries, sums
from widemargin.errors import DataError, UnsupportedError
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source, shorten
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.report.evaluation import Evaluation, Table
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness, Reporter, check_no_tokens, time_call
from widemargin.tasks.rank import HIGHEST_GRADE
from widemargin.tasks.rank.features import Queries
from widemargin.tasks.strongest import Part, strongest

if TYPE_CHECKING:
    from widemargin.tasks.rank.model import RankingModel

K = 10  # the k of the main measure if there is no model

SHOWN = (1, 3, 5, 10)
"""The k of tables."""


class RankReporter(Reporter):
    """Reports on rankers."""

    model: "RankingModel"

    counts = "documents"

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """Precision, NDCG, average precision and reciprocal rank."""
        rankings, seconds = time_call("ranking", self.model.rankings, X, y)
        return ranking_evaluation(rankings, self.model.settings.measure, self.model.settings.k, seconds)

    def warm_up(self) -> None:
        """Rank one document without features, so that loading compiled kernels does not count as ranking."""
        rows = NO_ROWS._replace(indptr=np.zeros(2, dtype=np.int64))
        self.model.predict(Queries(Matrix(rows, self.model.extractor.width or 0), boundaries([1])))

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two queries if the file marks them; None otherwise, since it may be a single query."""
        return cut if has_queries(head) else None

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """An svmlight file, without features not seen in training."""
        grouped = gold or self.model.settings.normalize
        return read_documents(path, reading, self.model.extractor.width, gold=gold, grouped=grouped)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """A score per line; or, if its format is asked for, the file with grade 1 for the first k of each query."""
        if reading.format is None:
            return "".join(f"{float(score)!r}\n" for score in outputs)
        data, indptr = corpus.document
        order = rank_order(outputs, indptr)
        chosen = np.zeros(len(order), dtype=np.int64)
        chosen[order[np.arange(len(order)) - query_begins(indptr) < self.model.settings.k]] = 1
        return str(data.relabel(list(map(str, chosen.tolist()))))

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        names = self.model.extractor.names()
        return {"features": Part("Features for and against", strongest(self.model.w, top, names.__getitem__))}


class RankFiles(Files):
    """Files with documents to learn from."""

    reporter = RankReporter

    def read(self, path: Source, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """Documents grouped by query, as wide as those of the training data, and their grades."""
        return read_documents(path, reading, about.get("width"), gold=gold)

    def cut(self, head: RawText, reading: Reading) -> Cut:
        """Cut between two queries."""
        if not has_queries(head):
            raise UnsupportedError(
                f"{head.source} does not mark queries by qid:n, so it cannot be read in pieces; leave out --out-of-core"
            )
        return cut

    def read_predicted(self, path: str, reading: Reading, gold: Corpus, **own: Any) -> Corpus:
        """A score per line, as `predict` writes them, or documents whose labels are scores."""
        data = parse(RawText.load(path))
        scores = np.array([_score(data, *each) for each in enumerate(data.classes())])
        return gold._replace(y=scores, size={"documents": len(scores)}, document=data)

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """Raise unless both have as many documents; a file of scores does not show its queries."""
        super().check_aligned(gold._replace(size={"documents": gold.size["documents"]}), predicted)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Documents of the svmlight format with queries."""
        is_svmlight = (reading.format or guess(raw)) == "svmlight"
        return Likeness.LIKELY if is_svmlight and has_queries(raw) else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Precision, NDCG, average precision and reciprocal rank."""
        rankings = Rankings(predicted.y, gold.y, gold.document.indptr)
        return ranking_evaluation(rankings, "ndcg", K, {})


class Graded(NamedTuple):
    """An svmlight file, and where its queries begin."""

    data: SvmlightData
    indptr: LongVector


def read_documents(path: Source, reading: Reading, width: int | None, *, gold: bool, grouped: bool = True) -> Corpus:
    """Read documents; a file without queries is one query, unless its documents must be `grouped`."""
    check_no_tokens(reading, "documents to rank", ["svmlight"])
    data = parse(RawText.load(path))
    width = data.width if width is None else width
    indptr, grades = _queries(data, grouped=grouped), _grades(data) if gold else None
    size = {"queries": len(indptr) - 1, "documents": len(data.lines)}
    found = {"format": "svmlight", "width": width}
    return Corpus(Queries(data.matrix(width), indptr), grades, found, size, Graded(data, indptr))


def _score(data: SvmlightData, d: int, label: str) -> float:
    try:
        score = float(label)
    except ValueError:
        score = np.nan
    if np.isnan(score):
        raise data.raw.fault(int(data.lines[d]), f"{shorten(label)!r} is not a score to rank documents by")
    return score


def _grades(data: SvmlightData) -> IntVector:
    """The one label of every document, a whole number."""
    grades = np.empty(len(data.lines), dtype=np.int32)
    for d, label in enumerate(data.classes()):
        try:
            number = float(label)
        except ValueError:
            number = -1.0
        if not (0 <= number <= HIGHEST_GRADE and number == int(number)):
            raise data.raw.fault(
                int(data.lines[d]),
                f"the grade {shorten(label)!r} is not a whole number from 0 to {HIGHEST_GRADE}",
            )
        grades[d] = int(number)
    return grades


def cut(lines: Sequence[str]) -> int:
    """The number of lines of whole queries (`files.pieces`): all before the `qid` of the last document."""
    found = ((k, query) for k in range(len(lines) - 1, -1, -1) if (query := _query(lines[k])) is not None)
    _, last = next(found, (0, ""))
    return next((k + 1 for k, query in found if query != last), 0)


def has_queries(head: RawText) -> bool:
    """Whether the first document of a file has a `qid`."""
    return bool(next((query for line in head.lines if (query := _query(line)) is not None), ""))


def _query(line: str) -> str | None:
    """The query of the document on a line: None without a document, "" without a query."""
    words = line.partition("#")[0].split()
    return next((word for word in words if word.startswith("qid:")), "") if words else None


def _queries(data: SvmlightData, *, grouped: bool) -> LongVector:
    """Where the queries of a file begin: by qid, else by a query file, else (unless `grouped`) as a single query."""
    n, named = len(data.queries), data.queries >= 0
    if named.all():
        begins = np.flatnonzero(np.concatenate([[True], data.queries[1:] != data.queries[:-1]])[:n])
        before: set[int] = data.raw.judge_once("queries", set)
        for begin in begins.tolist():
            query = int(data.queries[begin])
            if query in before:
                raise data.raw.fault(
                    int(data.lines[begin]), f"documents of the query {query} stand further up, too; sort them by query"
                )
            before.add(query)
        return np.append(begins, n).astype(np.int64)
    if named.any() or data.raw.first:
        raise data.raw.fault(int(data.lines[np.flatnonzero(~named)[0]]), "other lines have qid:n, but this one has not")
    beside = _beside(data.raw.source)
    if beside is None:
        if grouped:
            raise DataError(f"{data.raw.source} does not tell queries apart: neither by qid:n nor by a .query file")
        return np.array([0, n], dtype=np.int64)
    return _sizes(RawText.load(str(beside)), n, data.raw.source)


def _beside(path: str) -> Path | None:
    """The query file of a data file: train.query or train.svm.query for train.svm."""
    given = Path(path)
    return next((each for each in (given.with_suffix(".query"), Path(f"{path}.query")) if each.is_file()), None)


def _sizes(raw: RawText, n_documents: int, source: str) -> LongVector:
    sizes = []
    for number, line in enumerate(raw.lines):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) < 1:
            raise raw.fault(number, f"{shorten(text)!r} is not the number of documents of a query")
        sizes.append(int(text))
    if sum(sizes) != n_documents:
        raise DataError(f"{raw.source} counts {sum(sizes)} documents, but {source} has {n_documents}")
    return boundaries(sizes)


def query_begins(indptr: LongVector) -> LongVector:
    """For each document, where its query begins."""
    return np.repeat(indptr[:-1], np.diff(indptr))


def rank_order(scores: FloatVector, indptr: LongVector) -> LongVector:
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
        self.place = np.arange(indptr[-1]) - query_begins(indptr) + 1
        self.grades = grades[rank_order(scores, indptr)]
        self.best = grades[rank_order(grades.astype(np.float64), indptr)]
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
    """The name of the main score after training for a measure."""
    return {"precision": f"precision@{k}", "map": "map"}.get(measure, f"ndcg@{k}")


def ranking_evaluation(rankings: Rankings, measure: str, k: int, seconds: dict[str, float]) -> Evaluation:
    """An evaluation with all measures; the measure of training is the main one."""
    ks, main = sorted({*SHOWN, k}), main_measure(measure, k)
    results: dict[str, Any] = {**rankings.results(ks)}
    left_out = int((rankings.n_relevant == 0).sum())
    results["queries_without_relevant_documents"] = left_out
    facts = [(main, share(results[main])), ("MAP", share(results["map"])), ("MRR", share(results["mrr"]))]
    rows = [[str(k), share(results[f"precision@{k}"]), share(results[f"ndcg@{k}"])] for k in ks]
    remark = f"{left_out:,} queries without relevant documents are left out." if left_out else ""
    tables = [Table("The first k", ["k", "precision", "NDCG"], rows, remark)]
    return Evaluation(results, main, facts, tables, seconds)
