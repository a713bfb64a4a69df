"""Attributes of tokens: what a feature template looks at.

An attribute turns a column of tokens into another column, once per *distinct* token, or marks tokens without one by
the code −1.

| name | value |
| --- | --- |
| ``bias`` | the same for every token |
| ``word`` (or any column's name) | the string as it is |
| ``lower`` | in lower case |
| ``shape`` | lower-case letters, capitals, digits: runs collapsed to ``a``, ``A``, ``0``: *McDonald-24* → ``AaAa-0`` |
| ``prefixN``, ``suffixN`` | first or last N characters of the lower-cased string; all of a shorter one |
| ``lexicon(name)`` | ``B`` or ``I`` where the tokens begin or continue the longest match of an entry of the lexicon |
| ``cluster(name)``, ``cluster(name,n)`` | the token's word cluster, or its first n characters (Brown bit strings) |
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from widemargin._types import IntVector
from widemargin.columns import Column, Columns
from widemargin.errors import WidemarginError

AFFIX = re.compile(r"(prefix|suffix)([1-9]\d*)")
RUNS = re.compile(r"([a-z])+|([A-Z])+|([0-9])+")
ABSENT = -1


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
    return RUNS.sub(lambda run: "a" if run[1] else "A" if run[2] else "0", word)


def _class(character: str) -> str:
    if character.isupper():
        return "A"
    if character.isalpha():
        return "a"
    return "0" if character.isdigit() else character


def affix(kind: str, length: int, word: str) -> str:
    """The first or last `length` characters in lower case; all of them when the word has fewer."""
    lower = word.lower()
    return lower[:length] if kind == "prefix" else lower[-length:]


def attribute_column(columns: Columns, column: str, attribute: str, resources: Resources) -> Column:
    """The column of an attribute's values over the same tokens; code −1 where a token has none."""
    if attribute == "bias":
        return Column(np.zeros(columns.n_tokens, dtype=np.int32), [""])
    if attribute.startswith("lexicon("):
        return _lexicon_matches(columns, column, resources.lexicons[_argument(attribute)[0]])
    return _mapped(columns[column], _function(attribute, resources))


def check_attribute(attribute: str, resources: Resources) -> None:
    """Raise a clear error when the attribute names a lexicon or clusters that were not given."""
    for kind, known in (("lexicon", resources.lexicons), ("cluster", resources.clusters)):
        if attribute.startswith(kind + "("):
            name = _argument(attribute)[0]
            if name not in known:
                raise WidemarginError(f"the template {attribute!r} needs a {kind} named {name!r}; none was given")


def _argument(attribute: str) -> list[str]:
    return [part.strip() for part in attribute[attribute.index("(") + 1 : -1].split(",")]


def _function(attribute: str, resources: Resources) -> Callable[[str], str | None]:
    simple: dict[str, Callable[[str], str | None]] = {"value": str, "lower": str.lower, "shape": shape}
    if attribute in simple:
        return simple[attribute]
    if match := AFFIX.fullmatch(attribute):
        kind, length = match[1], int(match[2])
        return lambda word: affix(kind, length, word)
    name, *bits = _argument(attribute)
    clusters, n = resources.clusters[name], int(bits[0]) if bits else None

    def cluster(word: str) -> str | None:
        found = clusters.get(word) or clusters.get(word.lower())
        return found[:n] if found else None

    return cluster


def _mapped(column: Column, function: Callable[[str], str | None]) -> Column:
    """Apply `function` to every distinct value, and number what comes out."""
    number: dict[str, int] = {}
    codes = np.empty(len(column.values), dtype=np.int32)
    for code, word in enumerate(column.values):
        value = function(word)
        codes[code] = ABSENT if value is None else number.setdefault(value, len(number))
    return Column(codes[column.codes] if len(codes) else column.codes, list(number))


def _lexicon_matches(columns: Columns, column: str, entries: Iterable[str]) -> Column:
    """B and I marks of the longest matches, left to right, in any case; only tokens that open an entry are visited."""
    by_first: dict[str, list[list[str]]] = {}
    for entry in entries:
        words = entry.lower().split()
        if words:
            by_first.setdefault(words[0], []).append(words)
    for candidates in by_first.values():
        candidates.sort(key=len, reverse=True)
    lower = _mapped(columns[column], str.lower)
    opens = np.array([value in by_first for value in lower.values], dtype=bool)
    codes = np.full(columns.n_tokens, ABSENT, dtype=np.int32)
    starts = np.flatnonzero(opens[lower.codes]) if len(opens) else np.empty(0, dtype=np.int64)
    ends = columns.indptr[np.searchsorted(columns.indptr, starts, side="right")]
    free = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if start >= free:
            free = _mark_longest(lower, start, end, by_first, codes)
    return Column(codes, ["B", "I"])


def _mark_longest(
    lower: Column, start: int, end: int, by_first: Mapping[str, list[list[str]]], codes: IntVector
) -> int:
    """Mark the longest entry that begins at `start`, if any; return the first token after it."""
    for words in by_first[lower.values[lower.codes[start]]]:
        stop = start + len(words)
        if stop <= end and [lower.values[code] for code in lower.codes[start:stop]] == words:
            codes[start], codes[start + 1 : stop] = 0, 1
            return stop
    return start
