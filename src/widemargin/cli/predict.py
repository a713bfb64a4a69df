"""`widemargin predict`: a file with its label column filled in."""

from collections.abc import Sequence

from widemargin._threads import count_threads
from widemargin.classifier import LinearModel
from widemargin.cli import classified
from widemargin.cli.documents import check_target, read_corpus, remembered, text_corpus
from widemargin.errors import WidemarginError
from widemargin.predictors import load_predictor


def run(
    *,
    model: str,
    file: str,
    out: str,
    text: bool,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    jobs: int,
) -> None:
    """Label a file."""
    if out != "-":
        check_target(out, inputs=[model])
    if text and (file_format is not None or columns is not None or label is not None):
        raise WidemarginError("--text is a format of its own; leave out --format, --columns and --label")
    predictor = load_predictor(model)
    if isinstance(predictor, LinearModel):
        classified.predict(predictor, file, out, file_format, jobs)
        return
    data = remembered(predictor.summary)
    corpus = text_corpus(file) if text else read_corpus(file, file_format=file_format, names=columns, data=data)
    column = corpus.document.label if text else corpus.label_to_write(label, data, predictor.structure)
    codes = predictor.predict_codes(corpus.document.columns, count_threads(jobs))
    corpus.document.write(out, {column: predictor.spelt(codes)})
