"""Options whose values are read from files: templates, error costs, lexicons, word clusters."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from widemargin.errors import WidemarginError
from widemargin.files.costs import read_costs
from widemargin.files.raw import RawText
from widemargin.files.word_clusters import read_word_clusters

Pairs = Sequence[tuple[str, str]]


class Given(NamedTuple):
    """How a value is read, and from which files."""

    read: Callable[[Any], Any]
    files: Callable[[Any], Sequence[str]]


def read_value(given_as: str, value: Any) -> Any:
    """The value itself, or the contents of the file that it names."""
    return value if value is None or given_as not in FILES else FILES[given_as].read(value)


def files_of(given_as: str, value: Any) -> Sequence[str]:
    """The files that the value of an option names."""
    return () if value is None or given_as not in FILES else FILES[given_as].files(value)


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


def _distinct(pairs: Pairs) -> Pairs:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise WidemarginError(f"the name {name!r} is given to two files; names must differ")
    return pairs


def _paths(pairs: Pairs) -> list[str]:
    return [path for _, path in pairs]


def _itself(path: str) -> list[str]:
    return [path]


FILES: Mapping[str, Given] = {
    "templates": Given(read_templates, _itself),
    "costs": Given(read_costs, _itself),
    "lexicons": Given(read_lexicons, _paths),
    "clusters": Given(read_clusters, _paths),
    "path": Given(str, _itself),
}
"""How each kind of value is read; the names are those of `given_as` in `tasks.parameters.parameter`."""
