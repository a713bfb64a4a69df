"""`widemargin predict`: a file with predictions filled in, or JSON lines with alternatives and confidence."""

import json
import sys
from typing import Any

from widemargin._threads import count_threads
from widemargin.cli.targets import check_target
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.files.document import write_text
from widemargin.report.text import encodable
from widemargin.tasks.answers import Answers, Limits
from widemargin.tasks.base import Model, Reading, load_model


def run(
    *,
    model: str,
    file: str,
    out: str,
    draw: str | None,
    best: int | None,
    confidence: bool,
    jobs: int,
    **options: Any,
) -> None:
    """Predict and write."""
    reading = Reading(**{name: options.pop(name) for name in Reading._fields if name in options})
    limits = Limits(**options)
    if out != "-":
        check_target(out, inputs=[model])
    if draw is not None and draw != "-":
        check_target(draw, inputs=[model, file, out])
    if reading.text and reading != Reading(text=True):
        raise WidemarginError("--text is a format of its own; leave out --format, --columns and --label")
    predictor: Model = load_model(model)
    if draw is not None and not predictor.draws:
        raise UnsupportedError(f"the model predicts {predictor.predicts}, which cannot be drawn")
    suffix = predictor.drawn_as
    if draw is not None and draw != "-" and not draw.lower().endswith(suffix):
        kind = "SVG files" if suffix == ".svg" else "web pages"
        raise WidemarginError(f"pictures are {kind}; {draw} does not end in {suffix} (- draws on the terminal)")
    if (best is not None or confidence or any(limits)) and not isinstance(predictor, Answers):
        raise UnsupportedError(
            f"the model predicts {predictor.predicts}, which have no alternatives, no confidence and no constraints"
        )
    corpus, n_threads = predictor.read(file, reading, gold=False), count_threads(jobs)
    constraints: dict[str, Any] = {}
    if isinstance(predictor, Answers):
        constraints = {"constraints": predictor.constraints(corpus, limits)}
        if best is not None or confidence:
            answers = predictor.answers(corpus.X, n_threads, **constraints, best=best, confidence=confidence)
            write_text(out, "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers))
            return
    outputs = predictor.predict(corpus.X, n_threads, **constraints)
    if draw == "-":
        picture = predictor.draw(corpus, outputs, terminal=True)
        lines = picture.removesuffix("\n").split("\n")
        sys.stdout.writelines(encodable(line, sys.stdout.encoding) + "\n" for line in lines)
    elif draw is not None:
        write_text(draw, predictor.draw(corpus, outputs, terminal=False))
    if draw is None or out != "-":
        write_text(out, predictor.write(corpus, outputs, reading))
