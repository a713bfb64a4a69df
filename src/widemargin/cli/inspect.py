"""`widemargin inspect`: what a model has learnt."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.cli.documents import remembered
from widemargin.cli.output import STOPPED, Printer, certificate, file_size, print_json, signed
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.model import read_model
from widemargin.solution import Solution
from widemargin.structures import ChainWeights
from widemargin.tagger import Tagger

VISIBLE = 0.0005  # smaller weights would be printed as zero

Strongest = dict[str, list[dict[str, Any]]]
"""The largest weights under `positive` and the smallest under `negative`, each with the name of what it is for."""


def run(*, model: str, top: int, labels: Sequence[str], as_json: bool) -> None:
    """Print a model's training, features and transitions."""
    file = read_model(model)
    tagger = Tagger.from_file(file, model)
    known = [str(label) for label in tagger.labels]
    for label in labels:
        if label not in known:
            raise WidemarginError(f"the model has no label {label!r}; it has {', '.join(map(repr, known))}")
    chosen = [number for number, label in enumerate(known) if not labels or label in labels]
    summary, chain, solution = tagger.summary, tagger.chain, _solution(tagger, model)
    results = {
        "model": model,
        "written_by": file.header.get("written_by"),
        "structure": file.header["structure"],
        "size": {
            "bytes": Path(model).stat().st_size,
            "labels": chain.n_labels,
            "features": chain.n_features,
            "transition_features": chain.n_transition_features,
            "weights": chain.n_weights,
            "weights_not_zero": _count_nonzero(tagger.weights),
        },
        "labels": known,
        "templates": file.header["features"].get("templates"),
        "data": remembered(summary),
        "parameters": summary.get("parameters", {}),
        "training": {key: value for key, value in solution.summary().items() if key != "trace"} if solution else None,
        **_weights(tagger, known, chosen, top),
    }
    if as_json:
        print_json(results)
    else:
        _print(Printer(), solution, results)


def _solution(tagger: Tagger, name: str) -> Solution | None:
    """How training went, where the model tells."""
    try:
        return Solution.restored(np.empty(0), tagger.summary["solution"]) if "solution" in tagger.summary else None
    except (LookupError, TypeError, ValueError):
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained") from None


def _count_nonzero(weights: ChainWeights) -> int:
    dense = (weights.emission, weights.transition, weights.begin, weights.end, weights.conditional)
    return int(sum(map(np.count_nonzero, (*dense, weights.thin_emission.values))))


def _weights(tagger: Tagger, labels: list[str], chosen: list[int], top: int) -> dict[str, Any]:
    """The strongest weights of every part, as far as they concern the chosen labels."""
    parts, names, n = tagger.weights, tagger.extractor.names(), len(labels)
    emission = parts.thin_emission
    feature = np.repeat(np.arange(tagger.chain.n_features), np.diff(emission.indptr))
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True

    def pair(number: int) -> str:
        return f"{labels[number // n]} → {labels[number % n]}"

    def pair_at_feature(number: int) -> str:
        return f"{names[tagger.chain.n_features + number // n**2]}: {pair(number % n**2)}"

    def of_label(label: int) -> Strongest:
        mine = np.flatnonzero(emission.indices == label)
        return _strongest(emission.values[mine], top, lambda number: names[feature[mine[number]]])

    one = np.isin(np.arange(n), chosen)
    return {
        "features": {labels[j]: of_label(j) for j in chosen},
        "transitions": _strongest(_masked(parts.transition, concerned), top, pair),
        "features_on_transitions": _strongest(_masked(parts.conditional, concerned), top, pair_at_feature),
        "begin": _strongest(_masked(parts.begin, one), top, labels.__getitem__),
        "end": _strongest(_masked(parts.end, one), top, labels.__getitem__),
    }


def _masked(weights: FloatMatrix, mask: Any) -> FloatVector:
    return (weights if mask.all() else np.where(mask, weights, 0.0)).ravel()


def _strongest(weights: FloatVector, top: int, name: Callable[[int], str]) -> Strongest:
    return {
        sign: [{"name": name(at), "weight": float(weights[at])} for at in _largest(factor * weights, top)]
        for sign, factor in (("positive", 1.0), ("negative", -1.0))
    }


def _largest(weights: FloatVector, top: int) -> list[int]:
    """Where the largest weights are, largest first, of those above zero."""
    found = np.argpartition(-weights, top)[:top] if len(weights) > top else np.arange(len(weights))
    found = found[np.lexsort((found, -weights[found]))]
    return [int(at) for at in found if weights[at] > 0]


def _print(printer: Printer, solution: Solution | None, results: dict[str, Any]) -> None:
    size, data, parameters, labels = results["size"], results["data"], results["parameters"], results["labels"]
    facts = [
        ("model", f"{results['model']} ({file_size(results['model'])}, {results['written_by']})"),
        ("structure", f"{results['structure']}: {len(labels)} labels: {' '.join(labels)}"),
        ("features", f"{size['features']:,} on labels, {size['transition_features']:,} on pairs of labels"),
        ("weights", f"{size['weights']:,}, of which {size['weights_not_zero']:,} are not zero"),
    ]
    if results["templates"]:
        facts.append(("templates", " ".join(results["templates"])))
    if data:
        corpus = f"{data.get('sequences', 0):,} sequences, {data.get('tokens', 0):,} tokens"
        facts.append(("trained on", f"{corpus}, the column {data.get('label')} of a {data.get('format')} file"))
    if parameters:
        facts.append(("solver", f"{parameters.get('solver')} with C = {parameters.get('C')}"))
    if solution:
        facts.append(
            ("stopped", f"{STOPPED.get(solution.stopped, solution.stopped)}, after {solution.seconds:.1f} seconds")
        )
        facts.append(("certificate", certificate(solution)))
    printer.facts(facts)
    for label, strongest in results["features"].items():
        _print_strongest(printer, f"Features for and against {label}", strongest)
    _print_strongest(printer, "Transitions", results["transitions"])
    _print_strongest(printer, "Features on transitions", results["features_on_transitions"])
    _print_strongest(printer, "First label", results["begin"])
    _print_strongest(printer, "Last label", results["end"])


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
