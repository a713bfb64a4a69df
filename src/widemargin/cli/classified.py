"""`predict` and `evaluate` for classifiers, on svmlight files."""

import json
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from widemargin._threads import count_threads
from widemargin.calibration import CalibrationReport
from widemargin.classifier import Classifier, LinearModel, MultilabelModel
from widemargin.cli.output import Printer, print_json
from widemargin.data.document import write_text
from widemargin.data.raw import RawText
from widemargin.data.svmlight import SvmlightData, parse
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.metrics import Score, label_scores, set_scores
from widemargin.report.numbers import share


def predict(
    model: LinearModel,
    file: str,
    out: str,
    file_format: str | None,
    jobs: int,
    best: int | None = None,
    confidence: bool = False,
) -> None:
    """Write a line of labels per example, or the file with its labels replaced, or answers as JSON lines."""
    if file_format not in (None, "svmlight"):
        raise WidemarginError(f"the model predicts {model.predicts}, from svmlight files, not from {file_format}")
    data = parse(RawText.load(file))
    if best is not None or confidence:
        write_text(out, "".join(_json_lines(_one_class(model), data, best, confidence)))
        return
    labels = [",".join(each) for each in _predicted(model, data, jobs)]
    text = data.relabelled(labels) if file_format == "svmlight" else "".join(f"{label}\n" for label in labels)
    write_text(out, text)


def evaluate(model: LinearModel, name: str, file: str, jobs: int, as_json: bool, quiet: bool) -> None:
    """Compare a model's labels with those in a file."""
    data = parse(RawText.load(file))
    several = isinstance(model, MultilabelModel)
    gold = data.labels if several else [[label] for label in data.classes()]
    begin = perf_counter()
    predicted = _predicted(model, data, jobs)
    seconds = perf_counter() - begin
    scores = set_scores(gold, predicted) if several else label_scores(gold, predicted)
    all_right = sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True)) / len(gold)
    results: dict[str, Any] = {
        "model": name,
        "data": file,
        "examples": len(gold),
        "accuracy": all_right,
        **{key: value for key, value in scores.micro._asdict().items() if key != "support"},
        "by_label": {label: score._asdict() for label, score in scores.by_label.items()},
        "examples_per_second": len(gold) / seconds,
    }
    if isinstance(model, Classifier) and model.calibration is not None:
        report = model.judge_confidence(data.matrix(model.extractor.width or 0), data.classes())
        results["calibration"] = {kind: each.after for kind, each in report.items()}
    if as_json:
        print_json(results)
    elif quiet:
        Printer().line(f"{results['f1' if several else 'accuracy']:.6f}")
    else:
        _print(Printer(), results, scores.by_label, several)


def calibrate(model: LinearModel, file: str, jobs: int) -> CalibrationReport:
    """Calibrate a model on a file."""
    data = parse(RawText.load(file))
    return _one_class(model).calibrate(data.matrix(model.extractor.width or 0), data.classes(), count_threads(jobs))


def _one_class(model: LinearModel) -> Classifier:
    if not isinstance(model, Classifier):
        raise UnsupportedError(f"the model predicts {model.predicts}, which have no confidence and no alternatives")
    return model


def _json_lines(model: Classifier, data: SvmlightData, best: int | None, confidence: bool) -> Iterator[str]:
    """An object an example: its class, and as far as wanted the confidence in it and alternatives."""
    X = data.matrix(model.extractor.width or 0)
    parts: list[list[dict[str, Any]]] = [[{"label": label} for label in model.predict(X)]]
    if confidence:
        parts.append([{"confidence": each} for each in model.confidence(X).tolist()])
    if best is not None:
        ranked = model.predict_best(X, best)
        parts.append([{"alternatives": [{"score": score, "label": label} for score, label in each]} for each in ranked])
    for of_example in zip(*parts, strict=True):
        answer = {key: value for part in of_example for key, value in part.items()}
        yield json.dumps(answer, ensure_ascii=False) + "\n"


def _predicted(model: LinearModel, data: SvmlightData, jobs: int) -> list[list[str]]:
    """The labels of every example, as strings."""
    outputs = model.predict(data.matrix(model.extractor.width or 0), count_threads(jobs))
    return [list(map(str, each if isinstance(each, list) else [each])) for each in outputs]


def _print(printer: Printer, results: dict[str, Any], by_label: dict[str, Score], several: bool) -> None:
    facts = [("data", f"{results['data']}: {results['examples']:,} examples")]
    facts.append(("accuracy", share(results["accuracy"]) + (" of the sets are all right" if several else "")))
    if several:
        precision, recall = share(results["precision"]), share(results["recall"])
        facts.append(("F1", f"{share(results['f1'])} (precision {precision}, recall {recall})"))
    facts += [("expected calibration error", f"{error:.4f}") for error in results.get("calibration", {}).values()]
    facts.append(("speed", f"{results['examples_per_second']:,.0f} examples per second"))
    printer.facts(facts)
    printer.heading("By label")
    rows = [
        [label, *(share(value) for value in score[:3]), f"{score.support:,}"]
        for label, score in sorted(by_label.items(), key=lambda item: (-item[1].support, item[0]))
    ]
    printer.table(["label", "precision", "recall", "F1", "number"], rows)
