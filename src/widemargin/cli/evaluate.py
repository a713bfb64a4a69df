"""`widemargin evaluate`: how well a model's predictions agree with a file, and how fast it predicts."""

from time import perf_counter
from typing import Any

from widemargin._threads import count_threads
from widemargin.cli.output import Printer, print_json
from widemargin.errors import UnsupportedError
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Model, Reading, load_model


def run(*, model: str, file: str, no_punctuation: bool, jobs: int, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Predict, compare, print."""
    predictor: Model = load_model(model)
    reading = Reading(**choices)
    predictor.check_reading(reading)
    options = {"punctuation": False} if no_punctuation else {}
    if not options.keys() <= predictor.evaluation_options:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; --no-punctuation is about dependency trees")
    predictor.warm_up()
    begin = perf_counter()
    corpus = predictor.read(file, reading, gold=True)
    seconds = {"reading": perf_counter() - begin}
    evaluation = predictor.evaluate(corpus.X, corpus.y, count_threads(jobs), **options)
    seconds |= evaluation.seconds
    label = {"label": corpus.about["label"]} if "label" in corpus.about else {}
    results = {
        "model": model,
        "data": file,
        **label,
        **corpus.size,
        **evaluation.results,
        f"{predictor.counts}_per_second": corpus.size[predictor.counts] / sum(seconds.values()),
        "seconds": seconds,
    }
    if as_json:
        print_json(results)
    elif quiet:
        Printer().line(f"{evaluation.results[evaluation.main]:.6f}")
    else:
        printer = Printer()
        print_evaluation(printer, file, corpus, evaluation)
        _print_speed(printer, corpus.size[predictor.counts], predictor.counts, seconds)


def print_evaluation(printer: Printer, file: str, corpus: Corpus, evaluation: Evaluation) -> None:
    """Facts and tables about the predictions in a file, or for it."""
    facts = [("data", f"{file}: " + ", ".join(f"{n:,} {what}" for what, n in corpus.size.items()))]
    if "label" in corpus.about:
        facts.append(("labels", f"in the column {corpus.about['label']}"))
    printer.facts([*facts, *evaluation.facts])
    for table in evaluation.tables:
        printer.heading(table.heading)
        printer.table(table.header, table.rows)
        if table.remark:
            printer.line(table.remark)


def _print_speed(printer: Printer, n: int, counts: str, seconds: dict[str, float]) -> None:
    printer.heading("Speed")
    stages = [*seconds.items(), ("all", sum(seconds.values()))]
    rows = [[stage, f"{value:.3f}", f"{n / value:,.0f}"] for stage, value in stages]
    printer.table(["stage", "seconds", f"{counts} per second"], rows)
