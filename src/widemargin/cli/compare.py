"""`widemargin compare`: several solvers on the same labelled file, and a report on them."""

from pathlib import Path
from typing import Any

from rich.text import Text

from widemargin.cli.options import check_folder
from widemargin.cli.output import Printer, print_json
from widemargin.cli.program import INTERRUPTED
from widemargin.cli.train import Keep, input_files, read_job
from widemargin.errors import WidemarginError
from widemargin.report.comparison import FILES, Comparison
from widemargin.report.curves import check_can_draw
from widemargin.report.verdict import cells, columns_of
from widemargin.tasks import task
from widemargin.tasks.training import compare_solvers

SHOWN = ("objective", "gap", "certificate", "seconds_to_10%", "seconds_to_1%", "seconds_to_0.1%", "score")
"""The columns that fit on a terminal; the files have all of them."""


def run(name: str, options: dict[str, Any]) -> int | None:
    """Train with each solver, write the report, and show its table."""
    train_file, dev_file, out, solvers, as_json, quiet = (
        options.pop(each) for each in ("train_file", "dev_file", "out", "solvers", "as_json", "quiet")
    )
    check_can_draw()
    chosen = task(name)
    check_folder(out, FILES, inputs=[train_file, dev_file, *input_files(chosen, options)])
    if options["C"] is not None:
        if len(options["C"]) > 1:
            raise WidemarginError("solvers are compared at one C; give a single value of --C")
        (options["C"],) = options["C"]
    job = read_job(chosen, options, train_file, dev_file, quiet=quiet)
    label = {"label": job.train.about["label"]} if "label" in job.train.about else {}
    about: dict[str, Any] = {"training data": train_file, **label, **job.train.size}
    if job.dev is not None:
        about |= {"development data": dev_file}
        about |= {f"development {what}": count for what, count in job.dev.size.items()}
    comparison = compare_solvers(job.kind.compile, job.parameters, job.data, solvers, about, [Keep()])
    if comparison.interrupted and not comparison.functions:
        raise KeyboardInterrupt  # nothing has been measured yet
    comparison.save(out)
    if as_json:
        print_json(comparison.results())
    else:
        _print(Printer(enabled=not quiet), comparison, out)
    return INTERRUPTED if comparison.interrupted else None


def _print(printer: Printer, comparison: Comparison, out: str) -> None:
    for sentence in comparison.conclusions():
        printer.prose(sentence)
    for function in comparison.functions:
        printer.heading(f"Minimising {function}")
        rows = comparison.table(function)
        columns = [column for column in columns_of(rows) if column.key in SHOWN]
        header = [column.name if column.name != "s" else f"s {column.group}" for column in columns]
        table = [[Text(cell.label, style="bold" if cell.won else "") for cell in cells(row, columns)] for row in rows]
        printer.table(["solver", *header], table)
        printer.prose(comparison.remark(function))
    if comparison.failures():
        printer.heading("Not measured")
        printer.facts(comparison.failures())
    printer.heading("Written")
    printer.facts([(str(Path(out) / name), what) for name, what in zip(FILES, DESCRIBED, strict=True)])
    if comparison.interrupted:
        printer.line("The comparison was interrupted; the report covers what was measured by then.")


DESCRIBED = ("everything measured", "a row per solver", "the report, for any browser", "its picture")
