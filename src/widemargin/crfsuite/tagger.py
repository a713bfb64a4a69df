"""python-crfsuite's `Tagger`, on one of our own models.

p(y | x) = exp(score(y) − log Z), summed over all label sequences only when a probability is asked for.
"""

import os
import sys
from contextlib import closing
from functools import partial
from math import exp
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix
from widemargin.crfsuite._dumpparser import ParsedDump, dump_text, parsed_dump
from widemargin.crfsuite.items import ItemSequence, spelt, whole
from widemargin.crfsuite.models import Opened, of_crfsuite, of_our_own, recent
from widemargin.files.lcrf import HEADER, MAGIC, ChainFile, LcrfHeader


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
        self._model: Opened | None = None
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
            return self._opened(recent(about, partial(of_crfsuite, path, beginning)))
        if beginning[8:9] != b"{":
            raise ValueError(f"Invalid model file {name!r}")
        return self._opened(recent(about, partial(of_our_own, path)))

    def open_inmemory(self, value: bytes) -> "closing[Tagger]":
        """Open the content of a model file of CRFsuite's."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        if not value.startswith(MAGIC):
            raise ValueError("Invalid model")
        if len(value) < HEADER.size:
            raise ValueError("Invalid model: incomplete header")
        return self._opened(of_crfsuite(value, value))

    def _opened(self, model: Opened) -> "closing[Tagger]":
        self._forget()
        self._model = model
        return closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._forget()

    def _ready(self) -> Opened:
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
        self._scores, self._rows = model.chain.scores(*items.packed()), []

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
        wanted = [spelt(label) for label in yseq]
        if len(wanted) != n:
            raise ValueError(f"The numbers of items and labels differ: |x| = {n}, |y| = {len(wanted)}")
        codes = np.array([self._number(label) for label in wanted], dtype=np.int32)
        return exp(model.chain.score(self._scores, codes) - self._sums(model))

    def marginal(self, y: Any, pos: int) -> float:
        """p(label y at position pos | xseq) of the current sequence."""
        rows = self._rows
        if type(pos) is int and 0 <= pos < len(rows) and type(y) is str and y in self._numbers:
            return rows[pos][self._numbers[y]]  # the usual case: sums are known, and arguments need no checks
        label, place = spelt(y), whole(pos)
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

    def _sums(self, model: Opened) -> float:
        """log Z of the current sequence; the probability of each label at each position is then in `_rows`."""
        if not self._rows:
            model.check_probable()
            posteriors, self._log_z = model.chain.posteriors(self._scores)
            self._rows = posteriors.tolist()
        return self._log_z

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

    def _described(self) -> tuple[ChainFile, LcrfHeader]:
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        return self._model.described()
