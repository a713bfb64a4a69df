"""Summaries of several documents: the sentences that say most within a number of words."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "summaries": Kind(
            __name__,
            "parameters.SummariserParameters",
            "estimator.compile_topics",
            "model.SummaryModel",
            "estimator.Summariser",
            survey="estimator.survey_topics",
        )
    },
    does="Learn to summarise topics of several documents by some of their sentences, from reference summaries.\n\n"
    'Reads JSON lines ({"documents": [[sentences] or text, ...], "references": [text, ...]}), folders (topics/NAME, a '
    "text with a sentence per line or a folder of texts; references/NAME/*), and CoNLL-U with summaries in comments.",
    example="--train reviews --length 20 --out summaries.wm",
    files="files.SummaryFiles",
    options="parameters.FileOptions",
    reads=("format",),
)
