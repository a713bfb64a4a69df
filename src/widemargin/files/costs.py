"""Error costs from JSON files."""

import json
from typing import Any

from widemargin.errors import DataError
from widemargin.files.raw import RawText


def read_costs(path: str) -> dict[Any, float]:
    """Error costs: a number per gold label, or a number per predicted label of a gold label."""
    return costs_in(path, read_object(path, "costs by gold label"))


def costs_in(source: str, content: dict[str, Any]) -> dict[Any, float]:
    """The costs in a JSON object; `source` is named in complaints."""
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
