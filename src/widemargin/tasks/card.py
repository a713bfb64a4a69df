"""Model cards: what a model is and how it was trained, as a page of Markdown to publish beside its file.

Everything that the model records is filled in. Its owner fills in the rest, marked by `BLANK`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from widemargin.core.solution import Solution
from widemargin.report.record import certificate, dev_score, features, stop_reason, trained_on
from widemargin.report.text import printable, share
from widemargin.tasks import kinds
from widemargin.tasks.base import Model

BLANK = "_(please fill in)_"
MOST_LABELS = 200


def card(model: Model, name: str | None = None) -> str:
    """The card of a model in the file `name`; facts that only its owner knows are blank."""
    estimator = dict(kinds())[model.kind].name
    sections = {
        "Intended use": [*map(_blank, ("Licence", "Made by", "Intended for", "Not intended for"))],
        "Training data": [*_data(model), _blank("Source and licence"), _blank("Persons and groups in the data")],
        "Labels": list(_labels(model.labels)),
        "Features": list(_features(model)),
        "Training": list(_training(model.summary, model.course)),
        "Certificate": list(_certificate(model.course)),
        "Scores": [*_scores(model), _blank("Test data (`widemargin evaluate`)")],
        "Limits": [*_limits(model.summary), _blank("Known errors and biases")],
    }
    lines = [f"# {name or f'A {estimator}'}", ""]
    lines += [f"This model predicts {model.predicts}. It is a `widemargin.{estimator}`:", ""]
    lines += ["```python", "import widemargin", "", _loading(name, model.kind), "```"]
    for title, content in sections.items():
        if content:
            lines += ["", f"## {title}", "", *content]
    return "\n".join(map(printable, lines)) + "\n"  # a line is one line, whatever the file holds


def _blank(item: str) -> str:
    return f"- {item}: {BLANK}"


def _loading(name: str | None, kind: str) -> str:
    given = ", structure=…" if kind == "custom" else ""
    path = json.dumps(name or "model.wm", ensure_ascii=False)
    return f"model = widemargin.load({path}{given})  # executes nothing that is in the file"


def _data(model: Model) -> Iterator[str]:
    if model.about:
        yield f"- Size: {trained_on(model.about)}"
    elif "examples" in model.summary:
        yield f"- Size: {model.summary['examples']:,} examples"
    for what, count in model.summary.get("unknown", {}).items():
        yield f"- Gold {what} that were not known: {count:,}"


def _labels(labels: list[Any]) -> Iterator[str]:
    """All labels, or the first of very many; tasks with one label or none do not choose between labels."""
    if len(labels) > 1:
        more = f" and {len(labels) - MOST_LABELS:,} more" if len(labels) > MOST_LABELS else ""
        yield f"{len(labels):,}: {', '.join(_code(label) for label in labels[:MOST_LABELS])}{more}"


def _features(model: Model) -> Iterator[str]:
    if any(count for what, count in model.sizes.items() if what not in ("labels", "weights")):
        yield f"- Features: {features(model.sizes)}"
    yield f"- Weights: {model.sizes['weights']:,}"
    for fact, value in model.reporter.remarks():
        yield f"- {fact.capitalize()}: {value}"
    for group, texts in model.templates.items():
        if texts:
            yield f"- {f'{group} templates'.lstrip().capitalize()}: {', '.join(map(_code, texts))}"


def _training(summary: Mapping[str, Any], course: Solution | None) -> Iterator[str]:
    """The parameters of training; templates are listed with the features."""
    chosen = {**summary.get("parameters", {}), **{key: summary[key] for key in ("objective", "C") if key in summary}}
    for name, value in chosen.items():
        if value is not None and not name.endswith("templates"):
            yield f"- {_code(name)}: {_code(value)}"
    if "trained_by" in summary:
        yield f"- Trained by: {summary['trained_by']}"
    if course is not None:
        yield f"- Stopped: {stop_reason(course)}, {len(course.trace):,} epochs and {course.oracle_calls:,} oracle calls"


def _certificate(course: Solution | None) -> Iterator[str]:
    sentence = "none: the file does not tell how the model was trained" if course is None else certificate(course)
    yield sentence[0].upper() + sentence[1:] + "."
    if course is not None and course.shortfall is not None:
        yield f"Training has not converged: {course.shortfall}."


def _scores(model: Model) -> Iterator[str]:
    score = None if model.course is None else dev_score(model.course)
    if score is not None:
        metric = model.summary.get("metric", "score")
        value = share(score) if 0.0 <= score <= 1.0 else f"{score:.6g}"
        yield f"- Development data, which chose the weights: {metric} {value}"
    yield f"- Calibrated confidence: {'yes' if model.calibration is not None else 'no'}"


def _limits(summary: Mapping[str, Any]) -> Iterator[str]:
    for reason, count in summary.get("unreachable", {}).items():
        yield f"- Gold outputs that it can never predict: {count:,} have {reason}"


def _code(value: Any) -> str:
    """A value as code, whatever marks it contains.

    >>> _code("B-city"), _code("a`b"), _code("`")
    ('`B-city`', '``a`b``', '`` ` ``')
    """
    text = str(value)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if text[:1] in ("`", "") or text[-1:] == "`" else f"{fence}{text}{fence}"
