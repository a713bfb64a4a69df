"""The small files that `train` takes beside the data: templates, lexicons, word clusters, error costs."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from widemargin.columns import Columns
from widemargin.data.raw import RawText, shortened
from widemargin.errors import DataError, WidemarginError
from widemargin.features.templates import DEFAULT_TEMPLATES, Template, parse_templates

Pairs = Sequence[tuple[str, str]]

BITS = re.compile("[01]+")
PREFIXES = (4, 6, 10)  # of Brown bit strings: from coarse to fine classes


def read_templates(given: str | None, lexicons: Sequence[str], clusters: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Templates from a file or from their text; without any the default ones, and some for each lexicon and cluster."""
    if given is not None:
        templates = [template.text for template in parse_templates(_text(given))]
        for kind, names in (("lexicon", lexicons), ("cluster", clusters)):
            for name in names:
                if not any(re.search(rf"\b{kind}\({name}[,)]", template) for template in templates):
                    raise WidemarginError(f"no template makes use of the {kind} {name!r}; add one like {kind}({name})")
        return templates
    chosen = [*DEFAULT_TEMPLATES, *(f"lexicon({name})[-1..1]" for name in lexicons)]
    for name, words in clusters.items():
        chosen.append(f"cluster({name})[-1..1]")
        if all(map(BITS.fullmatch, words.values())):
            chosen += [f"cluster({name},{length})" for length in PREFIXES]
    return [template.text for template in parse_templates(chosen)]


def read_role_templates(given: str | None) -> list[str] | None:
    """Templates of parsers from a file or from their text; None if there are none, for the default ones."""
    lines = [] if given is None else _text(given).splitlines()
    return None if given is None else [word for line in lines for word in line.partition("#")[0].split()]


def _text(given: str) -> str:
    return "\n".join(RawText.load(given).lines) if _is_file(given) else given


def _is_file(given: str) -> bool:
    if os.sep in given:
        return True  # no template has one, and that there is no such file is the better complaint
    try:
        return Path(given).is_file()
    except (OSError, ValueError):
        return False  # text too long for a file's name


def check_templates(templates: Sequence[str], columns: Columns, label: str) -> None:
    """Refuse templates that read a column which is not there, or the very labels that are to be predicted."""
    parsed: tuple[Template, ...] = parse_templates(templates)
    for template in parsed:
        for atom in template.atoms:
            if atom.attribute != "bias" and columns[atom.column] is columns[label]:
                raise WidemarginError(
                    f"the template {template.text!r} reads the label column {label!r}, which is to be predicted"
                )


def read_lexicons(pairs: Pairs) -> dict[str, list[str]]:
    """Entries of one or more words, one a line."""
    return {
        name: [line.strip() for line in RawText.load(path).lines if line.strip()] for name, path in _distinct(pairs)
    }


def read_clusters(pairs: Pairs) -> dict[str, dict[str, str]]:
    """Word clusters: the output of Brown's algorithm (bits TAB word TAB count), or word TAB cluster."""
    return {name: _clusters(RawText.load(path)) for name, path in _distinct(pairs)}


def _clusters(raw: RawText) -> dict[str, str]:
    rows = [(number, line.rstrip("\r").split("\t")) for number, line in enumerate(raw.lines) if line.strip()]
    for number, row in rows:
        if len(row) not in (2, 3):
            raise raw.fault(
                number,
                f"expected 'bits TAB word TAB count' or 'word TAB cluster': {shortened(raw.lines[number])!r}",
            )
    brown = all(BITS.fullmatch(row[0]) for _, row in rows)
    return {row[1]: row[0] for _, row in rows} if brown else {row[0]: row[1] for _, row in rows}


def _distinct(pairs: Pairs) -> Pairs:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise WidemarginError(f"the name {name!r} is given to two files; names must differ")
    return pairs


def read_costs(path: str | None) -> dict[Any, float] | None:
    """Error costs from JSON: a number per gold label, or a number per predicted label of a gold label."""
    return None if path is None else _costs(path, _object(path, "costs by gold label"))


def read_penalties(path: str | None) -> dict[str, dict[Any, float]]:
    """Penalties of segmenters from JSON: costs by label under "precision" and "recall", and under "confusion"."""
    content = {} if path is None else _object(path, "penalties")
    for name, value in content.items():
        if name not in ("precision", "recall", "confusion") or not isinstance(value, dict):
            raise DataError(
                f'{path}: {name!r} is not an object of costs under one of "precision", "recall", "confusion"'
            )
    return {name: _costs(str(path), value) for name, value in content.items()}


def _object(path: str, what: str) -> dict[str, Any]:
    raw = RawText.load(path)
    try:
        content = json.loads("\n".join(raw.lines))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{raw.source} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{raw.source} must hold a JSON object of {what}")
    return content


def _costs(source: str, content: dict[str, Any]) -> dict[Any, float]:
    costs: dict[Any, float] = {}
    for gold, value in content.items():
        each = (
            {(gold, predicted): cost for predicted, cost in value.items()} if isinstance(value, dict) else {gold: value}
        )
        costs |= each
    for key, cost in costs.items():
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            raise DataError(f"{source}: the cost of {key!r} is {cost!r} where a number is wanted")
    return costs
