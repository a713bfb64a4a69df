"""Sequences as arrays: the number of each letter, and of its context in a Markov model.

The context of a letter is the letter itself with the `order` letters before it. A letter outside the alphabet, such as
N in DNA, has no number and belongs to no context. The first `order` letters of a sequence have no context. Letters and
contexts without a number have no features.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._types import BoolVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.decoders.windows import Coded, group_numbers
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.motif.examples import MotifExamples
from widemargin.text.sequences import Sequences

ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
"""The alphabets with names."""

COMPLEMENTS = {"ACGT": "TGCA", "ACGU": "UGCA"}
MOST_LETTERS, MOST_CONTEXTS = 100, 1 << 24


def letters_of(alphabet: str) -> str:
    """The letters of an alphabet, given by its name or as the letters themselves.

    >>> letters_of("dna"), letters_of("HP")
    ('ACGT', 'HP')
    """
    letters = ALPHABETS.get(alphabet.lower(), alphabet) if isinstance(alphabet, str) else ""
    if not 2 <= len(letters) <= MOST_LETTERS or len(set(letters)) < len(letters) or not letters.isprintable():
        names = ", ".join(map(repr, ALPHABETS))
        raise WidemarginError(f"the alphabet must be {names} or 2 to {MOST_LETTERS} distinct letters: {alphabet!r:.60}")
    return letters


def complement_of(letters: str) -> LongVector:
    """The number of every letter's complement; the last entry is for unknown letters, which stay unknown."""
    if sorted(letters) not in (sorted(known) for known in COMPLEMENTS):
        raise WidemarginError(f"only DNA and RNA have two strands; the letters are {letters!r:.60}")
    known = next(each for each in COMPLEMENTS if sorted(each) == sorted(letters))
    other = dict(zip(known, COMPLEMENTS[known], strict=True))
    return np.array([*(letters.index(other[letter]) for letter in letters), len(letters)], dtype=np.int64)


def n_contexts(n_letters: int, order: int) -> int:
    """The number of contexts; raises an error if there are too many."""
    if not (isinstance(order, int) and order >= 0):
        raise WidemarginError(f"order must be a whole number of at least 0, not {order!r}")
    count = n_letters ** (order + 1) if order < 64 else MOST_CONTEXTS + 1
    if count > MOST_CONTEXTS:
        raise WidemarginError(
            f"a background of order {order} over {n_letters} letters has more than {MOST_CONTEXTS:,} weights; lower "
            "the order"
        )
    return count


def code(texts: Sequence[str], letters: str, order: int) -> Coded:
    """Sequences as numbers; small letters count as capitals unless the alphabet has small letters."""
    n = len(letters)
    numbers = np.full(256, n, dtype=np.int8)
    if not any(letter.islower() for letter in letters):
        numbers[[ord(letter.lower()) for letter in letters if letter.isascii()]] = [
            k for k, letter in enumerate(letters) if letter.isascii()
        ]
    joined = "".join(texts)
    if letters.isascii():
        raw = np.frombuffer(joined.encode("ascii", "replace"), dtype=np.uint8)
        numbers[[ord(letter) for letter in letters]] = np.arange(n)
        codes = numbers[raw]
    else:
        known = {letter: k for k, letter in enumerate(letters)}
        codes = np.array([known.get(letter, n) for letter in joined], dtype=np.int8)
    indptr = boundaries(map(len, texts))
    count = n_contexts(n, order)
    contexts = np.zeros(len(codes), dtype=np.int64)
    whole = np.ones(len(codes), dtype=bool)
    for back in range(order, -1, -1):
        shifted = np.concatenate([np.full(min(back, len(codes)), n, dtype=np.int8), codes[: max(len(codes) - back, 0)]])
        contexts = contexts * n + shifted
        whole &= shifted < n
    for back in range(order):
        starts = indptr[:-1] + back
        whole[starts[starts < indptr[1:]]] = False
    return Coded(codes, group_numbers(codes, n), np.where(whole, contexts, count).astype(np.int32), indptr)


def checked_letters(X: Sequences, letters: str) -> Sequences:
    """Return `X`, or raise an error about the first sequence that does not fit the alphabet.

    Other letters and * - . ? count as unknown letters; every sequence needs at least one known letter.
    """
    known = {*letters} if any(letter.islower() for letter in letters) else {*letters, *letters.lower()}
    for i, text in enumerate(X.texts):
        others = {*text} - known
        if others and len(others) == len({*text}):
            raise DataError(f"{X.place(i)} has none of the letters {letters}: {text[:40]!r}; choose another alphabet")
        for each in sorted(others):
            if not (each.isalpha() or each in "*-.?"):
                raise DataError(f"{X.place(i)} has {each!r} in it, which is no letter")
    return X


def reverse_complement(text: str, letters: str) -> str:
    """The letters of the other strand in its own reading order; unknown letters stay.

    >>> reverse_complement("AACN", "ACGT")
    'NGTT'
    """
    other = dict(zip(letters, (letters[k] for k in complement_of(letters)[:-1]), strict=True))
    return "".join(other.get(letter.upper(), letter) for letter in reversed(text))


class Reads(NamedTuple):
    """The settings of a search for a motif: everything but the weights."""

    letters: str
    length: int
    order: int
    both_strands: bool

    @property
    def n_contexts(self) -> int:
        """The number of weights of the background."""
        return n_contexts(len(self.letters), self.order)

    @property
    def complement(self) -> LongVector | None:
        """The number of each letter's complement; None if only one strand is read."""
        return complement_of(self.letters) if self.both_strands else None

    def examples(self, texts: Sequence[str], positive: BoolVector | None = None) -> MotifExamples:
        """Sequences as examples."""
        coded = code(texts, self.letters, self.order)
        return MotifExamples(
            coded, self.length, len(self.letters), self.n_contexts, positive, complement=self.complement
        )
