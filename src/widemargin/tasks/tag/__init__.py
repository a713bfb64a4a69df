"""Label the tokens of sequences: a first-order chain."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "chain": Kind(
            __name__,
            "parameters.TaggerParameters",
            "estimator.compile_tags",
            "model.Tagger",
            "estimator.SequenceTagger",
            foreign={b"lCRF": "crfsuite.read_tagger"},
            survey="estimator.survey_tags",
            arrays="out_of_core.TagArrays",
        )
    },
    does="Learn to label the tokens of sequences.",
    example="--train train.conllu --dev dev.conllu --label upos --out upos.wm",
    files=".token_files.TokenFiles",
    reads=("label", "format", "columns", "unknown", "alternatives"),
)
