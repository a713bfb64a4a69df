"""Files of documents to rank: the svmlight format with queries, or with LightGBM's query files next to it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, WidemarginError
from widemargin.files.formats import guess
from widemargin.files.raw import RawText, Source, shortened
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness
from widemargin.tasks.rank.queries import HIGHEST_GRADE, Queries

K = 10  # of the measure that says most where no model tells


class RankFiles(Files):
    """Files with documents to learn from."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """Documents grouped by query, as wide as those of the training data, and their grades."""
        return read_documents(path, reading, about.get("width"), gold=gold)

    def predicted(self, path: str, reading: Reading, gold: Corpus, **own: Any) -> Corpus:
        """A score per line, as `predict` writes them, or documents whose labels are scores."""
        data = parse(RawText.load(path))
        scores = np.array([_score(data, *each) for each in enumerate(data.classes())])
        return gold._replace(y=scores, size={"documents": len(scores)}, document=data)

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """There must be as many documents; of queries, scores alone tell nothing."""
        super().check_aligned(gold._replace(size={"documents": gold.size["documents"]}), predicted)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Documents of the svmlight format with queries."""
        is_svmlight = (reading.format or guess(raw)) == "svmlight"
        return Likeness.LIKELY if is_svmlight and has_queries(raw) else Likeness.NONE

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Precision, NDCG, average precision and reciprocal rank."""
        from widemargin.tasks.rank.scores import Rankings, ranking_evaluation

        rankings = Rankings(predicted.y, gold.y, gold.document.indptr)
        return ranking_evaluation(rankings, "ndcg", K, {})


class Graded(NamedTuple):
    """An svmlight file, and where its queries begin."""

    data: SvmlightData
    indptr: LongVector


def read_documents(path: Source, reading: Reading, width: int | None, *, gold: bool, grouped: bool = True) -> Corpus:
    """Read documents; a file without queries is one query, unless its documents must be `grouped`."""
    if reading.format not in (None, "svmlight"):
        raise WidemarginError(f"rankers read svmlight files, not {reading.format}")
    if reading.label is not None or reading.columns is not None or reading.text:
        raise WidemarginError("svmlight files have no columns of tokens; leave out --label, --columns and --text")
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
        raise data.raw.fault(int(data.lines[d]), f"{shortened(label)!r} is not a score to rank documents by")
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
                f"the grade {shortened(label)!r} is not a whole number from 0 to {HIGHEST_GRADE}",
            )
        grades[d] = int(number)
    return grades


def cut(lines: Sequence[str]) -> int:
    """The lines of whole queries (`files.pieces`): up to the last line with another `qid` than the end has."""
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
    """Where the queries of a file begin: by qid, else by a query file, else (unless `grouped`) all at once."""
    n, named = len(data.queries), data.queries >= 0
    if named.all():
        begins = np.flatnonzero(np.concatenate([[True], data.queries[1:] != data.queries[:-1]])[:n])
        before: set[int] = data.raw.judged("queries", set)
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
            raise raw.fault(number, f"{shortened(text)!r} is not the number of documents of a query")
        sizes.append(int(text))
    if sum(sizes) != n_documents:
        raise DataError(f"{raw.source} counts {sum(sizes)} documents, but {source} has {n_documents}")
    return boundaries(sizes)
