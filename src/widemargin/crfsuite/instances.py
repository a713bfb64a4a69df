"""Training data as it is appended: strings become numbers at once, kept in arrays that grow."""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolVector, IntVector, LongVector
from widemargin.core.sparse import Rows, boundaries, taken
from widemargin.crfsuite.items import ItemSequence, spelt, whole


def new_alphabet() -> defaultdict[str, int]:
    """Numbers strings in the order of their first appearance."""
    return defaultdict(count().__next__)


class Chains(NamedTuple):
    """Sequences laid end to end: where each begins, the attributes of all items, and their labels."""

    indptr: LongVector
    features: Rows
    gold: IntVector


class Instances:
    """All sequences with their labels and groups. Values are kept only once one of them is not 1."""

    def __init__(self) -> None:
        self.attributes, self.labels = new_alphabet(), new_alphabet()
        self._names, self._counts, self._gold = array("i"), array("i"), array("i")
        self._lengths, self._groups = array("i"), array("i")
        self._values: array[float] | None = None

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, xseq: Any, yseq: Any, group: int) -> None:
        """Add a sequence; nothing is added if there is an error in it."""
        items = xseq if type(xseq) is ItemSequence else ItemSequence(xseq)
        names, values, counts = items.named()
        labels = [spelt(label) for label in _listed(yseq)]
        if len(labels) != len(counts):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(counts)}, |y| = {len(labels)}")
        if len(values) and not np.isfinite(values).all():
            wrong = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"the value of the attribute {names[wrong]!r} is {values[wrong]}; values must be finite")
        group = whole(group)
        self._add_values(values, len(names))
        self._names.extend(map(self.attributes.__getitem__, names))
        self._gold.extend(map(self.labels.__getitem__, labels))
        self._counts.extend(counts)
        self._lengths.append(len(labels))
        self._groups.append(group)

    def _add_values(self, values: Any, n: int) -> None:
        if self._values is None and len(values) and not np.all(values == 1.0):
            self._values = array("d", [1.0]) * len(self._names)
        if self._values is not None:
            self._values.frombytes((values if len(values) else np.ones(n)).tobytes())

    def parts(self, holdout: int) -> tuple[Chains, Chains | None]:
        """The sequences to train on, and those of the group `holdout`; None if it is negative."""
        lengths = np.array(self._lengths, dtype=np.int64)
        values = np.empty(0) if self._values is None else np.array(self._values)
        features = Rows(boundaries(np.array(self._counts)), np.array(self._names, dtype=np.int32), values)
        everything = Chains(boundaries(lengths), features, np.array(self._gold, dtype=np.int32))
        if holdout < 0:
            return everything, None
        held = np.array(self._groups) == holdout
        return _those(everything, ~held), _those(everything, held)


def _those(chains: Chains, chosen: BoolVector) -> Chains:
    lengths = np.diff(chains.indptr)
    items = np.flatnonzero(np.repeat(chosen, lengths))
    return Chains(boundaries(lengths[chosen]), taken(chains.features, items), chains.gold[items])


def _listed(yseq: Iterable[Any]) -> Iterable[Any]:
    return yseq if isinstance(yseq, str) else list(yseq)
