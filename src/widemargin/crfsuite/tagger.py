"""python-crfsuite's `Tagger`, on one of our own models.

p(y | x) = exp(score(y) − log Z), summed over all label sequences only when a probability is asked for.
"""

import os
import sys
from contextlib import closing
from math import exp
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix
from widemargin.crfsuite.items import ItemSequence, spelt, whole
from widemargin.crfsuite.parsed import ParsedDump, dump_text, parsed_dump
from widemargin.errors import UnsupportedError
from widemargin.files.lcrf import HEADER, MAGIC, ChainFile, Layout
from widemargin.tasks.base import foreign_model, load_model
from widemargin.text.records import RecordExtractor


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

    __slots__ = ("__weakref__", "_labels", "_model", "_numbers", "_posteriors", "_scores", "_source")

    def __init__(self, *_: Any) -> None:
        self._forget()

    def _forget(self) -> None:
        self._model: Any = None
        self._source = b""
        self._labels: list[str] = []
        self._numbers: dict[str, int] = {}
        self._scores: FloatMatrix = np.empty((0, 0))
        self._posteriors: tuple[FloatMatrix, float] | None = None

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
            beginning = stream.read(HEADER.size + 1)
        if beginning.startswith(MAGIC):
            if len(beginning) <= HEADER.size:
                raise ValueError(f"Model file {name!r} doesn't have a complete header")
            return self._opened(foreign_model(path), beginning)
        if beginning[8:9] != b"{":
            raise ValueError(f"Invalid model file {name!r}")
        model = load_model(path)
        if not isinstance(getattr(model, "extractor", None), RecordExtractor) or ".crfsuite" not in model.exports:
            raise UnsupportedError(f"the model {path} is not a tagger of ready-made features")
        return self._opened(model, b"")

    def open_inmemory(self, value: bytes) -> "closing[Tagger]":
        """Open the content of a model file of CRFsuite's."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        if not value.startswith(MAGIC):
            raise ValueError("Invalid model")
        if len(value) < HEADER.size:
            raise ValueError("Invalid model: incomplete header")
        return self._opened(foreign_model(value), value[: HEADER.size])

    def _opened(self, model: Any, header: bytes) -> "closing[Tagger]":
        self._forget()
        self._model, self._source, self._labels = model, header, model.code_names
        return closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._forget()

    def _ready(self) -> Any:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    def labels(self) -> list[str]:
        """The labels of the model."""
        self._ready()
        return list(self._labels)

    def set(self, xseq: Any) -> None:
        """Choose the sequence that later calls are about: a list of items (see `ItemSequence`)."""
        model = self._ready()
        items = xseq if type(xseq) is ItemSequence else ItemSequence(xseq)
        self._scores, self._posteriors = model.one_by_one.scores(*items.packed()), None

    def tag(self, xseq: Any = None) -> list[str]:
        """The best labels of a sequence, or of the one that was set before."""
        if xseq is not None:
            self.set(xseq)
        model, labels = self._ready(), self._labels
        if not len(self._scores):
            return []
        return [labels[code] for code in model.one_by_one.best(self._scores).tolist()]

    def probability(self, yseq: Any) -> float:
        """p(yseq | xseq) of the current sequence."""
        model, n = self._ready(), len(self._scores)
        if not n:
            return 0.0
        wanted = [spelt(label) for label in yseq]
        if len(wanted) != n:
            raise ValueError(f"The numbers of items and labels differ: |x| = {n}, |y| = {len(wanted)}")
        codes = np.array([self._number(label) for label in wanted], dtype=np.int32)
        return exp(model.one_by_one.score(self._scores, codes) - self._sums()[1])

    def marginal(self, y: Any, pos: int) -> float:
        """p(label y at position pos | xseq) of the current sequence."""
        label, place = spelt(y), whole(pos)
        self._ready()
        n = len(self._scores)
        if not n:
            return 0.0
        if not 0 <= place < n:
            raise ValueError(f"The position, {place} is out of range of {n}")
        number = self._number(label)
        return self._sums()[0].item(place, number)

    def marginals(self) -> list[dict[str, float]]:
        """p(label | xseq) of all labels at every position of the current sequence; the peer has no such method."""
        self._ready()
        rows = self._sums()[0].tolist() if len(self._scores) else []
        return [dict(zip(self._labels, row, strict=True)) for row in rows]

    def _number(self, label: str) -> int:
        if not self._numbers:
            self._numbers = {name: number for number, name in enumerate(self._labels)}
        if label not in self._numbers:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")
        return self._numbers[label]

    def _sums(self) -> tuple[FloatMatrix, float]:
        """The probability of each label at each position of the current sequence, and log Z."""
        if self._posteriors is None:
            self._model.check_probable()
            self._posteriors = self._model.one_by_one.posteriors(self._scores)
        return self._posteriors

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text into a file, or to standard output."""
        text = dump_text(*self._described())
        if filename is None:
            sys.stdout.write(text)
            return
        with open(filename, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))

    def info(self) -> ParsedDump:
        """The model as dicts: labels, attributes and weights."""
        return parsed_dump(*self._described())

    def _described(self) -> tuple[ChainFile, Layout]:
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        header = self._source or self._model.exported(".crfsuite")
        return self._model.chain_file(), Layout(*HEADER.unpack(header[: HEADER.size]))
