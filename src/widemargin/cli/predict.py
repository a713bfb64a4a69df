"""`widemargin predict`: a file with its label column filled in, or answers that say more as JSON lines."""

from collections.abc import Sequence

from widemargin._threads import count_threads
from widemargin.cli.answers import Limits, json_lines
from widemargin.cli.documents import check_target, read_corpus, remembered, text_corpus
from widemargin.data.document import write_text
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.predictors.kinds import CLASSES, TREES, load_predictor


def run(
    *,
    model: str,
    file: str,
    out: str,
    draw: str | None,
    text: bool,
    best: int | None,
    confidence: bool,
    bio: bool,
    forbid: Sequence[str],
    at_most_one: Sequence[str],
    allowed: str | None,
    forced: str | None,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    jobs: int,
) -> None:
    """Label a file."""
    if out != "-":
        check_target(out, inputs=[model])
    if draw is not None and draw != "-":
        if not draw.lower().endswith(".svg"):
            raise WidemarginError(f"pictures are SVG files; {draw} does not end in .svg (- draws on the terminal)")
        check_target(draw, inputs=[model, file, out])
    if text and (file_format is not None or columns is not None or label is not None):
        raise WidemarginError("--text is a format of its own; leave out --format, --columns and --label")
    limits = Limits(bio, forbid, at_most_one, allowed, forced)
    predictor = load_predictor(model)
    if draw is not None and predictor.structure not in TREES:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; only trees can be drawn")
    if any(limits) and predictor.structure in (*CLASSES, *TREES):
        raise UnsupportedError(f"the model predicts {predictor.predicts}, to which these constraints do not apply")
    if predictor.structure in TREES:
        from widemargin.cli import parsed

        if best is not None or confidence:
            raise UnsupportedError(f"the model predicts {predictor.predicts}; leave out --best and --confidence")
        parsed.predict(predictor, parsed.TreeFile(file, label, file_format, columns, text), out, draw, jobs)
        return
    if predictor.structure in CLASSES:
        from widemargin.cli import classified

        classified.predict(predictor, file, out, file_format, jobs, best, confidence)
        return
    data = remembered(predictor.summary)
    corpus = text_corpus(file) if text else read_corpus(file, file_format=file_format, names=columns, data=data)
    X, n_threads = corpus.document.columns, count_threads(jobs)
    constraints = limits.constraints(corpus.document, predictor.labels)
    if best is not None or confidence:
        write_text(out, "".join(json_lines(predictor, X, constraints, n_threads, best, confidence)))
        return
    column = corpus.document.label if text else corpus.label_to_write(label, data, predictor.structure)
    codes = predictor.predict_codes(X, n_threads, constraints)
    corpus.document.write(out, {column: predictor.spelt(codes)})
