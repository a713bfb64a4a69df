"""Error costs from JSON files."""

import json
from typing import Any

from widemargin.errors import DataError
from widemargin.files.raw import RawText


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
