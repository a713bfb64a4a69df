"""`widemargin evaluate`: how well a model's labels agree with those in a file, and how fast they come."""

from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import IntVector
from widemargin.cli.documents import read_corpus, remembered
from widemargin.cli.output import Printer, print_json
from widemargin.columns import Column, Columns, split
from widemargin.errors import UnsupportedError
from widemargin.metrics import (
    Confusion,
    Scores,
    accuracy,
    confusion,
    is_bio,
    label_scores,
    sequence_accuracy,
    span_scores,
)
from widemargin.predictors.base import TokenPredictor
from widemargin.predictors.kinds import CLASSES, TREES, load_predictor
from widemargin.report.numbers import share

MOST_CONFUSIONS = 10
MOST_TYPES = 60


def run(
    *,
    model: str,
    file: str,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    no_punctuation: bool,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Predict, compare, print."""
    predictor = load_predictor(model)
    if no_punctuation and predictor.structure != "tree":
        raise UnsupportedError(f"the model predicts {predictor.predicts}; --no-punctuation is about dependency trees")
    if predictor.structure in TREES:
        from widemargin.cli import evaluate_trees, parsed

        trees = parsed.TreeFile(file, label, file_format, columns)
        evaluate_trees.evaluate(predictor, model, trees, no_punctuation, jobs, as_json, quiet)
        return
    if predictor.structure in CLASSES:
        from widemargin.cli import evaluate_classes

        evaluate_classes.evaluate(predictor, model, file, jobs, as_json, quiet)
        return
    data = remembered(predictor.summary)
    n_threads = count_threads(jobs)
    _warm_up(predictor)
    begin = perf_counter()
    corpus = read_corpus(file, file_format=file_format, names=columns, data=data)
    name = corpus.label(label, data.get("label"))
    X = corpus.document.columns
    for column in predictor.columns_read:
        X[column]  # made on first use, which belongs to reading
    seconds = {"reading": perf_counter() - begin}
    codes, timed = _predict(predictor, X, n_threads)
    seconds |= timed
    predicted = split(predictor.spelt(codes), X.indptr)
    gold = X.sequences(name)
    results = {
        "model": model,
        "data": file,
        "label": name,
        "sequences": X.n_sequences,
        "tokens": X.n_tokens,
        **_scores(gold, predicted, predictor.code_names),
        **_calibration(predictor, X, X[name], n_threads),
        "tokens_per_second": X.n_tokens / sum(seconds.values()),
        "seconds": seconds,
    }
    if as_json:
        print_json(results)
    elif quiet:
        Printer().line(f"{results['f1' if results['scored'] == 'spans' else 'accuracy']:.6f}")
    else:
        _print(Printer(), results)


def _warm_up(predictor: TokenPredictor) -> None:
    """Label one token, so that loading compiled kernels does not count as decoding."""
    one = Column(np.zeros(1, dtype=np.int32), ["a"])
    columns = {"word": one} | dict.fromkeys(predictor.columns_read, one)
    predictor.predict_codes(Columns(columns, np.array([0, 1], dtype=np.int64)))


def _predict(model: TokenPredictor, X: Columns, n_threads: int) -> tuple[IntVector, dict[str, float]]:
    """What `predict_codes` does, by the clock."""
    begin = perf_counter()
    examples = model.examples(X)
    extracted = perf_counter()
    codes = model.decode(examples, n_threads)
    return codes, {"features": extracted - begin, "decoding": perf_counter() - extracted}


def _calibration(predictor: TokenPredictor, X: Columns, gold: Column, n_threads: int) -> dict[str, Any]:
    """How well confidence and truth agree, if the model is calibrated."""
    if predictor.calibration is None:
        return {}
    report = predictor.judge_confidence(X, gold, n_threads)
    return {"calibration": {kind: each.after for kind, each in report.items()}}


def _scores(gold: list[list[str]], predicted: list[list[str]], known: Sequence[str]) -> dict[str, Any]:
    counts = Counter(label for sequence in gold for label in sequence)
    spans = is_bio({*counts, *known})
    scores: Scores = span_scores(gold, predicted) if spans else label_scores(gold, predicted)
    return {
        "accuracy": accuracy(gold, predicted),
        "sequence_accuracy": sequence_accuracy(gold, predicted),
        "scored": "spans" if spans else "labels",
        "precision": scores.micro.precision,
        "recall": scores.micro.recall,
        "f1": scores.micro.f1,
        "by_type": {name: score._asdict() for name, score in scores.by_label.items()},
        "confusions": _confusions(confusion(gold, predicted)),
        "unseen_labels": {label: counts[label] for label in sorted(counts.keys() - set(known))},
    }


def _confusions(found: Confusion) -> list[dict[str, Any]]:
    """The pairs of labels that are taken for one another most often."""
    matrix = found.matrix.copy()
    np.fill_diagonal(matrix, 0)
    order = np.argsort(-matrix, axis=None, kind="stable")[:MOST_CONFUSIONS]
    pairs = zip(*np.unravel_index(order, matrix.shape), strict=True)
    return [
        {"gold": found.labels[g], "predicted": found.labels[p], "count": int(matrix[g, p])}
        for g, p in pairs
        if matrix[g, p]
    ]


def _print(printer: Printer, results: dict[str, Any]) -> None:
    printer.facts(
        [
            ("data", f"{results['data']}: {results['sequences']:,} sequences, {results['tokens']:,} tokens"),
            ("labels", f"in the column {results['label']}"),
            ("accuracy", share(results["accuracy"])),
            ("sequences", f"{share(results['sequence_accuracy'])} all right"),
        ]
    )
    spans = results["scored"] == "spans"
    if spans:
        precision, recall = share(results["precision"]), share(results["recall"])
        printer.facts([("F1", f"{share(results['f1'])} (precision {precision}, recall {recall})")])
    if "calibration" in results:
        errors = ", ".join(f"{error:.4f} of {kind}" for kind, error in results["calibration"].items())
        printer.facts([("expected calibration error", errors)])
    types = sorted(results["by_type"].items(), key=lambda item: (-item[1]["support"], item[0]))
    printer.heading("Spans by type" if spans else "Tokens by label")
    printer.table(
        ["type" if spans else "label", "precision", "recall", "F1", "number"],
        [
            [name, *(share(score[key]) for key in ("precision", "recall", "f1")), f"{score['support']:,}"]
            for name, score in types[:MOST_TYPES]
        ],
    )
    if len(types) > MOST_TYPES:
        printer.line(f"… and {len(types) - MOST_TYPES} rarer ones; --json has them all")
    if results["confusions"]:
        printer.heading("Most frequent confusions")
        rows = [[each["gold"], each["predicted"], f"{each['count']:,}"] for each in results["confusions"]]
        printer.table(["gold", "predicted", "tokens"], rows)
    if results["unseen_labels"]:
        printer.heading("Labels that training did not have")
        printer.table(["label", "tokens"], [[name, f"{count:,}"] for name, count in results["unseen_labels"].items()])
    printer.heading("Speed")
    seconds = results["seconds"]
    stages = [*seconds.items(), ("all", sum(seconds.values()))]
    rows = [[stage, f"{value:.3f}", f"{results['tokens'] / value:,.0f}"] for stage, value in stages]
    printer.table(["stage", "seconds", "tokens per second"], rows)
