"""`widemargin inspect --explain`: why a model chose what it chose in one sentence.

Without a token or a span, it lists all parts of the prediction with their *margins*: how much more each scores than the
best alternative. With one, it lists the features that make the difference.
"""

from collections.abc import Sequence
from typing import Any

from widemargin.cli.output import Printer, print_json, signed
from widemargin.errors import UnsupportedError
from widemargin.report.explain import Question
from widemargin.tasks.base import Model, Reading, load_model
from widemargin.text.columns import Columns


def run(model: str, file: str, sentence: int, question: Question, *, top: int, as_json: bool) -> None:
    """Explain a part of what the model predicts for a sentence of the file, or list all parts."""
    predictor: Model = load_model(model)
    if not predictor.explains:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; it cannot explain them")
    corpus = predictor.alone(predictor.read(file, Reading(), gold=False), sentence)
    answer = predictor.explain(corpus.X, question)
    words = {"words": corpus.X.sequences("word")[0]} if isinstance(corpus.X, Columns) else {}
    results = {"model": model, "sentence": sentence, **words, **answer}
    if as_json:
        print_json(results)
    elif "parts" in answer:
        _print_parts(Printer(), results)
    else:
        _print_reasons(Printer(), results, top)


def _print_parts(printer: Printer, results: dict[str, Any]) -> None:
    rows = [[each["part"], signed(each["margin"]), each["instead"]] for each in results["parts"]]
    printer.table([f"sentence {results['sentence']}", "margin", "the best instead"], rows)


def _print_reasons(printer: Printer, results: dict[str, Any], top: int) -> None:
    printer.facts((name, f"{signed(results[name]['score'])}  {results[name]['part']}") for name in ("chosen", "other"))
    printer.facts([("margin", signed(results["difference"]))])
    for heading, sign in (("For what was chosen", 1), ("Against it", -1)):
        found = [each for each in results["reasons"] if sign * each["difference"] > 0]
        if found:
            left = len(found) - top
            printer.heading(heading + (f": the strongest {top} of {len(found)}" if left > 0 else ""))
            printer.table(["difference", "template", "chosen", "weight", "other", "weight"], _rows(found[:top]))


def _rows(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            signed(each["difference"]),
            each["template"],
            each["values"],
            signed(each["weight"]),
            each["other_values"],
            signed(each["other_weight"]),
        ]
        for each in found
    ]
