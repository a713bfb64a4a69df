"""Cut sequences into labelled segments: a semi-Markov model."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "segment": Kind(
            __name__,
            "parameters.SegmenterParameters",
            "estimator.compile_segments",
            "model.SegmentModel",
            "estimator.Segmenter",
            survey="estimator.survey_segments",
        )
    },
    does="Learn to cut sequences into labelled segments.\n\nThe labels of the data mark segments in BIO, or are XML "
    "fields, or spans in JSON.",
    example="--train citations.xml --max-length 40 --out citations.wm",
    files="labels.SegmentFiles",
    options="parameters.SegmentOptions",
    reads=("label", "format", "columns", "unknown", "alternatives"),
)
