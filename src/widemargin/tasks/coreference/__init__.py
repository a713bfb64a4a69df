"""Resolve coreference: which mentions of a text mean the same thing, by an antecedent for each."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "coreference": Kind(
            __name__,
            "parameters.CoreferenceParameters",
            "estimator.compile_coreference",
            "model.CoreferenceModel",
            "estimator.CoreferenceResolver",
        )
    },
    does="Learn coreference: which mentions of a text mean the same thing.\n\nReads CoNLL-U (Entity= in the last "
    "column), CoNLL files with coreference in the last column, such as those of CoNLL-2012 and GUM, and JSON lines.",
    example="--train train.conllu --dev dev.conllu --out coreference.wm",
    files="files.CoreferenceFiles",
    options="parameters.CoreferenceOptions",
    reads=("format", "columns"),
)
