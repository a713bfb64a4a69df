"""`widemargin predict`: a file with its label column filled in, or answers that say more as JSON lines."""

from collections.abc import Sequence

from widemargin._threads import count_threads
from widemargin.cli.answers import Limits, json_lines
from widemargin.cli.documents import check_target, read_corpus, remembered, text_corpus
from widemargin.data.document import write_text
from widemargin.errors import WidemarginError
from widemargin.tagger import Tagger


def run(
    *,
    model: str,
    file: str,
    out: str,
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
    if text and (file_format is not None or columns is not None or label is not None):
        raise WidemarginError("--text is a format of its own; leave out --format, --columns and --label")
    tagger = Tagger.load(model)
    data = remembered(tagger.summary)
    corpus = text_corpus(file) if text else read_corpus(file, file_format=file_format, names=columns, data=data)
    X, n_threads = corpus.document.columns, count_threads(jobs)
    constraints = Limits(bio, forbid, at_most_one, allowed, forced).constraints(corpus.document, tagger.labels)
    if best is not None or confidence:
        write_text(out, "".join(json_lines(tagger, X, constraints, n_threads, best, confidence)))
        return
    column = corpus.document.label if text else corpus.label_to_write(label, data)
    codes = tagger.predict_codes(X, n_threads, constraints)
    names = [str(name) for name in tagger.labels]
    corpus.document.write(out, {column: [names[code] for code in codes.tolist()]})
