"""Files that options and parameters name: templates, error costs, lexicons, word clusters."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from widemargin.errors import DataError, WidemarginError
from widemargin.files.raw import RawText
from widemargin.files.word_clusters import read_word_clusters

Pairs = Sequence[tuple[str, str]]


def read_value(given_as: str, value: Any) -> Any:
    """The value itself, or the contents of the file that it names."""
    return value if value is None or given_as not in READERS else READERS[given_as](value)


def files_of(given_as: str, value: str | Pairs | None) -> list[str]:
    """The files that the value of an option names."""
    if value is None or given_as not in READERS:
        return []
    return [value] if isinstance(value, str) else [path for _, path in value]


def read_templates(given: str) -> str:
    """Templates from a file, or their text itself."""
    return "\n".join(RawText.load(given).lines) if _is_file(given) else given


def _is_file(given: str) -> bool:
    if os.sep in given:
        return True  # templates have no path separators; a missing file then gets a clear error
    try:
        return Path(given).is_file()
    except (OSError, ValueError):
        return False  # text too long for a file's name


def read_lexicons(pairs: Pairs) -> dict[str, list[str]]:
    """Read lexicons: one entry of one or more words per line."""
    return {
        name: [line.strip() for line in RawText.load(path).lines if line.strip()] for name, path in _distinct(pairs)
    }


def read_clusters(pairs: Pairs) -> dict[str, dict[str, str]]:
    """Read word clusters: the output of Brown's algorithm (bits TAB word TAB count), or word TAB cluster."""
    return {name: read_word_clusters(path) for name, path in _distinct(pairs)}


def read_costs(path: str) -> dict[Any, float]:
    """Read error costs: for each gold label a number, or a number for each predicted label."""
    return costs_in(path, read_object(path, "costs by gold label"))


def costs_in(source: str, content: dict[str, Any]) -> dict[Any, float]:
    """The costs in a JSON object; error messages name `source`."""
    costs: dict[Any, float] = {}
    for gold, value in content.items():
        each = (
            {(gold, predicted): cost for predicted, cost in value.items()} if isinstance(value, dict) else {gold: value}
        )
        costs |= each
    for key, cost in costs.items():
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            raise DataError(f"{source}: the cost of {key!r} must be a number, not {cost!r}")
    return costs


def read_object(path: str, what: str) -> dict[str, Any]:
    """The JSON object that a file holds."""
    raw = RawText.load(path)
    try:
        content = json.loads("\n".join(raw.lines))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{raw.source} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{raw.source} must hold a JSON object of {what}")
    return content


def _distinct(pairs: Pairs) -> Pairs:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise WidemarginError(f"the name {name!r} is given to two files; names must differ")
    return pairs


READERS: Mapping[str, Callable[[Any], Any]] = {
    "templates": read_templates,
    "costs": read_costs,
    "lexicons": read_lexicons,
    "clusters": read_clusters,
    "path": str,
}
"""How each kind of value is read; the names are those of `given_as` in `tasks.parameters.parameter`."""
