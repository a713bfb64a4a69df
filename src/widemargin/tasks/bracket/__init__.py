"""Parse tagged sentences into trees of constituents."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "brackets": Kind(
            __name__,
            "parameters.BracketerParameters",
            "compile.compile_brackets",
            "model.Bracketer",
            "estimator.ConstituencyParser",
            survey="compile.survey_brackets",
            tags="compile.TAGS",
        )
    },
    does="Learn to parse: trees of constituents, from files of trees in brackets.\n\nTraces are left out.",
    example="--train train.mrg --dev dev.mrg --epochs 10 --out trees.wm",
    files="binary.BracketFiles",
    options="parameters.BracketOptions",
)
