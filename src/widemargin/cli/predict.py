"""`widemargin predict`: a file with predictions filled in, or JSON lines with alternatives and confidence."""

import sys
from typing import Any, NamedTuple

from widemargin._threads import count_threads
from widemargin.cli.options import check_target
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.files.document import text_writer, write_text
from widemargin.report.text import encodable, json_text
from widemargin.tasks.answers import Alternatives, AnswerLimits, Answers, Probable
from widemargin.tasks.base import Corpus, Model, Piece, Reading, counted_within, load_model
from widemargin.tasks.files import check_plain_text


class Wanted(NamedTuple):
    """The answers wanted instead of the best outputs."""

    best: int | None
    confidence: bool
    probabilities: bool
    minimum_risk: bool

    @property
    def lines(self) -> bool:
        """Whether the answers are JSON lines."""
        return self.best is not None or self.confidence or self.probabilities


def run(*, model: str, file: str, out: str, draw: str | None, jobs: int, **options: Any) -> None:
    """Predict and write."""
    reading = Reading(**{name: options.pop(name) for name in Reading._fields if name in options})
    wanted = Wanted(**{name: options.pop(name) for name in Wanted._fields})
    limits = AnswerLimits(**options)
    _check_targets(model, file, out, draw)
    check_plain_text(reading)
    predictor: Model = load_model(model)
    predictor.reporter.check_reading(reading)
    _check_abilities(predictor, wanted, any(limits), draw)
    n_threads = count_threads(jobs)
    if draw is not None:
        # A picture shows the whole file, so it is not read in pieces.
        corpus = predictor.read(file, reading, gold=False)
        outputs = _outputs(predictor, corpus, wanted, limits, n_threads)
        _draw(predictor, corpus, outputs, draw)
        if out != "-":
            write_text(out, predictor.reporter.write(corpus, outputs, reading))
        return
    with text_writer(out) as write:
        for piece in predictor.reporter.pieces(file, reading):
            write(_text(predictor, piece, reading, wanted, limits, n_threads))


def _text(
    predictor: Model, piece: Piece, reading: Reading, wanted: Wanted, limits: AnswerLimits, n_threads: int
) -> str:
    """A piece of the file with its predictions, or a line of answers for each of its inputs."""
    corpus = piece.corpus
    if piece.is_empty:
        return "" if wanted.lines else predictor.reporter.write(corpus, [], reading)
    with counted_within(piece.source, piece.first):
        if wanted.lines:
            answers = _answers(predictor, corpus, wanted, limits, n_threads)
            return "".join(json_text(answer) + "\n" for answer in answers)
        return predictor.reporter.write(corpus, _outputs(predictor, corpus, wanted, limits, n_threads), reading)


def _answers(
    predictor: Model, corpus: Corpus, wanted: Wanted, limits: AnswerLimits, n_threads: int
) -> list[dict[str, Any]]:
    """Alternatives, confidence or probabilities; `_check_abilities` has checked that the model has them."""
    limited = _constraints(predictor, corpus, limits)
    if isinstance(predictor, Probable) and wanted.probabilities:
        return predictor.likely(corpus.X, n_threads, **limited)
    if isinstance(predictor, Answers):
        return predictor.answers(corpus.X, n_threads, **limited, best=wanted.best, confidence=wanted.confidence)
    assert isinstance(predictor, Alternatives)
    assert wanted.best is not None
    return predictor.alternatives(corpus.X, wanted.best, n_threads)


def _outputs(predictor: Model, corpus: Corpus, wanted: Wanted, limits: AnswerLimits, n_threads: int) -> Any:
    if isinstance(predictor, Probable) and wanted.minimum_risk:
        return predictor.predict_minimum_risk(corpus.X, n_threads)
    return predictor.predict(corpus.X, n_threads, **_constraints(predictor, corpus, limits))


def _constraints(predictor: Model, corpus: Corpus, limits: AnswerLimits) -> dict[str, Any]:
    return {"constraints": predictor.reporter.constraints(corpus, limits)} if isinstance(predictor, Answers) else {}


def _check_targets(model: str, file: str, out: str, draw: str | None) -> None:
    """Raise unless the files can be written."""
    if out != "-":
        check_target(out, inputs=[model])
    if draw is not None and draw != "-":
        check_target(draw, inputs=[model, file, out])


def _check_abilities(predictor: Model, wanted: Wanted, limited: bool, draw: str | None) -> None:
    """Raise unless the model can give the wanted answers."""
    answers = wanted.best is not None or wanted.confidence
    if draw is not None and not predictor.reporter.draws:
        raise UnsupportedError(f"the model predicts {predictor.predicts}, which cannot be drawn")
    suffix = predictor.reporter.drawn_as
    if draw is not None and draw != "-" and not draw.lower().endswith(suffix):
        kind = "SVG files" if suffix == ".svg" else "web pages"
        raise WidemarginError(f"pictures are {kind}; {draw} does not end in {suffix} (- draws on the terminal)")
    if (answers or limited) and not isinstance(predictor, Answers):
        has_best = isinstance(predictor, Alternatives)
        if wanted.confidence or limited or not has_best:
            lacking = (
                "no confidence and no constraints" if has_best else "no alternatives, no confidence and no constraints"
            )
            raise UnsupportedError(f"the model predicts {predictor.predicts}, which have {lacking}")
    if (wanted.probabilities or wanted.minimum_risk) and not isinstance(predictor, Probable):
        raise UnsupportedError(f"the model predicts {predictor.predicts}, which have no probabilities")
    if answers + wanted.probabilities + wanted.minimum_risk > 1:
        raise WidemarginError("--probabilities and --minimum-risk stand alone; leave out --best and --confidence")
    if wanted.minimum_risk and limited:
        raise UnsupportedError("--minimum-risk chooses each part by itself, so it cannot keep constraints")


def _draw(predictor: Model, corpus: Corpus, outputs: Any, draw: str | None) -> None:
    """Draw the outputs if `draw` names a target."""
    if draw == "-":
        picture = predictor.draw(corpus, outputs, terminal=True)
        lines = picture.removesuffix("\n").split("\n")
        sys.stdout.writelines(encodable(line, sys.stdout.encoding) + "\n" for line in lines)
    elif draw is not None:
        write_text(draw, predictor.draw(corpus, outputs, terminal=False))
