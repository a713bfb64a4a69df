"""Attributes of tokens, from which feature templates are made.

An attribute gives every *distinct* token of a column a value, or none.

| name | value |
| --- | --- |
| ``bias`` | the same for every token |
| ``word`` (or any column's name) | the string as it is |
| ``lower`` | in lower case |
| ``shape`` | lower-case letters, capitals, digits: runs collapsed to ``a``, ``A``, ``0``: *McDonald-24* → ``AaAa-0`` |
| ``longshape`` | the same, character by character: *McDonald-24* → ``AaAaaaaa-00`` |
| ``prefixN``, ``suffixN`` | first or last N characters of the lower-cased string, or all of a shorter one |
| ``gramN`` | several values: the runs of N characters in the lower-cased string between ``^`` and ``$`` |
| ``lexicon(name)`` | ``B`` or ``I`` where the token begins or continues the longest match of a lexicon entry |
| ``cluster(name)``, ``cluster(name,n)`` | the token's word cluster, or its first n characters (Brown bit strings) |
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.errors import WidemarginError
from widemargin.text.columns import Column, Columns

AFFIX = re.compile(r"(prefix|suffix)([1-9]\d*)")
GRAM = re.compile(r"gram([1-9]\d*)(?:#(\d+))?")
MOST_GRAMS = 30
"""How many runs of characters of one string count: the first ones only."""
WordFunction: TypeAlias = Callable[[Sequence[str], Sequence[str]], list[str | None]]
RUNS = [(re.compile(pattern), sign) for pattern, sign in (("[a-z]+", "a"), ("[A-Z]+", "A"), ("[0-9]+", "0"))]


@dataclass(frozen=True, slots=True)
class Resources:
    """Word lists that templates refer to by name: lexicons (entries of one or more words) and word clusters."""

    lexicons: Mapping[str, Sequence[str]] = field(default_factory=dict)
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def shape(word: str) -> str:
    """The word with runs of lower-case letters, capitals and digits collapsed.

    >>> shape("McDonald-2024"), shape("Århus")
    ('AaAa-0', 'Aa')
    """
    if not word.isascii():
        word = "".join(map(_class, word))
    for run, sign in RUNS:
        word = run.sub(sign, word)
    return word


def longshape(word: str) -> str:
    """The word with every letter and digit replaced by its class.

    >>> longshape("McDonald-24")
    'AaAaaaaa-00'
    """
    return "".join(map(_class, word))


def gram(word: str, n: int, number: int) -> str | None:
    """The run of `n` characters with this number, from 0, among the distinct runs of ``^word$``; None past the last.

    >>> [gram("banana", 3, number) for number in range(6)]
    ['^ba', 'ban', 'ana', 'nan', 'na$', None]
    """
    found = _grams(word, n)
    return found[number] if number < len(found) else None


@lru_cache(maxsize=1 << 16)  # each number of a run asks for the same words again
def _grams(word: str, n: int) -> tuple[str, ...]:
    word = f"^{word}$"
    return tuple(dict.fromkeys(word[begin : begin + n] for begin in range(len(word) - n + 1)))


def shapes(words: Sequence[str]) -> list[str]:
    """The shapes of many words, computed in one go unless a word contains a line end."""
    text = "\n".join(word if word.isascii() else shape(word) for word in words)
    if text.count("\n") != len(words) - 1:
        return [shape(word) for word in words]
    return shape(text).split("\n")


def _class(character: str) -> str:
    if character.isupper():
        return "A"
    if character.isalpha():
        return "a"
    return "0" if character.isdigit() else character


PLAIN: Mapping[str, WordFunction] = {
    "bias": lambda words, lower: [""] * len(words),
    "value": lambda words, lower: [*words],
    "lower": lambda words, lower: [*lower],
    "shape": lambda words, lower: [*shapes(words)],
    "longshape": lambda words, lower: [*map(longshape, words)],
}
"""Attributes that need no argument."""


def function_of(attribute: str, resources: Resources) -> WordFunction:
    """The function from words, as they are and in lower case, to values of an attribute; not for lexicons."""
    if attribute in PLAIN:
        return PLAIN[attribute]
    if match := GRAM.fullmatch(attribute):
        size, number = int(match[1]), int(match[2])
        return lambda words, lower: [gram(word, size, number) for word in lower]
    if match := AFFIX.fullmatch(attribute):
        n = int(match[2])
        cut = slice(None, n) if match[1] == "prefix" else slice(-n, None)
        return lambda words, lower: [word[cut] for word in lower]
    name, *length = _argument(attribute)
    return partial(_clusters, resources.clusters[name], int(length[0]) if length else None)


def _clusters(
    clusters: Mapping[str, str], n_bits: int | None, words: Sequence[str], lower: Sequence[str]
) -> list[str | None]:
    found = (clusters.get(word) or clusters.get(low) for word, low in zip(words, lower, strict=True))
    return [cluster[:n_bits] if cluster else None for cluster in found]


class Attribute(NamedTuple):
    """A value per token, `values[codes[t]]`, or None; computed once per distinct token."""

    codes: IntVector
    values: list[str | None]

    def strings(self) -> list[str | None]:
        """The values of all tokens."""
        values = self.values
        return [values[code] for code in self.codes.tolist()]


class Attributes:
    """The attributes of one set of columns, each computed once."""

    def __init__(self, columns: Columns, resources: Resources) -> None:
        self.columns, self.resources = columns, resources
        self._known: dict[tuple[str, str], Attribute] = {}
        self._lowered: dict[str, Column] = {}

    def of(self, column: str, attribute: str) -> Attribute:
        """The attribute's values over the tokens."""
        name = column, attribute
        if name not in self._known:
            self._known[name] = self._work_out(column, attribute)
        return self._known[name]

    def _work_out(self, column: str, attribute: str) -> Attribute:
        if attribute == "bias":
            return Attribute(np.zeros(self.columns.n_tokens, dtype=np.int32), [""])
        codes, words = self.columns[column].codes, self.columns[column].values
        if is_mark(attribute):
            (name,) = _argument(attribute)
            return _lexicon_matches(self.columns.indptr, self._lower(column), self.resources.lexicons[name])
        lower = words if attribute == "value" else self._lower(column).values
        return Attribute(codes, function_of(attribute, self.resources)(words, lower))

    def _lower(self, column: str) -> Column:
        if column not in self._lowered:
            given = self.columns[column]
            self._lowered[column] = Column(given.codes, [*map(str.lower, given.values)])
        return self._lowered[column]


def is_mark(attribute: str) -> bool:
    """Whether the attribute of a token depends on its neighbours."""
    return attribute.startswith("lexicon(")


def check_attribute(attribute: str, resources: Resources) -> None:
    """Raise a clear error when the attribute names a lexicon or clusters that were not given."""
    for kind, known in (("lexicon", resources.lexicons), ("cluster", resources.clusters)):
        if attribute.startswith(kind + "("):
            name = _argument(attribute)[0]
            if name not in known:
                raise WidemarginError(f"the template {attribute!r} needs a {kind} named {name!r}; none was given")


def _argument(attribute: str) -> list[str]:
    return [part.strip() for part in attribute[attribute.index("(") + 1 : -1].split(",")]


def _lexicon_matches(indptr: LongVector, lower: Column, entries: Iterable[str]) -> Attribute:
    """B and I marks of the longest matches, left to right, ignoring case; visits only tokens that begin an entry."""
    by_first: dict[str, list[list[str]]] = {}
    for entry in entries:
        words = entry.lower().split()
        if words:
            by_first.setdefault(words[0], []).append(words)
    for candidates in by_first.values():
        candidates.sort(key=len, reverse=True)
    opens = np.array([value in by_first for value in lower.values], dtype=bool)
    codes = np.zeros(len(lower.codes), dtype=np.int32)
    starts = np.flatnonzero(opens[lower.codes]) if len(opens) else np.empty(0, dtype=np.int64)
    ends = indptr[np.searchsorted(indptr, starts, side="right")]
    free = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if start >= free:
            free = _mark_longest(lower, start, end, by_first, codes)
    return Attribute(codes, [None, "B", "I"])


def _mark_longest(
    lower: Column, start: int, end: int, by_first: Mapping[str, list[list[str]]], codes: IntVector
) -> int:
    """Mark the longest entry that begins at `start`, if any; return the first token after it."""
    for words in by_first[lower.values[lower.codes[start]]]:
        stop = start + len(words)
        if stop <= end and [lower.values[code] for code in lower.codes[start:stop]] == words:
            codes[start], codes[start + 1 : stop] = 1, 2
            return stop
    return start
