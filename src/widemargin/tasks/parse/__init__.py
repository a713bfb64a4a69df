"""Parse sentences into dependency trees."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "tree": Kind(
            __name__,
            ".tree_parameters.ParserParameters",
            "estimator.compile_trees",
            "model.Parser",
            "estimator.DependencyParser",
            survey="estimator.survey_trees",
            tags="estimator.TAGS",
        )
    },
    does="Learn to parse: dependency trees, from the columns head and deprel of CoNLL-U or CoNLL-X files.",
    example="--train train.conllu --dev dev.conllu --epochs 10 --out english.wm",
    files="dependencies.ParseFiles",
    reads=("format", "columns"),
    scores_punctuation=True,
)
