"""The contents of a model for people and programs: CRFsuite's dump, and python-crfsuite's reading of it.

Weights have six decimals in both.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from widemargin.files.lcrf import ChainFile, LcrfHeader, Weights

HEADER = {
    "magic": "magic",
    "size": "size",
    "type": "type",
    "version": "version",
    "num_features": "n_features",
    "num_labels": "n_labels",
    "num_attrs": "n_attributes",
    "off_features": "features",
    "off_labels": "labels",
    "off_attrs": "attributes",
    "off_labelrefs": "label_lists",
    "off_attrrefs": "attribute_lists",
}
"""The fields of a dump's header, and what they are called in `LcrfHeader`."""


class ParsedDump:
    """The parts of a model.

    Attributes
    ----------
    header : the fields of the file's header, as strings
    labels, attributes : their numbers, as strings, by name
    transitions : weights by (label, next label)
    state_features : weights by (attribute, label)
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


def parsed_dump(file: ChainFile, layout: LcrfHeader) -> ParsedDump:
    """A model as dicts."""
    dump, labels, attributes = ParsedDump(), file.labels, list(file.attributes)
    dump.header = _header(layout)
    dump.labels = {name: str(number) for number, name in enumerate(labels)}
    dump.attributes = {name: str(number) for number, name in enumerate(attributes)}
    dump.transitions = {(a, b): float(w) for a, b, w in _named(file.transitions, labels, labels)}
    dump.state_features = {(a, b): float(w) for a, b, w in _named(file.states, attributes, labels)}
    return dump


def dump_text(file: ChainFile, layout: LcrfHeader) -> str:
    """A model as text."""
    labels, attributes = file.labels, list(file.attributes)
    sections = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in _header(layout).items()],
        "LABELS": [f"  {number:5}: {name}" for number, name in enumerate(labels)],
        "ATTRIBUTES": [f"  {number:5}: {name}" for number, name in enumerate(attributes)],
        "TRANSITIONS": [f"  (1) {a} --> {b}: {w}" for a, b, w in _named(file.transitions, labels, labels)],
        "STATE_FEATURES": [f"  (0) {a} --> {b}: {w}" for a, b, w in _named(file.states, attributes, labels)],
    }
    return "".join("\n".join([f"{name} = {{", *lines, "}", "", ""]) for name, lines in sections.items())


def _header(layout: LcrfHeader) -> dict[str, str]:
    return {name: _spelt(name, getattr(layout, ours)) for name, ours in HEADER.items()}


def _spelt(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii")
    return f"0x{value:X}" if name.startswith("off_") else str(value)


def _named(weights: Weights, sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for source, target, weight in zip(*(part.tolist() for part in weights), strict=True):
        yield sources[source], targets[target], f"{weight:f}"
