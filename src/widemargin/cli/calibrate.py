"""`widemargin calibrate`: learn from labelled data how sure a model may be, and keep it in the model file."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from widemargin._threads import count_threads
from widemargin.answers.calibration import CalibrationReport
from widemargin.cli.documents import check_target, read_corpus, remembered
from widemargin.cli.output import Printer, print_json
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.predictors.kinds import CLASSES, TREES, load_predictor
from widemargin.report.numbers import share


def run(
    *,
    model: str,
    file: str,
    out: str | None,
    plot: str | None,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Calibrate, save, say how well it fits."""
    out = model if out is None else out
    check_target(out, inputs=[file])
    if plot is not None:
        check_target(plot, inputs=[file, model])
        if plot == out:
            raise WidemarginError(f"two results cannot both be written to {out}")
    predictor = load_predictor(model)
    report = _calibrated(predictor, file, label, file_format, columns, jobs)
    predictor.save(out)
    if plot is not None:
        from widemargin.report.reliability import plot_reliability

        plot_reliability(report, plot)
    if as_json:
        print_json({"model": out, "data": file, **{kind: asdict(each) for kind, each in report.items()}})
    elif not quiet:
        printer = Printer()
        printer.facts([("model", out), ("data", file)])
        print_calibration(printer, report)


def _calibrated(
    predictor: Any, file: str, label: str | None, file_format: str | None, columns: Sequence[str] | None, jobs: int
) -> CalibrationReport:
    if predictor.structure in TREES:
        raise UnsupportedError(f"the model predicts {predictor.predicts}, which have no confidence to calibrate")
    if predictor.structure in CLASSES:
        from widemargin.cli import classified

        return classified.calibrate(predictor, file, jobs)
    data = remembered(predictor.summary)
    corpus = read_corpus(file, file_format=file_format, names=columns, data=data)
    X = corpus.document.columns
    report: CalibrationReport = predictor.calibrate(X, X[corpus.label(label, data.get("label"))], count_threads(jobs))
    return report


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
