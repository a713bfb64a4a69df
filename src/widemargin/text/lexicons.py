"""A lexicon compiled for spans: which spans are entries, and how similar each span is to the most similar entry.

The similarity of a span and an entry is that of their sets of words A and B, in lower case: |A ∩ B| / |A ∪ B|
(Jaccard). Spans grow one word at a time, and only entries that share a word with them are visited.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, KeyVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.text.alphabet import Alphabet
from widemargin.text.hashing import combine, hash_strings


class Words(NamedTuple):
    """The tokens of sequences that begin at `indptr`: a key per token, and a number that equal tokens share."""

    indptr: LongVector
    keys: KeyVector
    numbers: IntVector

    @classmethod
    def of(cls, indptr: LongVector, keys: KeyVector) -> "Words":
        """Number tokens by their keys."""
        return cls(indptr, keys, Alphabet().intern(keys))


class Lexicon:
    """The entries of a lexicon as keys, and as sets of words.

    >>> lexicon = Lexicon(["New York", "York"])
    >>> from widemargin.text.hashing import roll_keys
    >>> words = Words.of(np.array([0, 3]), hash_strings(["in", "new", "york"]))
    >>> [(starts[lexicon.holds(runs)].tolist()) for starts, runs in roll_keys(words.keys, words.indptr, 2)]
    [[2], [1]]
    >>> lexicon.similarities(words, np.array([0, 3, 5, 6])).tolist()
    [0.0, 0.3333333333333333, 0.6666666666666666, 0.5, 1.0, 1.0]
    """

    def __init__(self, entries: Sequence[str]) -> None:
        lists = [words for words in (entry.lower().split() for entry in entries) if words]
        indptr = boundaries(map(len, lists))
        keys = hash_strings([word for words in lists for word in words])
        self._entries = Alphabet(_whole(keys, indptr))
        self._vocabulary = Alphabet()
        numbers = self._vocabulary.intern(keys)
        # Each word of each entry once, ordered by word.
        pairs = np.unique(np.stack([numbers, np.repeat(np.arange(len(lists)), np.diff(indptr))], axis=1), axis=0)
        self._holders = pairs[:, 1].astype(np.int32)
        self._begins = boundaries(np.bincount(pairs[:, 0], minlength=self._vocabulary.size))
        self._sizes = np.bincount(self._holders, minlength=len(lists)).astype(np.int32)

    def holds(self, runs: KeyVector) -> BoolVector:
        """Whether each run of words, given by its key, is an entry."""
        return self._entries.lookup(runs) >= 0

    def similarities(self, words: Words, spans: LongVector) -> FloatVector:
        """The similarity of every span to the most similar entry; spans[t] … spans[t + 1] − 1 begin at token t."""
        best = np.zeros(spans[-1])
        if len(self._sizes):
            known = self._vocabulary.lookup(words.keys)
            _similarities(spans, words.numbers, known, self._begins, self._holders, self._sizes, best)
        return best


@kernel
def _similarities(
    spans: LongVector,
    numbers: IntVector,
    known: IntVector,
    begins: LongVector,
    holders: IntVector,
    sizes: IntVector,
    best: FloatVector,
) -> None:
    """`known[t]` is token t's number in the lexicon, or −1; word k is in entries holders[begins[k]:begins[k + 1]]."""
    shared, touched = np.zeros(len(sizes), dtype=np.int32), np.empty(len(sizes), dtype=np.int32)
    previous = _previous(numbers)
    largest = 0
    for size in sizes:
        largest = max(largest, size)
    for t in range(len(spans) - 1):
        n_touched = n_words = 0
        for d in range(spans[t + 1] - spans[t]):
            if previous[t + d] < t:  # spans are compared as sets: a word that the span has already does not count
                n_words += 1
                if known[t + d] >= 0:
                    for k in range(begins[known[t + d]], begins[known[t + d] + 1]):
                        if shared[holders[k]] == 0:
                            touched[n_touched] = holders[k]
                            n_touched += 1
                        shared[holders[k]] += 1
            if n_words > 2 * largest:
                break  # all longer spans have a similarity below one half
            for k in range(n_touched):
                entry = touched[k]
                best[spans[t] + d] = max(best[spans[t] + d], shared[entry] / (n_words + sizes[entry] - shared[entry]))
        # Only the entries met are cleared: a span meets few of a large lexicon.
        for k in range(n_touched):
            shared[touched[k]] = 0


@kernel
def _previous(numbers: IntVector) -> LongVector:
    """Where each token's word last occurred before it, −1 if nowhere."""
    most = -1
    for number in numbers:
        most = max(most, number)
    last, previous = np.full(most + 1, -1, dtype=np.int64), np.empty(len(numbers), dtype=np.int64)
    for t in range(len(numbers)):
        previous[t] = last[numbers[t]]
        last[numbers[t]] = t
    return previous


def _whole(keys: KeyVector, indptr: LongVector) -> KeyVector:
    """A key for the whole of each sequence, as `roll_keys` makes it; no sequence is empty."""
    begins, lengths = indptr[:-1], np.diff(indptr)
    whole = keys[begins]
    # The longest sequences first, so that those with another word to add are always in front.
    order = np.argsort(-lengths, kind="stable")
    n_longer = len(order) - np.searchsorted(lengths[order][::-1], np.arange(1, lengths.max(initial=0)), side="right")
    for length, n in enumerate(n_longer.tolist(), 1):
        growing = order[:n]
        whole[growing] = combine(whole[growing], keys[begins[growing] + length])
    return whole
