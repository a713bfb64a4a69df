"""Parse tagged sentences into trees of constituents."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "brackets": Kind(
            __name__,
            ".tree_parameters.BracketerParameters",
            "estimator.compile_brackets",
            "model.Bracketer",
            "estimator.ConstituencyParser",
            survey="estimator.survey_brackets",
            tags="estimator.TAGS",
        )
    },
    does="Learn to parse: trees of constituents, from files of trees in brackets.\n\nTraces are left out.",
    example="--train train.mrg --dev dev.mrg --epochs 10 --out trees.wm",
    files="binary.BracketFiles",
    options=".tree_parameters.BracketOptions",
)
