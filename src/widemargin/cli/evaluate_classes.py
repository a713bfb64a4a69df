"""`widemargin evaluate` for classifiers, on svmlight files."""

from time import perf_counter
from typing import Any

from widemargin.cli.classified import predicted_labels
from widemargin.cli.output import Printer, print_json
from widemargin.data.raw import RawText
from widemargin.data.svmlight import parse
from widemargin.metrics import Score, label_scores, set_scores
from widemargin.predictors.classifier import Classifier, LinearModel, MultilabelModel
from widemargin.report.numbers import share


def evaluate(model: LinearModel, name: str, file: str, jobs: int, as_json: bool, quiet: bool) -> None:
    """Compare a model's labels with those in a file."""
    data = parse(RawText.load(file))
    several = isinstance(model, MultilabelModel)
    gold = data.labels if several else [[label] for label in data.classes()]
    begin = perf_counter()
    predicted = predicted_labels(model, data, jobs)
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
