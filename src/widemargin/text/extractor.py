"""Extractors turn sequences as users have them into sparse rows. Each kind of input has its own extractor.

| extractor | one sequence is |
| --- | --- |
| `TemplateExtractor` | tokens in columns, described by feature templates |
| `RecordExtractor` | a list with, per position, a list of feature names or a dict in python-crfsuite's conventions |
| `MatrixExtractor` | a NumPy array or SciPy sparse matrix with a row per position |

`fit` sees the training data and numbers its features; `transform` ignores features that are not in the training data.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from widemargin._types import AnyArray, BoolVector, IntVector, LongVector
from widemargin.core.header import optional, whole
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored, packed_strings
from widemargin.errors import WidemarginError
from widemargin.text.alphabet import MOST_BITS, Alphabet, FeatureIndex, HashedIndex
from widemargin.text.shared import Vocabulary, counted


class Features(NamedTuple):
    """Sequences as rows of features; sequence i holds the rows indptr[i]:indptr[i + 1]."""

    indptr: LongVector
    rows: Rows
    transition_rows: Rows | None = None


class LookedUp(Protocol):
    """Sequences whose strings have been looked up: what is left of feature extraction runs in any thread."""

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the positions."""

    def features(self, first: int, last: int) -> Features:
        """The features of the sequences first:last."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """Sequences whose features have been found when they were looked up."""

    whole: Features

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the positions."""
        return self.whole.indptr

    def features(self, first: int, last: int) -> Features:
        """The features of the sequences first:last; for extractors without features on transitions."""
        (indptr, rows, _), n = self.whole, len(self.indptr) - 1
        if (first, last) == (0, n):
            return self.whole
        ends = rows.indptr[indptr[first] : indptr[last] + 1]
        here = slice(ends[0], ends[-1])
        part = Rows(ends - ends[0], rows.indices[here], rows.values[here] if len(rows.values) else rows.values)
        return Features(indptr[first : last + 1] - indptr[first], part)


class Extractor(Protocol):
    """Turns sequences into rows of features."""

    @property
    def n_features(self) -> int:
        """How many features describe a position."""

    @property
    def n_transition_features(self) -> int:
        """How many features describe a transition."""

    def fit(self, X: Any) -> Features:
        """Number the features of the training sequences."""

    def survey(self, X: Any) -> list[Vocabulary]:
        """The features of a part of the training data and how often they occur."""

    def adopt(self, vocabularies: Sequence[Vocabulary]) -> None:
        """Number features as the merged surveys of all parts have them, instead of by `fit`."""

    def grown(self, X: Any, min_count: int) -> "Extractor":
        """An extractor that knows these features, and those of `X` that are not too rare there."""

    def transform(self, X: Any) -> Features:
        """The known features of any sequences."""

    def read(self, X: Any) -> LookedUp:
        """Any sequences with their strings looked up, on the way to their known features."""

    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""

    def keep(self, used: BoolVector) -> "Extractor | None":
        """An extractor of the `used` features only (those on transitions last), renumbered; None if impossible."""

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The whole extractor as JSON and arrays, for `restore`."""


class NumberedFeatures:
    """The common part of extractors of named features: an index of keys, a frequency cut-off, and the names.

    Parameters
    ----------
    min_count : features that occur less often in the training data are left out
    hash_bits : hash features into a table of 2^hash_bits rows instead of keeping an alphabet
    """

    def __init__(self, *, min_count: int = 1, hash_bits: int | None = None) -> None:
        if not isinstance(min_count, int | np.integer) or min_count < 0:
            raise WidemarginError(f"min_count must be a whole number, not {min_count!r}")
        self.min_count, self.hash_bits = min_count, hash_bits
        self.index = self._new_index()
        self._spell: Callable[[], list[str]] | None = None
        self._reader: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what has been looked up, which copies and other processes look up again."""
        return {**self.__dict__, "_reader": None}

    @property
    def n_features(self) -> int:
        """How many features describe a position."""
        return self.index.size

    def names(self) -> list[str]:
        """The features' names in the order of their numbers."""
        if isinstance(self.index, HashedIndex):
            return [f"hashed {row}" for row in range(self.index.size)]
        return self._spell() if self._spell is not None else []

    def survey(self, X: Any) -> list[Vocabulary]:
        """The features of `X` and how often they occur, in groups; none if they are hashed."""
        if self.hash_bits is not None:
            return []
        everything = copy(self)
        everything.min_count = 1
        rows, n = everything.fit(X).rows, everything.n_features  # type: ignore[attr-defined]
        assert isinstance(everything.index, Alphabet)
        return [counted(everything.index, rows.indices, everything.names()[:n])]

    def adopt(self, vocabularies: Sequence[Vocabulary]) -> None:
        """Number the features as a survey of all data found them, instead of by `fit`."""
        if vocabularies:
            known = [vocabulary.frequent(self.min_count) for vocabulary in vocabularies]
            self.index = Alphabet(known[0].keys)
            self._spell = partial(_spelt, known)

    def grown(self, X: Any, min_count: int) -> Self:
        """An extractor that knows these features, and those of `X` that are not too rare there."""
        more = [each.frequent(min_count) for each in self.survey(X)]
        if all((alphabet.lookup(each.keys) >= 0).all() for alphabet, each in zip(self._alphabets, more, strict=True)):
            return self
        grown, names, before = copy(self), self.names(), 0
        known = list[Vocabulary]()
        for alphabet, each in zip(self._alphabets, more, strict=True):
            here = slice(before, before + alphabet.size)
            none = np.zeros(alphabet.size, dtype=np.int64)
            known.append(Vocabulary(alphabet.keys(), none, names[here]).merged(each))
            before += alphabet.size
        grown.min_count = 0
        grown.adopt(known)
        return grown

    @property
    def _alphabets(self) -> list[Alphabet]:
        """The alphabet of each group of features that `survey` finds."""
        return [self.index] if isinstance(self.index, Alphabet) else []

    def _new_index(self) -> FeatureIndex:
        return Alphabet() if self.hash_bits is None else HashedIndex(self.hash_bits)

    def _frequent(self, index: FeatureIndex, numbers: IntVector) -> tuple[FeatureIndex, IntVector]:
        """Drop features that occur too rarely; return the new index, and `numbers` renumbered by it."""
        if self.min_count <= 1 or not isinstance(index, Alphabet):
            return index, numbers
        used = np.bincount(numbers[numbers >= 0], minlength=index.size) >= self.min_count
        renumbered = np.append(np.where(used, np.cumsum(used) - 1, -1), -1).astype(np.int32)
        return Alphabet(index.keys()[used]), renumbered[numbers]

    def _describe_index(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        arrays: dict[str, AnyArray] = {}
        if isinstance(self.index, Alphabet):
            arrays = {"keys": self.index.keys(), **packed_strings("names", self.names())}
        return {"hash_bits": self.hash_bits}, arrays

    def _restore_index(self, stored: Stored, n_more: int = 0) -> None:
        """Restore index and names; there are names of `n_more` features on transitions, too."""
        if self.hash_bits is None:
            self.index = stored_alphabet(stored, "keys")
            self._spell = stored.strings("names", self.index.size + n_more)


def _spelt(vocabularies: Sequence[Vocabulary]) -> list[str]:
    return [name for vocabulary in vocabularies for name in vocabulary.names]


HASH_BITS = {"hash_bits": optional(whole(at_least=1, at_most=MOST_BITS))}
"""The field of the header that `NumberedFeatures` have."""


def stored_alphabet(stored: Stored, name: str) -> Alphabet:
    """The alphabet that a model file holds."""
    keys = stored.vector(name, np.uint64)
    alphabet = Alphabet(keys)
    if alphabet.size != len(keys):
        raise stored.place.damaged(f"the keys in its tensor {name} are not distinct")
    return alphabet


def selected(names: Sequence[str], used: BoolVector) -> list[str]:
    """The names of the used features."""
    return [name for name, wanted in zip(names, used.tolist(), strict=True) if wanted]
