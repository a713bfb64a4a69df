"""`widemargin compare`: several solvers on the same labelled file, and a report on them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from widemargin.cli.documents import check_folder, read_corpus, read_like
from widemargin.cli.output import Printer, print_json
from widemargin.cli.program import INTERRUPTED
from widemargin.cli.resources import check_templates, read_templates
from widemargin.errors import UnsupportedError
from widemargin.metrics import is_bio
from widemargin.problem import Problem
from widemargin.report.comparison import FILES, Comparison, compare
from widemargin.report.tables import cells, columns_of
from widemargin.training import TaggerSettings

SHOWN = ("objective", "gap", "certificate", "seconds_to_10%", "seconds_to_1%", "seconds_to_0.1%", "score")
"""What fits on a terminal; the files have all."""


def run(
    *,
    train_file: str,
    dev_file: str | None,
    out: str,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    templates: str | None,
    solvers: Sequence[str],
    as_json: bool,
    quiet: bool,
    **parameters: Any,
) -> int | None:
    """Train with each solver, write the report, and show its table."""
    check_folder(out, FILES, inputs=[train_file, dev_file, templates])
    settings = TaggerSettings(templates=read_templates(templates, [], {}), **parameters)
    choices = {name: replace(settings, solver=name) for name in solvers}
    chosen = {name: choice.chosen_solver() for name, choice in choices.items()}
    train = read_corpus(train_file, file_format=file_format, names=columns)
    if train.file_format == "brackets" and label is None:
        raise UnsupportedError("compare trains taggers, not parsers; for the tags of these trees add --label pos")
    name = train.label(label)
    check_templates(settings.templates or (), train.document.columns, name)
    dev = None if dev_file is None else read_like(train, dev_file, file_format, columns).labelled(label or name)
    X, y = train.labelled(name)
    task = settings.compile(X, y, dev)

    def problem_for(solver: str) -> Problem:
        return choices[solver].problem(task.examples)

    data: dict[str, Any] = {
        "training data": train_file,
        "label": name,
        "sequences": X.n_sequences,
        "tokens": X.n_tokens,
        "labels": len(task.labels),
        "weights": task.examples.n_weights,
    }
    if dev is not None:
        metric = "f1" if is_bio(task.labels) else "accuracy"
        data |= {"development data": dev_file, "development tokens": dev[0].n_tokens, "score": metric}
    comparison = compare(
        problem_for,
        chosen,
        stop=settings.stop(),
        score=task.score,
        seed=parameters["random_state"],
        verbose=not quiet,
        data=data,
        settings={"templates": settings.templates, "C": settings.C, "jobs": settings.n_jobs},
    )
    if comparison.interrupted and not comparison.functions:
        raise KeyboardInterrupt  # nothing has been measured yet
    comparison.save(out)
    if as_json:
        print_json(comparison.results())
    else:
        _print(Printer(enabled=not quiet), comparison, out)
    return INTERRUPTED if comparison.interrupted else None


def _print(printer: Printer, comparison: Comparison, out: str) -> None:
    for function in comparison.functions:
        printer.heading(f"Minimising {function}")
        rows = comparison.table(function)
        columns = [column for column in columns_of(rows) if column.key in SHOWN]
        header = [column.name if column.name != "s" else f"s {column.group}" for column in columns]
        table = [[Text(cell.marked, style="bold" if cell.won else "") for cell in cells(row, columns)] for row in rows]
        printer.table(["solver", *header], table)
        printer.prose(comparison.remark(function))
    if comparison.failures():
        printer.heading("Not measured")
        printer.facts(comparison.failures())
    printer.heading("Written")
    printer.facts([(str(Path(out) / name), what) for name, what in zip(FILES, DESCRIBED, strict=True)])
    if comparison.interrupted:
        printer.line("The comparison was interrupted; the report is of what had been measured by then.")


DESCRIBED = ("everything measured", "a row per solver", "the report, for any browser", "its picture")
