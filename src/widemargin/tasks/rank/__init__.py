"""Rank the documents of queries, so that the relevant ones come first."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, Parameters, parameter, with_default

HIGHEST_GRADE = 30
"""Grades of documents are from 0 to this one."""


@dataclass(kw_only=True, repr=False, eq=False)
class RankerParameters(LatentParameters):
    """Parameters of rankers."""

    usual_C: ClassVar[float] = 0.1
    usual_epochs: ClassVar[int] = 1000

    tol: float | None = with_default(Parameters, "tol", 0.001)
    measure: Literal["ndcg", "precision", "map", "pairs"] = parameter(
        "ndcg",
        "What to get right: NDCG@k, precision@k, average precision, or pairs of documents (the Ranking SVM).",
    )
    k: int = parameter(
        10, "How many places of a ranking count, for precision and NDCG.", option="--k", least=1, most=2**31 - 1
    )
    relevant_from: int = parameter(
        1, "The least grade that is relevant, for precision and average precision.", least=1, most=HIGHEST_GRADE
    )
    normalize: bool = parameter(
        False, "Scale each feature within each query, so that its values there are 1 apart at most."
    )


def _model() -> type[Any]:
    from widemargin.tasks.rank.model import RankingModel

    return RankingModel


def _estimator() -> type[Any]:
    from widemargin.tasks.rank.estimator import Ranker

    return Ranker


def _arrays() -> type[Any]:
    from widemargin.tasks.rank.out_of_core import RankArrays

    return RankArrays


def _files() -> Any:
    from widemargin.tasks.rank.files import RankFiles

    return RankFiles()


TASK = Task(
    {"ranking": Kind("Ranker", RankerParameters, _model, _estimator, arrays=_arrays)},
    does="Learn to rank documents from svmlight files.\n\nA line is a document: its grade, the higher the more "
    "relevant, its query as qid:n, and index:value pairs. Instead of qid:n, a file next to it may hold the number of "
    "documents of each query, one per line: train.query for train.svm.",
    example="--train train.svm --dev dev.svm --measure ndcg --k 10 --out ranker.wm",
    files=_files,
)
