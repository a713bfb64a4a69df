"""JSON lines: one object per line, one sequence per object.

The key `tokens` (or `words`) holds the words. Any other key that holds one string per token is a column; the labels are
under `tags`, `labels` or `label`, where null is read as `_`, an unknown label. Everything else in an object is kept.
Columns are checked only when they are used, so a list that has as many items as tokens by chance does no harm.

Spans are under `spans`, as lists `[start, end, "type"]` or objects `{"start": …, "end": …, "type": …}` (or `"label"`),
which count tokens from 0, the end excluded. They are read as a column of BIO labels, which is the label column if there
is no other. New spans are written in the form of the spans in the file.

Writing changes only the replaced list. The text around it stays as it was, since serialising the whole object again
would change its spacing, its numbers and its escapes.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.files.document import Document
from widemargin.files.pieces import every_line
from widemargin.files.raw import RawText, shorten
from widemargin.text.columns import USUAL, Columns, LazyColumns, split
from widemargin.text.spans import Span, labels_of, spans_of

WORD_KEYS = ("tokens", "words")
LABEL_KEYS = ("tags", "labels", "label")
SPANS = "spans"
TYPE_KEYS = ("label", "type")

Sequences: TypeAlias = dict[int, dict[str, Any]]
"""The objects of a file by the index of their line."""

cut = every_line

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r]*")


@dataclass(frozen=True)
class JsonLines(Document):
    """A file with one JSON object per line; `keys` maps columns to their keys if the two differ."""

    object_lines: list[int]
    keys: dict[str, str]
    type_key: str | None = None

    def place(self, sequence: int, token: int) -> str:
        """The line of a sequence."""
        return f"{self.raw.source}, line {self.raw.first + self.object_lines[sequence] + 1}, token {token + 1}"

    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        key = self.keys.get(name, name)
        written = list(lines)
        for number, sequence in zip(self.object_lines, split(values, self.columns.indptr), strict=True):
            value = self._spans(number, sequence) if key == SPANS else sequence
            written[number] = with_member(written[number], key, value)
        return written

    def _spans(self, number: int, labels: Sequence[str]) -> list[Any]:
        """The spans that labels mark, in the form of the file; spans that are already there stay as they are."""
        before = json_object(self.raw, number).get(SPANS)
        known = {_span(item): item for item in before} if isinstance(before, list) else {}
        return [known.get(span) or self._item(span) for span in spans_of(labels)]

    def _item(self, span: Span) -> Any:
        if self.type_key is None:
            return list(span)
        return {"start": span.start, "end": span.end, self.type_key: span.type}


def parse(raw: RawText) -> JsonLines:
    """Read JSON lines.

    >>> document = parse(RawText.of('{"tokens": ["a", "fly"], "tags": ["O", "B"], "id": 7}'))
    >>> document.columns.names
    ['word', 'tags']
    """
    objects = {number: json_object(raw, number) for number, line in enumerate(raw.lines) if line.strip()}
    word = raw.judge_once(
        "words",
        lambda: next((key for key in WORD_KEYS if any(key in members for members in objects.values())), WORD_KEYS[0]),
    )
    words = _strings(raw, objects, word, None)
    lengths = {number: len(members[word]) for number, members in objects.items()}
    own = _column_keys(objects, lengths)
    keys = list(dict.fromkeys([*raw.judge_once("columns", lambda: own), *own]))
    label = raw.judge_once("label", lambda: next((key for key in (*LABEL_KEYS, SPANS) if key in keys), LABEL_KEYS[0]))
    strings = {
        key: partial(_span_labels, raw, objects, word) if key == SPANS else partial(_strings, raw, objects, key, word)
        for key in keys
        if key not in (word, "word")
    }
    aliases = {} if "label" in keys else {"label": label}
    columns = Columns(
        LazyColumns({"word": partial(list, words), **strings}, aliases), boundaries(lengths.values()), raw.source
    )
    type_key = raw.judge_once("type of spans", lambda: _type_key(objects))
    return JsonLines(raw, columns, label, list(objects), {**aliases, "word": word}, type_key)


def with_member(line: str, key: str, value: Any) -> str:
    """Set a member of the JSON object on `line`, leaving the rest of the line as it is.

    >>> with_member('{"tokens":["a"],  "tags": [], "id": 1e3}', "tags", ["O"])
    '{"tokens":["a"],  "tags": ["O"], "id": 1e3}'
    >>> with_member('{"tokens":["a"] }', "tags", ["O"])
    '{"tokens":["a"], "tags": ["O"] }'
    """
    text = json.dumps(value, ensure_ascii=line.isascii())
    members = _members(line)
    if key in members:
        start, end = members[key]
        unchanged = json.loads(line[start:end]) == value
        return line if unchanged else line[:start] + text + line[end:]
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


def json_object(raw: RawText, number: int) -> dict[str, Any]:
    """The object on a line; an error names the file, the line and what is wrong there."""
    try:
        value = json.loads(raw.lines[number])
    except json.JSONDecodeError as error:
        raise raw.fault(number, f"not JSON: {error.msg} at character {error.colno}") from error
    except RecursionError as error:  # Python's message changes from version to version
        raise raw.fault(number, "not usable JSON: it nests too deep") from error
    except ValueError as error:
        raise raw.fault(number, f"not usable JSON: {error}") from error
    if not isinstance(value, dict):
        raise raw.fault(number, f"expected a JSON object, found {_show(value)}")
    return value


def _column_keys(objects: Sequences, lengths: dict[int, int]) -> list[str]:
    """The keys that are columns, judged by the first object that has each."""
    first: dict[str, int] = {}
    for number, members in objects.items():
        for key in members:
            first.setdefault(key, number)
    return [key for key, number in first.items() if _is_column(key, objects[number][key], lengths[number])]


def _is_column(key: str, value: object, length: int) -> bool:
    if key in (*LABEL_KEYS, SPANS):
        return value is None or isinstance(value, list)
    return isinstance(value, list) and len(value) == length and all(isinstance(item, str) for item in value)


def _strings(raw: RawText, objects: Sequences, key: str, word: str | None) -> list[str]:
    """The strings under `key` of all objects; each object must have as many as under `word`."""
    flat: list[str] = []
    for number, members in objects.items():
        if key not in members:
            raise raw.fault(number, f'the object has no "{key}"')
        items = members[key]
        if not isinstance(items, list):
            raise raw.fault(number, f'"{key}" is {_show(items)} where a list of strings is wanted')
        if word is not None and len(items) != len(members[word]):
            raise raw.fault(number, f'"{key}" has {len(items)} items, but "{word}" has {len(members[word])}')
        if key in LABEL_KEYS:
            items = [USUAL.unknown if item is None else item for item in items]
        for item in items:
            if not isinstance(item, str):
                raise raw.fault(number, f'"{key}" holds {_show(item)} where a string is wanted')
        flat += items
    return flat


def _span_labels(raw: RawText, objects: Sequences, word: str) -> list[str]:
    """The spans of all objects as BIO labels; objects without the key `spans` have none."""
    flat: list[str] = []
    for number, members in objects.items():
        items = [] if members.get(SPANS) is None else members[SPANS]
        if not isinstance(items, list):
            raise raw.fault(number, f'"{SPANS}" is {_show(items)} where a list of spans is wanted')
        found = [_span(item) for item in items]
        for item, span in zip(items, found, strict=True):
            if span is None:
                raise raw.fault(number, f'{_show(item)} is not a span like [0, 2, "type"]')
        try:
            flat += labels_of([span for span in found if span is not None], len(members[word]))
        except DataError as error:
            raise raw.fault(number, str(error)) from None
    return flat


def _span(item: Any) -> Span | None:
    """The span that an item of `spans` stands for; None if it is not a span."""
    if isinstance(item, dict):
        item = [item.get("start"), item.get("end"), next((item[key] for key in TYPE_KEYS if key in item), None)]
    if not (isinstance(item, list) and [type(part) for part in item] == [int, int, str]):
        return None
    return Span(*item)


def _type_key(objects: Sequences) -> str | None:
    """The key of a span's type, judged by the first span that is an object; None if none is."""
    lists = (members[SPANS] for members in objects.values() if isinstance(members.get(SPANS), list))
    first = next((item for items in lists for item in items), None)
    return next((key for key in TYPE_KEYS if key in first), TYPE_KEYS[0]) if isinstance(first, dict) else None


def _show(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False))
