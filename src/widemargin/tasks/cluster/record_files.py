"""Records in JSON lines, in one of two forms.

    {"id": "a", "records": [{"name": …}, …], "clusters": [1, 1, 2]}         a document per line
    {"document": "a", "name": …, "cluster": 1}                              a record per line

In the second form, records with the same `document` belong together, wherever they are; without it, the file is one
document. The key `id` of a record is not compared. Predictions replace `clusters` or `cluster`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from widemargin.errors import DataError
from widemargin.files.jsonlines import json_object, with_member
from widemargin.files.raw import RawText, shortened

NOT_FIELDS = ("document", "cluster", "id")


class RecordFile(NamedTuple):
    """The documents of a file, and for each the lines that its records are on: one for all, or one for each."""

    raw: RawText
    X: list[list[Any]]
    y: list[list[Any]] | None
    lines: list[list[int]]
    nested: bool
    names: Sequence[str] = ()

    @property
    def sizes(self) -> list[int]:
        """The number of items of each document."""
        return list(map(len, self.X))

    @property
    def facts(self) -> dict[str, Any]:
        """Nothing: records have no facts that a model must remember."""
        return {}

    def rewritten(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with these clusters."""
        written = list(self.raw.lines)
        for lines, clusters in zip(self.lines, outputs, strict=True):
            if self.nested:
                written[lines[0]] = with_member(written[lines[0]], "clusters", list(clusters))
                continue
            for line, cluster in zip(lines, clusters, strict=True):
                written[line] = with_member(written[line], "cluster", cluster)
        return self.raw.text(written)


def read(raw: RawText, chosen: str, names: Sequence[str] | None, about: Mapping[str, Any], *, gold: bool) -> RecordFile:
    """Read JSON lines of either form."""
    objects = {number: json_object(raw, number) for number, line in enumerate(raw.lines) if line.strip()}
    if not objects and not raw.first:
        raise DataError(f"{raw.source} has no records")
    nested = raw.judged("nested", lambda: "records" in next(iter(objects.values())))
    return _nested(raw, objects, gold=gold) if nested else _flat(raw, objects, gold=gold)


def is_nested(head: RawText) -> bool:
    """Whether every line is a document."""
    return "records" in _first(head)


def are_records(head: RawText) -> bool:
    """Whether the first line has records with clusters, or is such a record."""
    return bool({"records", "cluster"} & _first(head).keys())


def _first(head: RawText) -> dict[str, Any]:
    number = next((number for number, line in enumerate(head.lines) if line.strip()), None)
    return {} if number is None else json_object(head, number)


def _nested(raw: RawText, objects: Mapping[int, dict[str, Any]], *, gold: bool) -> RecordFile:
    X, y = [], []
    for number, members in objects.items():
        records = _list(raw, number, members, "records")
        for record in records:
            _check_record(raw, number, record)
        X.append([_fields(record) for record in records])
        if gold:
            clusters = _list(raw, number, members, "clusters")
            if len(clusters) != len(records):
                raise raw.fault(number, f'"clusters" has {len(clusters)} items, but "records" has {len(records)}')
            y.append([_cluster(raw, number, cluster) for cluster in clusters])
    return RecordFile(raw, X, y if gold else None, [[number] for number in objects], nested=True)


def _flat(raw: RawText, objects: Mapping[int, dict[str, Any]], *, gold: bool) -> RecordFile:
    X: dict[Any, list[Any]] = {}
    y: dict[Any, list[Any]] = {}
    lines: dict[Any, list[int]] = {}
    for number, record in objects.items():
        if not record:
            raise raw.fault(number, "the record is empty")
        _check_record(raw, number, record)
        document = record.get("document")
        if isinstance(document, list | dict):
            raise raw.fault(number, f'"document" is {shortened(repr(document))}, not a name')
        if gold and "cluster" not in record:
            raise raw.fault(number, 'the object has no "cluster"')
        X.setdefault(document, []).append(_fields(record))
        y.setdefault(document, []).append(_cluster(raw, number, record.get("cluster")))
        lines.setdefault(document, []).append(number)
    return RecordFile(raw, list(X.values()), list(y.values()) if gold else None, list(lines.values()), nested=False)


def _list(raw: RawText, number: int, members: dict[str, Any], key: str) -> list[Any]:
    if key not in members:
        raise raw.fault(number, f'the object has no "{key}"')
    if not isinstance(members[key], list):
        raise raw.fault(number, f'"{key}" is {shortened(repr(members[key]))} where a list is wanted')
    found: list[Any] = members[key]
    return found


def _check_record(raw: RawText, number: int, record: Any) -> None:
    if isinstance(record, str):
        return
    if not isinstance(record, dict):
        raise raw.fault(number, f"{shortened(repr(record))} is not a record: an object or a string is wanted")
    for name, value in _fields(record).items():
        strings = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not (value is None or strings or isinstance(value, str | int | float)):
            raise raw.fault(
                number, f'the field "{shortened(name)}" is {shortened(repr(value))}, not a text or a number'
            )


def _fields(record: Any) -> Any:
    return record if isinstance(record, str) else {k: v for k, v in record.items() if k not in NOT_FIELDS}


def _cluster(raw: RawText, number: int, cluster: Any) -> Any:
    if isinstance(cluster, list | dict):
        raise raw.fault(number, f"the cluster {shortened(repr(cluster))} is not a name or a number")
    return cluster
