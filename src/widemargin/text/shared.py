"""Counts of features, merged pair by pair over the shares of a corpus."""

from typing import NamedTuple

import numpy as np

from widemargin._types import KeyVector, LongVector
from widemargin.text.alphabet import Alphabet, by_count


class Vocabulary(NamedTuple):
    """Keys of features, how often each occurs, and their names."""

    keys: KeyVector
    counts: LongVector
    names: list[str]

    def merged(self, other: "Vocabulary") -> "Vocabulary":
        """These features, then those that only `other` has.

        >>> one = Vocabulary(np.array([7, 9], dtype=np.uint64), np.array([1, 2]), ["a", "b"])
        >>> two = Vocabulary(np.array([9, 5], dtype=np.uint64), np.array([4, 1]), ["b", "c"])
        >>> one.merged(two).counts.tolist(), one.merged(two).names
        ([1, 6, 1], ['a', 'b', 'c'])
        """
        alphabet = Alphabet(self.keys)
        numbers = alphabet.intern(other.keys)
        counts = np.zeros(alphabet.size, dtype=np.int64)
        counts[: len(self.keys)] = self.counts
        counts[numbers] += other.counts
        new = np.flatnonzero(numbers >= len(self.keys)).tolist()
        return Vocabulary(alphabet.keys(), counts, [*self.names, *(other.names[k] for k in new)])

    def numbered(self, min_count: int) -> "Vocabulary":
        """The features with at least `min_count` occurrences, in the order of their numbers."""
        order = by_count(self.keys, self.counts, min_count)
        return Vocabulary(self.keys[order], self.counts[order], [self.names[k] for k in order.tolist()])
