"""`widemargin inspect`: what a model has learnt."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.documents import remembered
from widemargin.cli.output import STOPPED, Printer, certificate, file_size, print_json, signed
from widemargin.cli.strongest import Strongest, strongest_weights
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.model import read_model
from widemargin.predictors.base import Predictor
from widemargin.predictors.kinds import predictor_in
from widemargin.solution import Solution

VISIBLE = 0.0005  # smaller weights would be printed as zero
KINDS = {"features": "on labels", "transition_features": "on pairs of labels", "segment_features": "on whole segments"}
HEADINGS = {
    "features": "Features for and against",
    "segment_features": "Features of whole segments for and against",
    "lengths": "Lengths for and against",
    "transitions": "Transitions",
    "features_on_transitions": "Features on transitions",
    "begin": "First label",
    "end": "Last label",
    "bias": "Biases",
    "pairs": "Pairs of labels",
    "left_halves": "Left halves in constituents",
    "right_halves": "Right halves in constituents",
}
BY_LABEL = ("features", "segment_features", "lengths")


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
) -> None:
    """Print a model's training, features and transitions, or explain what it predicts."""
    if explain is not None:
        from widemargin.cli import explain as explaining

        if len(labels) > 1 or (token is None and span is None and (head is not None or labels)):
            raise WidemarginError("--explain compares one part with one other: give a --token or a --span")
        question = explaining.Question(sentence, token, head, span, labels[0] if labels else None)
        explaining.run(model, explain, question, top=top, as_json=as_json)
        return
    if token is not None or span is not None or head is not None:
        raise WidemarginError("--token, --head and --span need --explain FILE, whose sentences they are in")
    file = read_model(model)
    predictor = predictor_in(file, model)
    known = [str(label) for label in predictor.labels]
    for label in labels:
        if label not in known:
            raise WidemarginError(f"the model has no label {label!r}; it has {', '.join(map(repr, known))}")
    chosen = [number for number, label in enumerate(known) if not labels or label in labels]
    summary, solution = predictor.summary, _solution(predictor, model)
    results = {
        "model": model,
        "written_by": file.header.get("written_by"),
        "structure": file.header["structure"],
        "size": {
            "bytes": Path(model).stat().st_size,
            **predictor.sizes,
            "weights_not_zero": int(np.count_nonzero(predictor.w)),
        },
        "labels": known,
        "templates": _templates(file.header),
        "data": remembered(summary),
        "parameters": summary.get("parameters", {}),
        "training": {key: value for key, value in solution.summary().items() if key != "trace"} if solution else None,
        **strongest_weights(predictor, known, chosen, top),
    }
    if as_json:
        print_json(results)
    else:
        _print(Printer(), solution, results)


def _templates(header: dict[str, Any]) -> Any:
    """The templates of a model, in groups if it has them so; None where there are none."""
    return header["templates"] if "templates" in header else header["features"].get("templates")


def _solution(predictor: Predictor, name: str) -> Solution | None:
    """How training went, where the model tells."""
    try:
        return (
            Solution.restored(np.empty(0), predictor.summary["solution"]) if "solution" in predictor.summary else None
        )
    except (LookupError, TypeError, ValueError):
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained") from None


def _print(printer: Printer, solution: Solution | None, results: dict[str, Any]) -> None:
    size, data, parameters, labels = results["size"], results["data"], results["parameters"], results["labels"]
    facts = [
        ("model", f"{results['model']} ({file_size(results['model'])}, {results['written_by']})"),
        ("structure", f"{results['structure']}: {len(labels)} labels: {_listed(labels)}"),
        ("features", _features(size)),
        ("weights", f"{size['weights']:,}, of which {size['weights_not_zero']:,} are not zero"),
    ]
    templates = results["templates"] or []
    for group, texts in templates.items() if isinstance(templates, dict) else [("", templates)]:
        if texts:
            facts.append((f"{group} templates".lstrip(), " ".join(texts)))
    if data:
        counts = [f"{data[what]:,} {what}" for what in ("sequences", "sentences", "tokens", "examples") if what in data]
        column = f"the column {data['label']} of " if "label" in data else ""
        facts.append(("trained on", f"{', '.join(counts)}, {column}a {data.get('format')} file"))
    if parameters:
        facts.append(("solver", f"{parameters.get('solver')} with C = {parameters.get('C')}"))
    if solution:
        facts.append(
            ("stopped", f"{STOPPED.get(solution.stopped, solution.stopped)}, after {solution.seconds:.1f} seconds")
        )
        facts.append(("certificate", certificate(solution)))
    printer.facts(facts)
    for part, heading in HEADINGS.items():
        if part in BY_LABEL:
            for label, strongest in results.get(part, {}).items():
                _print_strongest(printer, f"{heading} {label}", strongest)
        elif part in results:
            _print_strongest(printer, heading, results[part])


def _listed(labels: Sequence[str]) -> str:
    """Labels in a row; with commas where they have blanks in them."""
    return (", " if any(" " in label for label in labels) else " ").join(filter(None, labels))


def _features(size: dict[str, int]) -> str:
    if "templates" in size:
        return f"{size['templates']} templates, hashed: their names are known in sentences only (--explain FILE)"
    return ", ".join(f"{size[key]:,} {what}" for key, what in KINDS.items() if key in size)


def _print_strongest(printer: Printer, heading: str, strongest: Strongest) -> None:
    """The positive ones on the left, the negative ones on the right."""
    sides = [
        [(signed(each["weight"]), each["name"]) for each in strongest[sign] if abs(each["weight"]) >= VISIBLE]
        for sign in ("positive", "negative")
    ]
    n_rows = max(map(len, sides))
    if n_rows:
        printer.heading(heading)
        left, right = ([*side, *[("", "")] * (n_rows - len(side))] for side in sides)
        printer.table(["weight", "for", "weight", "against"], [[*a, *b] for a, b in zip(left, right, strict=True)])
