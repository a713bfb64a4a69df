"""python-crfsuite's `Tagger`, on one of our own models.

p(y | x) = exp(score(y) − log Z), summed over all label sequences only when a probability is asked for.

`dump` writes the contents of a model for people, `info` returns them as dicts. Weights have six decimals in both.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from math import exp
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix
from widemargin.crfsuite.items import ItemSequence, as_text, whole
from widemargin.crfsuite.models import OpenModel, of_crfsuite, of_our_own, recent
from widemargin.files.lcrf import HEADER, MAGIC, ChainFile, LcrfHeader, Weights

FIELDS = {
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


@dataclass
class ParsedDump:
    """The parts of a model.

    Attributes
    ----------
    header : the fields of the file's header, as strings
    labels, attributes : their numbers, as strings, by name
    transitions : weights by (label, next label)
    state_features : weights by (attribute, label)
    """

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


class Tagger:
    """Labels sequences with a model, and tells how probable labels are.

    Besides CRFsuite's files, `open` takes our own taggers of ready-made features.

    Examples
    --------
    >>> tagger = Tagger()
    >>> tagger.tag([["a"]])
    Traceback (most recent call last):
        ...
    ValueError: The tagger is not opened
    """

    __slots__ = ("__weakref__", "_log_z", "_model", "_numbers", "_rows", "_scores")

    def __init__(self, *_: Any) -> None:
        self._forget()

    def _forget(self) -> None:
        self._model: OpenModel | None = None
        self._numbers: dict[str, int] = {}
        self._scores: FloatMatrix = np.empty((0, 0))
        self._rows: list[list[float]] = []
        self._log_z = 0.0

    def open(self, name: str | bytes | os.PathLike[str]) -> "closing[Tagger]":
        """Open a model file; the result closes it at the end of a ``with`` block.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is not a model of this kind, or damaged.
        """
        path = os.fsdecode(name)
        with open(path, "rb") as stream:
            beginning, about = stream.read(HEADER.size + 1), os.fstat(stream.fileno())
        if beginning.startswith(MAGIC):
            if len(beginning) <= HEADER.size:
                raise ValueError(f"Model file {name!r} doesn't have a complete header")
            return self._use(recent(about, partial(of_crfsuite, path, beginning)))
        if beginning[8:9] != b"{":
            raise ValueError(f"Invalid model file {name!r}")
        return self._use(recent(about, partial(of_our_own, path)))

    def open_inmemory(self, value: bytes) -> "closing[Tagger]":
        """Open the content of a model file of CRFsuite's."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        if not value.startswith(MAGIC):
            raise ValueError("Invalid model")
        if len(value) < HEADER.size:
            raise ValueError("Invalid model: incomplete header")
        return self._use(of_crfsuite(value, value))

    def _use(self, model: OpenModel) -> "closing[Tagger]":
        self._forget()
        self._model = model
        return closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._forget()

    def _ready(self) -> OpenModel:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self._ready().chain.labels)

    def set(self, xseq: Any) -> None:
        """Choose the sequence that later calls are about: a list of items (see `ItemSequence`)."""
        model = self._ready()
        items = xseq if type(xseq) is ItemSequence else ItemSequence(xseq)
        self._scores, self._rows = model.chain.scores(*items.pack()), []

    def tag(self, xseq: Any = None) -> list[str]:
        """The best labels of a sequence, or of the one that was set before."""
        if xseq is not None:
            self.set(xseq)
        chain = self._ready().chain
        if not len(self._scores):
            return []
        labels = chain.labels
        return [labels[code] for code in chain.best(self._scores).tolist()]

    def probability(self, yseq: Any) -> float:
        """p(yseq | xseq) of the current sequence."""
        model, n = self._ready(), len(self._scores)
        if not n:
            return 0.0
        wanted = [as_text(label) for label in yseq]
        if len(wanted) != n:
            raise ValueError(f"The numbers of items and labels differ: |x| = {n}, |y| = {len(wanted)}")
        codes = np.array([self._number(label) for label in wanted], dtype=np.int32)
        return exp(model.chain.score(self._scores, codes) - self._sums(model))

    def marginal(self, y: Any, pos: int) -> float:
        """p(label y at position pos | xseq) of the current sequence."""
        rows = self._rows
        if type(pos) is int and 0 <= pos < len(rows) and type(y) is str and y in self._numbers:
            return rows[pos][self._numbers[y]]  # the usual case: sums are known, and arguments need no checks
        label, place = as_text(y), whole(pos)
        model, n = self._ready(), len(self._scores)
        if not n:
            return 0.0
        if not 0 <= place < n:
            raise ValueError(f"The position, {place} is out of range of {n}")
        number = self._number(label)
        self._sums(model)
        return self._rows[place][number]

    def marginals(self) -> list[dict[str, float]]:
        """p(label | xseq) of all labels at every position of the current sequence; an addition to python-crfsuite."""
        model = self._ready()
        if len(self._scores):
            self._sums(model)
        return [dict(zip(model.chain.labels, row, strict=True)) for row in self._rows]

    def _number(self, label: str) -> int:
        if not self._numbers:
            self._numbers = {name: number for number, name in enumerate(self._ready().chain.labels)}
        if label not in self._numbers:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")
        return self._numbers[label]

    def _sums(self, model: OpenModel) -> float:
        """log Z of the current sequence; the probability of each label at each position is then in `_rows`."""
        if not self._rows:
            model.check_probable()
            posteriors, self._log_z = model.chain.posteriors(self._scores)
            self._rows = posteriors.tolist()
        return self._log_z

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text into a file, or to standard output."""
        text = dump_text(self.info())
        if filename is None:
            sys.stdout.write(text)
            return
        with open(filename, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))

    def info(self) -> ParsedDump:
        """The model as dicts: labels, attributes and weights."""
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        return parsed_dump(*self._model.contents())


def parsed_dump(file: ChainFile, layout: LcrfHeader) -> ParsedDump:
    """A model as dicts."""
    labels, attributes = file.labels, list(file.attributes)
    return ParsedDump(
        {name: _in_header(name, getattr(layout, ours)) for name, ours in FIELDS.items()},
        {name: str(number) for number, name in enumerate(labels)},
        {name: str(number) for number, name in enumerate(attributes)},
        _by_name(file.transitions, labels, labels),
        _by_name(file.states, attributes, labels),
    )


def dump_text(dump: ParsedDump) -> str:
    """A model as text."""
    sections = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in dump.header.items()],
        "LABELS": [f"  {number:>5}: {name}" for name, number in dump.labels.items()],
        "ATTRIBUTES": [f"  {number:>5}: {name}" for name, number in dump.attributes.items()],
        "TRANSITIONS": [f"  (1) {a} --> {b}: {w:f}" for (a, b), w in dump.transitions.items()],
        "STATE_FEATURES": [f"  (0) {a} --> {b}: {w:f}" for (a, b), w in dump.state_features.items()],
    }
    return "".join("\n".join([f"{name} = {{", *lines, "}", "", ""]) for name, lines in sections.items())


def _in_header(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii")
    return f"0x{value:X}" if name.startswith("off_") else str(value)


def _by_name(weights: Weights, sources: Sequence[str], targets: Sequence[str]) -> dict[tuple[str, str], float]:
    """The weights by the names of what they connect."""
    triples = zip(*(part.tolist() for part in weights), strict=True)
    return {(sources[source], targets[target]): float(f"{weight:f}") for source, target, weight in triples}
