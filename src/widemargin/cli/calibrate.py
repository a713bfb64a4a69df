"""`widemargin calibrate`: learn from labelled data how sure a model may be, and save this in the model file."""

from dataclasses import asdict
from typing import Any

from widemargin._threads import count_threads
from widemargin.cli.output import Printer, print_json
from widemargin.cli.targets import check_target
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.curves import check_can_draw, plot_reliability
from widemargin.report.numbers import share
from widemargin.tasks.answers import Answers
from widemargin.tasks.base import Reading, load_model
from widemargin.tasks.calibration import CalibrationReport


def run(
    *, model: str, file: str, out: str | None, plot: str | None, jobs: int, as_json: bool, quiet: bool, **reading: Any
) -> None:
    """Calibrate, save, and report how well confidence and truth agree."""
    out = model if out is None else out
    check_target(out, inputs=[file])
    if plot is not None:
        check_can_draw()
        check_target(plot, inputs=[file, model])
        if plot == out:
            raise WidemarginError(f"two results cannot both be written to {out}")
    predictor = load_model(model)
    if not isinstance(predictor, Answers):
        raise UnsupportedError(f"the model predicts {predictor.predicts}, which have no confidence to calibrate")
    corpus = predictor.read(file, Reading(**reading), gold=True)
    report = predictor.calibrate(corpus.X, corpus.y, count_threads(jobs))
    predictor.save(out)
    if plot is not None:
        plot_reliability(report, plot)
    if as_json:
        print_json({"model": out, "data": file, **{kind: asdict(each) for kind, each in report.items()}})
    elif not quiet:
        printer = Printer()
        printer.facts([("model", out), ("data", file)])
        print_calibration(printer, report)


def print_calibration(printer: Printer, report: CalibrationReport) -> None:
    """A table of how well confidence and truth agree."""
    printer.heading("Calibration")
    printer.table(
        ["of", "number", "right", "expected calibration error", "uncalibrated"],
        [
            [kind, f"{each.n:,}", share(each.right), f"{each.after:.4f}", f"{each.before:.4f}"]
            for kind, each in report.items()
        ],
    )
