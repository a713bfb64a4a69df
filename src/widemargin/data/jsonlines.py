"""JSON lines: one object a line, one sequence an object.

The key `tokens` (or `words`) holds the words. Any other key that holds one string per token is a column; the labels are
under `tags`, `labels` or `label`. Everything else in an object is carried along. A column is checked when it is asked
for: a list that has as many items as there are tokens in the first sequence by chance does no harm.

On writing, only the replaced list is written anew, in place; the text around it stays as it was, since parsing and
serialising an object again would change its spacing, its numbers and its escapes.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from widemargin.columns import Columns, boundaries, split
from widemargin.data.document import Document
from widemargin.data.lazy import LazyColumns
from widemargin.data.raw import RawText, shortened

WORD_KEYS = ("tokens", "words")
LABEL_KEYS = ("tags", "labels", "label")

Sequences: TypeAlias = dict[int, dict[str, Any]]
"""The objects of a file by the index of their line."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r]*")


@dataclass(frozen=True)
class JsonLines(Document):
    """A file with one JSON object a line; `keys` are those of the columns that are not called by their key."""

    object_lines: list[int]
    keys: dict[str, str]

    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        key = self.keys.get(name, name)
        written = list(lines)
        for number, sequence in zip(self.object_lines, split(values, self.columns.indptr), strict=True):
            written[number] = with_member(written[number], key, sequence)
        return written


def parse(raw: RawText) -> JsonLines:
    """Read JSON lines.

    >>> document = parse(RawText.of('{"tokens": ["a", "fly"], "tags": ["O", "B"], "id": 7}'))
    >>> list(document.columns.columns)
    ['word', 'tags']
    """
    objects = {number: _object(raw, number) for number, line in enumerate(raw.lines) if line.strip()}
    word = next((key for key in WORD_KEYS if any(key in members for members in objects.values())), WORD_KEYS[0])
    words = _strings(raw, objects, word, None)
    lengths = {number: len(members[word]) for number, members in objects.items()}
    keys = _column_keys(objects, lengths)
    label = next((key for key in LABEL_KEYS if key in keys), LABEL_KEYS[0])
    strings = {key: partial(_strings, raw, objects, key, word) for key in keys if key not in (word, "word")}
    aliases = {} if "label" in keys else {"label": label}
    columns = Columns(
        LazyColumns({"word": partial(list, words), **strings}, aliases), boundaries(lengths.values()), raw.source
    )
    return JsonLines(raw, columns, label, list(objects), {**aliases, "word": word})


def with_member(line: str, key: str, value: Sequence[str]) -> str:
    """Set a member of the JSON object that is on `line`, leaving the rest of the line as it is.

    >>> with_member('{"tokens":["a"],  "tags": [], "id": 1e3}', "tags", ["O"])
    '{"tokens":["a"],  "tags": ["O"], "id": 1e3}'
    >>> with_member('{"tokens":["a"] }', "tags", ["O"])
    '{"tokens":["a"], "tags": ["O"] }'
    """
    text = json.dumps(value, ensure_ascii=line.isascii())
    members = _members(line)
    if key in members:
        start, end = members[key]
        return line[:start] + text + line[end:]
    end = max(end for _, end in members.values())
    return f"{line[:end]}, {json.dumps(key)}: {text}{line[end:]}"


def _members(line: str) -> dict[str, tuple[int, int]]:
    """Where the value of each member of the object on `line` starts and ends."""
    members = {}
    at = line.index("{")
    while line[at] != "}":
        key, at = _DECODER.raw_decode(line, _after_space(line, at + 1))
        start = _after_space(line, _after_space(line, at) + 1)
        _, end = _DECODER.raw_decode(line, start)
        members[key] = start, end
        at = _after_space(line, end)
    return members


def _after_space(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at


def _object(raw: RawText, number: int) -> dict[str, Any]:
    try:
        value = json.loads(raw.lines[number])
    except json.JSONDecodeError as error:
        raise raw.fault(number, f"not JSON: {error.msg} at character {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise raw.fault(number, f"not usable JSON: {error}") from error
    if not isinstance(value, dict):
        raise raw.fault(number, f"expected a JSON object, found {_shown(value)}")
    return value


def _column_keys(objects: Sequences, lengths: dict[int, int]) -> list[str]:
    """The keys that are columns by the first object that has them."""
    first: dict[str, int] = {}
    for number, members in objects.items():
        for key in members:
            first.setdefault(key, number)
    return [key for key, number in first.items() if _is_column(key, objects[number][key], lengths[number])]


def _is_column(key: str, value: object, length: int) -> bool:
    if key in LABEL_KEYS:
        return value is None or isinstance(value, list)
    return isinstance(value, list) and len(value) == length and all(isinstance(item, str) for item in value)


def _strings(raw: RawText, objects: Sequences, key: str, word: str | None) -> list[str]:
    """The strings under `key` of all objects, as many in each as there are under `word`."""
    flat: list[str] = []
    for number, members in objects.items():
        if key not in members:
            raise raw.fault(number, f'the object has no "{key}"')
        items = members[key]
        if not isinstance(items, list):
            raise raw.fault(number, f'"{key}" is {_shown(items)} where a list of strings is wanted')
        if word is not None and len(items) != len(members[word]):
            raise raw.fault(number, f'"{key}" has {len(items)} items, but "{word}" has {len(members[word])}')
        for item in items:
            if not isinstance(item, str):
                raise raw.fault(number, f'"{key}" holds {_shown(item)} where a string is wanted')
        flat += items
    return flat


def _shown(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))
