"""From 64-bit feature keys to row numbers of the weight matrix: an alphabet that grows while training, or a fixed hash.

Key 0 stands for "no feature here" and always maps to −1.
"""

from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntVector, KeyVector, LongVector
from widemargin.errors import WidemarginError

MOST_BITS = 30
_NO_SLOTS: KeyVector = np.empty(0, dtype=np.uint64)
_NO_NUMBERS: IntVector = np.empty(0, dtype=np.int32)


class FeatureIndex(Protocol):
    """Maps keys to the numbers 0, 1, …, `size` − 1, and keys without a number to −1."""

    @property
    def size(self) -> int:
        """How many rows the weight matrix needs."""

    @property
    def table(self) -> tuple[KeyVector, IntVector, int]:
        """The arguments with which kernels call `number_of`."""

    def intern(self, keys: KeyVector) -> IntVector:
        """The number of every key; new keys get the next numbers."""

    def lookup(self, keys: KeyVector) -> IntVector:
        """The number of every key, −1 for unknown ones."""


@kernel
def _place(slots: KeyVector, key: np.uint64) -> int:
    """The slot of `key` in the open-addressing table `slots`, or the empty slot where it belongs."""
    mask = len(slots) - 1
    place = int(key >> np.uint64(20)) & mask
    while slots[place] != 0 and slots[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def number_of(key: np.uint64, slots: KeyVector, numbers: IntVector, size: int) -> int:
    """The number of one key, −1 if it has none; the other arguments are the `table` of an index."""
    if len(slots) == 0:
        return int(key & np.uint64(size - 1))
    place = _place(slots, key)
    return numbers[place] if slots[place] != 0 else -1


@kernel
def _find(keys: KeyVector, slots: KeyVector, numbers: IntVector, size: int, grow: bool) -> tuple[IntVector, int]:
    out = np.empty(len(keys), dtype=np.int32)
    for k in range(len(keys)):
        out[k] = -1
        if keys[k] == 0:
            continue
        place = _place(slots, keys[k])
        if slots[place] == 0 and grow:
            slots[place] = keys[k]
            numbers[place] = size
            size += 1
        if slots[place] != 0:
            out[k] = numbers[place]
    return out, size


class Alphabet:
    """Distinct keys numbered in order of appearance, in a table with open addressing; `by_count` orders them."""

    def __init__(self, keys: KeyVector | None = None) -> None:
        self.size = 0
        self._slots, self._numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
        self._reserve(0)
        if keys is not None:
            self.intern(keys)

    def intern(self, keys: KeyVector) -> IntVector:
        """The number of every key; new keys get the next numbers.

        >>> Alphabet().intern(np.array([7, 0, 9, 7], dtype=np.uint64)).tolist()
        [0, -1, 1, 0]
        """
        self._reserve(len(keys))
        out, self.size = _find(keys, self._slots, self._numbers, self.size, True)
        return out

    def lookup(self, keys: KeyVector) -> IntVector:
        """The number of every key, −1 for unknown ones."""
        out, _ = _find(keys, self._slots, self._numbers, self.size, False)
        return out

    @property
    def table(self) -> tuple[KeyVector, IntVector, int]:
        """The arguments with which kernels call `number_of`."""
        return self._slots, self._numbers, self.size

    def keys(self) -> KeyVector:
        """All keys, in the order of their numbers."""
        out = np.empty(self.size, dtype=np.uint64)
        taken = self._slots != 0
        out[self._numbers[taken]] = self._slots[taken]
        return out

    def reordered(self, order: LongVector) -> "Alphabet":
        """An alphabet of the keys with these numbers, in this order.

        >>> Alphabet(np.array([7, 9], dtype=np.uint64)).reordered(np.array([1, 0])).keys().tolist()
        [9, 7]
        """
        if len(order) < self.size:
            return Alphabet(self.keys()[order])
        found, numbers = copy(self), np.empty(self.size, dtype=np.int32)
        numbers[order] = np.arange(self.size, dtype=np.int32)
        found._numbers = numbers[self._numbers] if self.size else self._numbers  # keys stay in their slots
        return found

    def _reserve(self, more: int) -> None:
        """Keep the table at most two thirds full after `more` new keys."""
        if 3 * (self.size + more) // 2 < len(self._slots):
            return
        known = self.keys()
        room = 1 << (3 * (self.size + more) // 2 + 16).bit_length()
        self._slots, self._numbers = np.zeros(room, dtype=np.uint64), np.zeros(room, dtype=np.int32)
        _, self.size = _find(known, self._slots, self._numbers, 0, True)


def by_count(keys: KeyVector, counts: LongVector, min_count: int = 1) -> LongVector:
    """The features that occur at least `min_count` times, in the order of their numbers: by falling count, then by key.

    The order depends only on the content of the data, not on their order or their pieces. Frequent features are
    neighbours in memory.

    >>> by_count(np.array([9, 5, 7], dtype=np.uint64), np.array([1, 1, 4])).tolist()
    [2, 1, 0]
    """
    frequent = np.flatnonzero(counts >= min_count)
    order = frequent[np.argsort(keys[frequent])]  # in two steps: `lexsort` takes twice as long
    return order[np.argsort(-counts[order], kind="stable")]


class HashedIndex:
    """A fixed table of 2^bits rows that features share at random, without an alphabet, and without names."""

    def __init__(self, bits: int) -> None:
        if not isinstance(bits, int | np.integer) or not 1 <= bits <= MOST_BITS:
            raise WidemarginError(f"hash_bits must be a whole number from 1 to {MOST_BITS}, not {bits!r}")
        self.bits = int(bits)
        self.size = 1 << self.bits

    @property
    def table(self) -> tuple[KeyVector, IntVector, int]:
        """The arguments of `number_of`; there are no slots, because numbers are bits of keys."""
        return _NO_SLOTS, _NO_NUMBERS, self.size

    def intern(self, keys: KeyVector) -> IntVector:
        """The row of every key; nothing is stored."""
        return self.lookup(keys)

    def lookup(self, keys: KeyVector) -> IntVector:
        """The low bits of every key."""
        rows = (keys & np.uint64(self.size - 1)).astype(np.int32)
        rows[keys == 0] = -1
        return rows


class FeatureCounts(NamedTuple):
    """Keys of features, how often each occurs, and their names."""

    keys: KeyVector
    counts: LongVector
    names: list[str]

    def merged(self, other: "FeatureCounts") -> "FeatureCounts":
        """These features, then those that only `other` has.

        >>> one = FeatureCounts(np.array([7, 9], dtype=np.uint64), np.array([1, 2]), ["a", "b"])
        >>> two = FeatureCounts(np.array([9, 5], dtype=np.uint64), np.array([4, 1]), ["b", "c"])
        >>> one.merged(two).counts.tolist(), one.merged(two).names
        ([1, 6, 1], ['a', 'b', 'c'])
        """
        alphabet = Alphabet(self.keys)
        numbers = alphabet.intern(other.keys)
        counts = np.zeros(alphabet.size, dtype=np.int64)
        counts[: len(self.keys)] = self.counts
        counts[numbers] += other.counts
        new = np.flatnonzero(numbers >= len(self.keys)).tolist()
        return FeatureCounts(alphabet.keys(), counts, [*self.names, *(other.names[k] for k in new)])

    def numbered(self, min_count: int) -> "FeatureCounts":
        """The features with at least `min_count` occurrences, in the order of their numbers."""
        order = by_count(self.keys, self.counts, min_count)
        return FeatureCounts(self.keys[order], self.counts[order], [self.names[k] for k in order.tolist()])
