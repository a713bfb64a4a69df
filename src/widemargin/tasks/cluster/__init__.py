"""Partition sets of items by features of their pairs: records of the same thing, mentions of the same person."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "clusters": Kind(
            __name__,
            "parameters.ClusterParameters",
            "estimator.compile_clusters",
            "model.ClusterModel",
            "estimator.Clusterer",
            survey="estimator.survey_clusters",
        )
    },
    does="Learn to cluster: which items of a document belong together, by features of their pairs.\n\nReads JSON lines "
    "of records, pairs in svmlight files (+1 or -1, key:value …, # document i j), and mentions of coreference in "
    "CoNLL-U (Entity= in the last column) or in the last column of CoNLL files.",
    example="--train train.jsonl --dev dev.jsonl --out same.wm",
    files="files.ClusterFiles",
    reads=("format", "columns"),
)
