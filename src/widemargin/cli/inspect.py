"""`widemargin inspect`: what a model has learnt, and with `--explain`, why it chose what it chose in one sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.options import check_target
from widemargin.cli.output import Printer, file_size, print_json, with_sign
from widemargin.core.atomic import replacing
from widemargin.core.solution import Solution
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.explain import Question
from widemargin.report.record import certificate, features, stop_reason, trained_on
from widemargin.tasks.base import Model, Reading, load_model, written_by
from widemargin.tasks.card import card as card_of
from widemargin.tasks.strongest import Part, Strongest
from widemargin.text.columns import Columns

HASHED = ": they have names only within a sentence (--explain FILE)"
VISIBLE = 0.0005  # smaller weights would be printed as zero


def run(
    *,
    model: str,
    top: int,
    labels: Sequence[str],
    as_json: bool,
    explain: str | None,
    sentence: int,
    token: int | None,
    head: int | None,
    span: tuple[int, int] | None,
    exports: Sequence[str] = (),
    card: bool = False,
) -> None:
    """Print a model's training, features and transitions, or its card, or explain what it predicts."""
    if card and (as_json or explain is not None or labels):
        raise WidemarginError("--card is a page about the whole model; --json, --explain and --label are not for it")
    if explain is not None:
        if len(labels) > 1 or (token is None and head is not None):
            raise WidemarginError("--explain compares one part with one other: give a --token or a --span")
        question = Question(token, head, span, labels[0] if labels else None)
        _explain(model, explain, sentence, question, top=top, as_json=as_json)
        return
    if token is not None or span is not None or head is not None:
        raise WidemarginError("--token, --head and --span need --explain FILE, whose sentences they are in")
    predictor: Model = load_model(model)
    known = [str(label) for label in predictor.labels]
    chosen = predictor.reporter.numbers_of(labels)
    _export(predictor, model, exports)
    if card:
        printer = Printer()
        for line in card_of(predictor, Path(model).name).splitlines():
            printer.line(line)
        return
    summary, solution = predictor.summary, predictor.course
    parts, parameters = predictor.reporter.strongest(chosen, top), summary.get("parameters", {})
    templates: Any = dict(predictor.templates)
    results = {
        "model": model,
        "written_by": written_by(model) or predictor.summary.get("trained_by"),
        "structure": predictor.kind,
        "size": {
            "bytes": Path(model).stat().st_size,
            **predictor.sizes,
            "weights_not_zero": int(np.count_nonzero(predictor.w)),
        },
        "labels": known,
        "templates": templates.get("", templates) or None,
        "remarks": dict(predictor.reporter.remarks()),
        "data": predictor.about,
        "parameters": parameters,
        "C": summary.get("C", parameters.get("C")),
        "training": {key: value for key, value in solution.summary().items() if key != "trace"} if solution else None,
        **{name: part.by_label if part.strongest is None else part.strongest for name, part in parts.items()},
    }
    if as_json:
        print_json(results)
    else:
        printer = Printer()
        _print(printer, solution, results, predictor)
        picture = predictor.reporter.picture()
        if picture:
            printer.heading("Picture")
            for line in picture:
                printer.line(line)
        _print_parts(printer, parts)
        _print_templates(printer, predictor.templates)


def _explain(model: str, file: str, sentence: int, question: Question, *, top: int, as_json: bool) -> None:
    """Explain a part of what the model predicts for a sentence of the file, or list all parts.

    Without a token or a span, all parts of the prediction are listed with their *margins*: how much more each scores
    than the best alternative. With one, the features that make the difference are.
    """
    predictor: Model = load_model(model)
    if not predictor.reporter.explains:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; it cannot explain them")
    corpus = predictor.reporter.alone(predictor.read(file, Reading(), gold=False), sentence)
    answer = predictor.explain(corpus.X, question)
    words = {"words": corpus.X.sequences("word")[0]} if isinstance(corpus.X, Columns) else {}
    results = {"model": model, "sentence": sentence, **words, **answer}
    if as_json:
        print_json(results)
    elif "parts" in answer:
        _print_margins(Printer(), results)
    else:
        _print_reasons(Printer(), results, top)


def _print_margins(printer: Printer, results: dict[str, Any]) -> None:
    rows = [[each["part"], with_sign(each["margin"]), each["instead"]] for each in results["parts"]]
    printer.table([f"sentence {results['sentence']}", "margin", "the best instead"], rows)


def _print_reasons(printer: Printer, results: dict[str, Any], top: int) -> None:
    printer.facts(
        (name, f"{with_sign(results[name]['score'])}  {results[name]['part']}") for name in ("chosen", "other")
    )
    printer.facts([("margin", with_sign(results["difference"]))])
    for heading, sign in (("For what was chosen", 1), ("Against it", -1)):
        found = [each for each in results["reasons"] if sign * each["difference"] > 0]
        if found:
            left = len(found) - top
            rows = [
                [
                    with_sign(each["difference"]),
                    each["template"],
                    each["values"],
                    with_sign(each["weight"]),
                    each["other_values"],
                    with_sign(each["other_weight"]),
                ]
                for each in found[:top]
            ]
            printer.heading(heading + (f": the strongest {top} of {len(found)}" if left > 0 else ""))
            printer.table(["difference", "template", "chosen", "weight", "other", "weight"], rows)


def _export(predictor: Model, model: str, exports: Sequence[str]) -> None:
    """Write the model in other formats, all of them checked before anything is written."""
    for path in exports:
        if Path(path).suffix.lower() not in predictor.reporter.exports:
            known = ", ".join(f"{suffix} ({what})" for suffix, what in predictor.reporter.exports.items())
            raise UnsupportedError(
                f"{path} is in no format that the model can be written in; "
                + (f"these are {known}" if known else f"models of {predictor.predicts} have none")
            )
        check_target(path, inputs=[model])
    for path in exports:
        content = predictor.reporter.export(Path(path).suffix.lower())
        with replacing(path, "wb") as stream:
            stream.write(content)


def _print(printer: Printer, solution: Solution | None, results: dict[str, Any], predictor: Model) -> None:
    size, data, parameters, labels = results["size"], results["data"], results["parameters"], results["labels"]
    facts = [
        ("model", f"{results['model']} ({file_size(results['model'])}, {results['written_by']})"),
        *([("certificate", certificate(solution))] if solution else []),
        (
            "structure",
            results["structure"] + (f": {len(labels)} labels: {_row(labels)}" if len(labels) > 1 else ""),
        ),
        ("features", features(size) + (HASHED if "templates" in size else "")),
        ("weights", f"{size['weights']:,}, of which {size['weights_not_zero']:,} are not zero"),
    ]
    facts += predictor.reporter.remarks()
    if data:
        facts.append(("trained on", trained_on(data)))
    if parameters:
        facts.append(("solver", f"{parameters.get('solver')} with C = {results['C']}"))
    if solution:
        facts.append(("stopped", stop_reason(solution)))
    printer.facts(facts)


def _row(labels: Sequence[str]) -> str:
    """Labels in a row, separated by commas if any of them contains a blank."""
    return (", " if any(" " in label for label in labels) else " ").join(filter(None, labels))


def _print_parts(printer: Printer, parts: Mapping[str, Part]) -> None:
    for part in parts.values():
        if part.strongest is not None:
            _print_strongest(printer, part.heading, part.strongest)
        for label, strongest in (part.by_label or {}).items():
            _print_strongest(printer, f"{part.heading} {label}", strongest)


def _print_templates(printer: Printer, groups: Mapping[str, Sequence[str]]) -> None:
    """The templates of each group, those about the same tokens together."""
    for group, texts in groups.items():
        if texts:
            printer.heading(f"{group} templates".lstrip().capitalize() + f": {len(texts)}")
            about: dict[str, list[str]] = {}
            for text in texts:
                about.setdefault(_tokens_of(text), []).append(text)
            printer.facts((tokens, "  ".join(together)) for tokens, together in about.items())


def _tokens_of(template: str) -> str:
    """The tokens that a template is about.

    >>> _tokens_of("head:xpos|head:xpos[1]|modifier:word|distance"), _tokens_of("word[-1]|word"), _tokens_of("word")
    ('head, modifier', 'several values', 'one value')
    """
    parts = template.split("|")
    roles = list(dict.fromkeys(role for role, colon, _ in (part.partition(":") for part in parts) if colon))
    return ", ".join(roles) or ("one value" if len(parts) == 1 else "several values")


def _print_strongest(printer: Printer, heading: str, strongest: Strongest) -> None:
    """Positive weights on the left, negative ones on the right."""
    sides = [
        [(with_sign(each["weight"]), each["name"]) for each in strongest[sign] if abs(each["weight"]) >= VISIBLE]
        for sign in ("positive", "negative")
    ]
    n_rows = max(map(len, sides))
    if n_rows:
        printer.heading(heading)
        left, right = ([*side, *[("", "")] * (n_rows - len(side))] for side in sides)
        printer.table(["weight", "for", "weight", "against"], [[*a, *b] for a, b in zip(left, right, strict=True)])
