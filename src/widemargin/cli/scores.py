"""`widemargin evaluate`, `score` and `calibrate`: how right a model or a file is, and how sure a model may be."""

from dataclasses import asdict, fields
from time import perf_counter
from typing import Any

from widemargin._threads import count_threads
from widemargin.cli.options import check_target
from widemargin.cli.output import Printer, print_json
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files.raw import RawText
from widemargin.report.curves import check_can_draw, plot_reliability
from widemargin.report.evaluation import Evaluation
from widemargin.report.text import share
from widemargin.tasks import TASKS, Task
from widemargin.tasks import task as named
from widemargin.tasks.answers import Answers
from widemargin.tasks.base import Corpus, Model, Reading, load_model
from widemargin.tasks.files import Files, Likeness


def evaluate(
    *, model: str, file: str, no_punctuation: bool, jobs: int, as_json: bool, quiet: bool, **choices: Any
) -> None:
    """Compare a model's predictions with a file, and say how fast it predicts."""
    predictor: Model = load_model(model)
    reading = Reading(**choices)
    predictor.reporter.check_reading(reading)
    options = {"punctuation": False} if no_punctuation else {}
    if not options.keys() <= predictor.reporter.evaluation_options:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; --no-punctuation is about dependency trees")
    predictor.reporter.warm_up()
    begin = perf_counter()
    corpus = predictor.read(file, reading, gold=True)
    seconds = {"reading": perf_counter() - begin}
    evaluation = predictor.evaluate(corpus.X, corpus.y, count_threads(jobs), **options)
    seconds |= evaluation.seconds
    n = corpus.size[predictor.reporter.counts]
    results = {
        "model": model,
        "data": file,
        **_about(corpus),
        **evaluation.results,
        f"{predictor.reporter.counts}_per_second": n / sum(seconds.values()),
        "seconds": seconds,
    }
    _print(results, file, corpus, evaluation, as_json=as_json, quiet=quiet)
    if not (as_json or quiet):
        printer = Printer()
        printer.heading("Speed")
        stages = [*seconds.items(), ("all", sum(seconds.values()))]
        rows = [[stage, f"{value:.3f}", f"{n / value:,.0f}"] for stage, value in stages]
        printer.table(["stage", "seconds", f"{predictor.reporter.counts} per second"], rows)


def score(
    *,
    gold: str,
    predicted: str,
    task: str | None,
    no_punctuation: bool,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Compare the outputs in one file with those in another, without a model."""
    how = Reading(**reading)
    if gold == predicted == "-":
        raise WidemarginError("only one of the files can be standard input")
    name = _guessed_task(gold, how) if task is None else task
    if named(name).files is None:
        raise UnsupportedError(f"the task {name} has no files to compare")
    options = {"punctuation": False} if no_punctuation else {}
    if options and not named(name).scores_punctuation:
        raise UnsupportedError("--no-punctuation is about dependency trees")
    files: Files = named(name).load_files()
    own = _default_options(named(name))
    right = files.read(gold, how, {}, gold=True, **own)
    found = files.read_predicted(predicted, how, right, **own)
    try:
        files.check_aligned(right, found)
        evaluation = files.compare(right, found, **options)
    except DataError as error:
        if str(error).startswith(f"{predicted}, "):
            raise
        raise DataError(f"{predicted} does not fit {gold}: {error}") from error
    results = {"gold": gold, "predicted": predicted, "task": name, **_about(right), **evaluation.results}
    _print(results, predicted, right, evaluation, as_json=as_json, quiet=quiet)


def _guessed_task(gold: str, reading: Reading) -> str:
    """The most likely task of the gold file; ties go to the first."""
    if gold == "-":
        raise WidemarginError("what standard input is about cannot be guessed; name the task by --task")
    raw = RawText.load(gold)
    found = {name: each.load_files().likeness(raw, reading) for name in TASKS if (each := named(name)).files}
    best = max(found, key=lambda name: found[name])
    if found[best] is Likeness.NONE:
        raise WidemarginError(f"{gold} does not tell what it is about; name the task by --task ({', '.join(found)})")
    return best


def _default_options(task: Task) -> dict[str, Any]:
    """The task's own options with their defaults."""
    options = task.options
    return {} if options is None else {field.name: field.default for field in fields(options)}


def _about(corpus: Corpus) -> dict[str, Any]:
    """The label column of a file, if it has one, and its size."""
    return {**({"label": corpus.about["label"]} if "label" in corpus.about else {}), **corpus.size}


def _print(
    results: dict[str, Any], file: str, corpus: Corpus, evaluation: Evaluation, *, as_json: bool, quiet: bool
) -> None:
    """Print the results as JSON, or the main score alone, or facts and tables about the predictions in a file."""
    if as_json:
        print_json(results)
        return
    printer = Printer()
    if quiet:
        printer.line(f"{evaluation.results[evaluation.main]:.6f}")
        return
    facts = [("data", f"{file}: " + ", ".join(f"{n:,} {what}" for what, n in corpus.size.items()))]
    if "label" in corpus.about:
        facts.append(("labels", f"in the column {corpus.about['label']}"))
    printer.facts([*facts, *evaluation.facts])
    for table in evaluation.tables:
        printer.heading(table.heading)
        printer.table(table.header, table.rows)
        if table.remark:
            printer.line(table.remark)


def calibrate(
    *, model: str, file: str, out: str | None, plot: str | None, jobs: int, as_json: bool, quiet: bool, **reading: Any
) -> None:
    """Learn from labelled data how sure a model may be, save this, and report how well confidence and truth agree."""
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
        printer.heading("Calibration")
        printer.table(
            ["of", "number", "right", "expected calibration error", "uncalibrated"],
            [
                [kind, f"{each.n:,}", share(each.right), f"{each.after:.4f}", f"{each.before:.4f}"]
                for kind, each in report.items()
            ],
        )
