"""Extractors turn sequences as users have them into sparse rows. Each kind of input has its own extractor.

| extractor | one sequence is |
| --- | --- |
| `TemplateExtractor` | tokens in columns, described by feature templates |
| `RecordExtractor` | a list with, per position, a list of feature names or a dict in python-crfsuite's conventions |
| `MatrixExtractor` | a NumPy array or SciPy sparse matrix with a row per position |

`fit` numbers the features of the training data by falling count, then by key (`text.alphabet.by_count`). For data in
pieces, `extend` adds a piece and `settle` numbers the features of all pieces. For data on several machines, `survey`
counts a share, and `adopt` takes the merged counts; `draft` keeps the rows of the share meanwhile, and `numbered` gives
them their final numbers. All three ways give the same numbers. `transform` ignores features that are not in the
training data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, IntVector, LongVector
from widemargin.core.header import optional, whole
from widemargin.core.sparse import Rows, binary, with_entries
from widemargin.core.stored import Stored, packed_strings
from widemargin.errors import WidemarginError
from widemargin.text.alphabet import MOST_BITS, Alphabet, FeatureCounts, FeatureIndex, HashedIndex, by_count

SHARE = 1 << 20
"""How many entries are renumbered together."""


class FeatureRows(NamedTuple):
    """Sequences as rows of features; sequence i holds the rows indptr[i]:indptr[i + 1]."""

    indptr: LongVector
    rows: Rows
    transition_rows: Rows | None = None

    @property
    def groups(self) -> list[Rows]:
        """The rows of positions and, if there are any, those of transitions."""
        return [self.rows] if self.transition_rows is None else [self.rows, self.transition_rows]


Spell: TypeAlias = Callable[[Sequence[Alphabet]], list[str]]
"""A function that gives the names of the features of some alphabets, end to end, from training data or from a file."""


class Extended(NamedTuple):
    """The features of more training data, and the function that names them."""

    features: FeatureRows
    spell: Spell


class Draft(NamedTuple):
    """The features of a piece of the training data, numbered by alphabets of its own (none if numbers are fixed)."""

    features: FeatureRows
    alphabets: list[Alphabet]
    spell: Spell

    def counted(self) -> list[FeatureCounts]:
        """The features and how often they occur, in groups."""
        names, found = self.spell(self.alphabets) if self.alphabets else [], list[FeatureCounts]()
        for alphabet, rows in zip(self.alphabets, self.features.groups, strict=False):
            here, names = names[: alphabet.size], names[alphabet.size :]
            found.append(FeatureCounts(alphabet.keys(), counts_of(rows, alphabet.size), here))
        return found


class LookedUp(Protocol):
    """Sequences whose strings have been looked up: the rest of feature extraction runs in any thread."""

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the positions."""

    def features(self, first: int, last: int) -> FeatureRows:
        """The features of the sequences first:last."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """Sequences whose features are already complete after the look-up."""

    whole: FeatureRows

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the positions."""
        return self.whole.indptr

    def features(self, first: int, last: int) -> FeatureRows:
        """The features of the sequences first:last; for extractors without features on transitions."""
        (indptr, rows, _), n = self.whole, len(self.indptr) - 1
        if (first, last) == (0, n):
            return self.whole
        ends = rows.indptr[indptr[first] : indptr[last] + 1]
        here = slice(ends[0], ends[-1])
        part = Rows(ends - ends[0], rows.indices[here], rows.values[here] if len(rows.values) else rows.values)
        return FeatureRows(indptr[first : last + 1] - indptr[first], part)


class Extractor(ABC):
    """Turns sequences into rows of features; by default, their numbers are fixed and none are on transitions."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features describe a position."""

    @property
    def n_transition_features(self) -> int:
        """How many features describe a transition."""
        return 0

    @abstractmethod
    def fit(self, X: Any) -> FeatureRows:
        """Number the features of the training sequences."""

    @property
    def alphabets(self) -> list[Alphabet]:
        """The alphabet of each group of features; none if the numbers are fixed."""
        return []

    @abstractmethod
    def extend(self, X: Any) -> Extended:
        """The features of more training sequences; new ones get the next numbers, for the time being."""

    def settle(self, counts: Sequence[LongVector]) -> list[LongVector]:
        """Number the features of each alphabet by their counts; return their numbers so far, in the new order."""
        return []

    def draft(self, X: Any) -> Draft:
        """The features of a piece of the training data, to be surveyed now and numbered later."""
        return Draft(self.extend(X).features, [], _no_names)

    def numbered(self, draft: Draft) -> FeatureRows:
        """The features of a draft, which is used up, as they are numbered now; unknown ones are left out."""
        if not self.alphabets:
            return draft.features
        pairs = zip(self.alphabets, draft.alphabets, strict=True)
        numbers = [known.lookup(alphabet.keys()) for known, alphabet in pairs]
        return FeatureRows(draft.features.indptr, *map(renumber, draft.features.groups, numbers))

    def survey(self, X: Any) -> list[FeatureCounts]:
        """The features of a part of the training data and how often they occur; none if they have no names."""
        return self.draft(X).counted()

    def adopt(self, vocabularies: Sequence[FeatureCounts]) -> None:  # noqa: B027 — fixed numbers stay
        """Number the features of the merged surveys of all shares; replaces `fit`."""

    @abstractmethod
    def grown(self, X: Any, min_count: int) -> "Extractor":
        """An extractor of these features and of those that occur at least `min_count` times in `X`."""

    @abstractmethod
    def transform(self, X: Any) -> FeatureRows:
        """The known features of any sequences."""

    def read(self, X: Any) -> LookedUp:
        """Any sequences with their strings looked up, on the way to their known features."""
        return Extracted(self.transform(X))

    @abstractmethod
    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""

    @abstractmethod
    def keep(self, used: BoolVector) -> "Extractor | None":
        """An extractor of the `used` features only (those on transitions last), renumbered; None if impossible."""

    @abstractmethod
    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The whole extractor as JSON and arrays, for `restore`."""


class NumberedFeatures(Extractor):
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
        self.indexes = [self._new_index()]
        self._spell: Spell = _no_names
        self._reader: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything except cached look-ups, which copies and other processes repeat."""
        return {**self.__dict__, "_reader": None}

    @property
    def index(self) -> FeatureIndex:
        """The index of the features of positions."""
        return self.indexes[0]

    @property
    def alphabets(self) -> list[Alphabet]:
        """The alphabet of each group of features; none if they are hashed."""
        return [index for index in self.indexes if isinstance(index, Alphabet)]

    @property
    def n_features(self) -> int:
        """How many features describe a position."""
        return self.index.size

    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""
        if isinstance(self.index, HashedIndex):
            return [f"hashed {row}" for row in range(self.index.size)]
        return self._spell(self.alphabets)

    def fit(self, X: Any) -> FeatureRows:
        """Number the features of the training sequences by falling count, then by key."""
        self.indexes = [self._new_index() for _ in self.indexes]
        features, self._spell = self.extend(X)
        sizes = [alphabet.size for alphabet in self.alphabets]
        if not sizes:
            return features
        orders = self.settle([counts_of(*each) for each in zip(features.groups, sizes, strict=True)])
        numbers = map(new_numbers, orders, sizes)
        return FeatureRows(features.indptr, *map(renumber, features.groups, numbers))

    def settle(self, counts: Sequence[LongVector]) -> list[LongVector]:
        """Number the features by their counts, and forget rare ones; return their numbers so far, in the new order."""
        found, pairs = self.alphabets, zip(self.alphabets, counts, strict=True)
        orders = [by_count(alphabet.keys(), each, self.min_count) for alphabet, each in pairs]
        if found:
            self.indexes = [alphabet.reordered(order) for alphabet, order in zip(found, orders, strict=True)]
        return orders

    def draft(self, X: Any) -> Draft:
        """The features of a piece of the training data, numbered by alphabets of its own; none if they are hashed."""
        fresh = copy(self)
        fresh.indexes = [self._new_index() for _ in self.indexes]
        features, spell = fresh.extend(X)
        return Draft(features, fresh.alphabets, spell)

    def adopt(self, vocabularies: Sequence[FeatureCounts]) -> None:
        """Number the features of a survey of all data; replaces `fit`."""
        if vocabularies:
            self._take(vocabularies, [by_count(each.keys, each.counts, self.min_count) for each in vocabularies])

    def grown(self, X: Any, min_count: int) -> Self:
        """An extractor of these features and of those that occur at least `min_count` times in `X`."""
        more = [each.numbered(min_count) for each in self.survey(X)]
        if all((alphabet.lookup(each.keys) >= 0).all() for alphabet, each in zip(self.alphabets, more, strict=True)):
            return self
        grown, names, known = copy(self), self.names(), list[FeatureCounts]()
        for alphabet, each in zip(self.alphabets, more, strict=True):
            here, names = names[: alphabet.size], names[alphabet.size :]
            none = np.zeros(alphabet.size, dtype=np.int64)
            known.append(FeatureCounts(alphabet.keys(), none, here).merged(each))
        grown._take(known, [np.arange(len(each.keys)) for each in known])
        return grown

    def keep(self, used: BoolVector) -> Self | None:
        """An extractor of the `used` features only, those on transitions last; None if they are hashed."""
        if self.hash_bits is not None:
            return None
        kept, found = copy(self), self.alphabets
        parts = np.split(used, np.cumsum([alphabet.size for alphabet in found[:-1]], dtype=np.int64))
        kept.indexes = [each.reordered(np.flatnonzero(part)) for each, part in zip(found, parts, strict=True)]
        return kept

    def _take(self, vocabularies: Sequence[FeatureCounts], orders: Sequence[LongVector]) -> None:
        """Take these features, numbered in these orders; their names are listed when somebody asks for them."""
        alphabets = [Alphabet(each.keys[order]) for each, order in zip(vocabularies, orders, strict=True)]
        self.indexes = [*alphabets]
        self._spell = ListedNames(alphabets, partial(_all_names, vocabularies, orders))

    def _new_index(self) -> FeatureIndex:
        return Alphabet() if self.hash_bits is None else HashedIndex(self.hash_bits)

    def _describe_index(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        arrays: dict[str, AnyArray] = {}
        if isinstance(self.index, Alphabet):
            arrays = {"keys": self.index.keys(), **packed_strings("names", self.names())}
        return {"hash_bits": self.hash_bits}, arrays

    def _restore_index(self, stored: Stored, *more: Alphabet) -> None:
        """Restore index and names; the names include those of features in `more` alphabets."""
        if self.hash_bits is None:
            alphabets = [stored_alphabet(stored, "keys"), *more]
            self.indexes = [*alphabets]
            self._spell = ListedNames(alphabets, stored.strings("names", sum(each.size for each in alphabets)))


@dataclass(frozen=True)
class ListedNames:
    """Names features from a list: the names of the features of some alphabets, end to end."""

    alphabets: Sequence[Alphabet]
    names: Callable[[], list[str]]

    def __call__(self, wanted: Sequence[Alphabet]) -> list[str]:
        """The names of the features of the `wanted` alphabets, in their order."""
        names, found, before = self.names(), list[str](), 0
        for known, each in zip(self.alphabets, wanted, strict=True):
            found += [
                names[before + k] for k in (known.lookup(each.keys()) if each is not known else range(known.size))
            ]
            before += known.size
        return found


def _no_names(alphabets: Sequence[Alphabet]) -> list[str]:
    return []


def _all_names(vocabularies: Sequence[FeatureCounts], orders: Sequence[LongVector]) -> list[str]:
    return [each.names[k] for each, order in zip(vocabularies, orders, strict=True) for k in order.tolist()]


def counts_of(rows: Rows, size: int) -> LongVector:
    """How often each of `size` features occurs."""
    counts = np.zeros(size, dtype=np.int64)
    _count(rows.indices, counts)
    return counts


@kernel
def _count(numbers: IntVector, counts: LongVector) -> None:
    """Add the occurrences of each number; unlike `np.bincount`, without a copy of all numbers in 64 bits."""
    for k in range(len(numbers)):
        counts[np.uint64(numbers[np.uint64(k)])] += 1


def new_numbers(order: LongVector, size: int) -> IntVector:
    """The new number of each of `size` features, given the old numbers in the new order; −1 for features left out."""
    numbers = np.full(size, -1, dtype=np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return numbers


def renumber(rows: Rows, numbers: IntVector) -> Rows:
    """The rows with every index replaced by its new number, without entries whose number is −1."""
    if (numbers >= 0).all():
        indices = rows.indices
        for first in range(0, len(indices), SHARE):  # in place: there may not be memory for a copy
            part = indices[first : first + SHARE]
            part[:] = numbers[part]
        return rows
    indices = numbers[rows.indices]
    return binary(with_entries(rows._replace(indices=indices), indices >= 0))


HASH_BITS = {"hash_bits": optional(whole(at_least=1, at_most=MOST_BITS))}
"""The header field of `NumberedFeatures`."""


def stored_alphabet(stored: Stored, name: str) -> Alphabet:
    """The alphabet that a model file holds."""
    keys = stored.vector(name, np.uint64)
    alphabet = Alphabet(keys)
    if alphabet.size != len(keys):
        raise stored.place.damaged(f"the keys in its tensor {name} are not distinct")
    return alphabet


def select_names(names: Sequence[str], used: BoolVector) -> list[str]:
    """The names of the used features."""
    return [name for name, wanted in zip(names, used.tolist(), strict=True) if wanted]
