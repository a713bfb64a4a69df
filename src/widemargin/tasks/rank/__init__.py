"""Rank the documents of queries, so that the relevant ones come first."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "ranking": Kind(
            __name__,
            "parameters.RankerParameters",
            "estimator.compile_rankings",
            "model.RankingModel",
            "estimator.Ranker",
            survey="estimator.survey_rankings",
        )
    },
    does="Learn to rank documents from svmlight files.\n\nA line is a document: its grade, the higher the more "
    "relevant, its query as qid:n, and index:value pairs. Instead of qid:n, a file next to it may hold the number of "
    "documents of each query, one per line: train.query for train.svm.",
    example="--train train.svm --dev dev.svm --measure ndcg --k 10 --out ranker.wm",
    files="files.RankFiles",
)
