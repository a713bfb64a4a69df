"""Items in python-crfsuite's forms, as names and values, and sequences of them that are collected to train on.

| an item is | its attributes |
| --- | --- |
| a list, set or other collection of strings | each string, with the value 1 |
| a dict with a number or bool | the key, with that value |
| a dict with a string | ``key:string``, with the value 1 |
| a dict with a dict, list or set | ``key:`` before each attribute of the inner one |

Strings may also be bytes. As in CRFsuite, a name ends at its first zero byte.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice, repeat
from math import ldexp
from typing import Any, ClassVar, NamedTuple

import numpy as np

from widemargin._types import BoolVector, ByteVector, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, boundaries, take_rows
from widemargin.text.alphabet import by_count
from widemargin.text.extractor import counts_of, new_numbers, renumber
from widemargin.text.hashing import hash_strings

LARGEST = 2**31 - 1
LISTS, NUMBERS = frozenset({list, tuple}), frozenset({float, bool, int})


class ItemSequence:
    """The attributes of all items of a sequence, taken apart once for any number of uses.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1.5}, "a": "b"}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.5, 'a:b': 1.0}]
    """

    __slots__ = ("_counts", "_names", "_text", "_values")
    _names: list[str]
    _text: bytes
    _values: FloatVector
    _counts: list[int]

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence):
            for part in self.__slots__:
                setattr(self, part, getattr(pyseq, part))
            return
        items = pyseq if type(pyseq) is list else list(pyseq)
        try:
            names, values, counts = _quickly(items)
            text = "\0".join(names).encode()
            usual = text.count(0) < max(len(names), 1)
        except (TypeError, UnicodeEncodeError):
            usual = False
        if not usual:  # rare forms and wrong ones: slower, with the right error messages
            names, values, counts = _thoroughly(items)
            text = "\0".join(names).encode("utf-8", "surrogatepass")
        self._names, self._text, self._counts = names, text, counts
        self._values = np.array(values, dtype=np.float64)

    def pack(self) -> tuple[ByteVector, FloatVector, LongVector]:
        """The bytes of all names, separated by zeros, the value of each name, and the number of names of each item.

        An empty array of values means that all are 1.
        """
        return np.frombuffer(self._text, dtype=np.uint8), self._values, np.array(self._counts, dtype=np.int64)

    def names_and_values(self) -> tuple[list[str], FloatVector, list[int]]:
        """As `pack`, with the names as strings; bytes that are not UTF-8 are lone surrogates in them."""
        return self._names, self._values, self._counts

    def items(self) -> list[dict[str, float]]:
        """A dict of names and values per item."""
        names, values = map(_readable, self._names), iter(self._values.tolist() or repeat(1.0))
        return [dict(zip(islice(names, count), values, strict=False)) for count in self._counts]

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def as_text(name: Any) -> str:
    """A string, or bytes as a string; bytes that are not UTF-8 become lone surrogates."""
    if isinstance(name, str):
        name.encode()  # an error about lone surrogates, which stand for bytes here
        return name
    if isinstance(name, bytes | bytearray):
        return name.decode("utf-8", "surrogateescape")
    raise TypeError(f"expected bytes, {type(name).__name__} found")


def whole(number: Any) -> int:
    """The number as a whole one that fits into 32 bits; fractions are rounded towards 0."""
    if isinstance(number, str | bytes):
        raise TypeError("an integer is required")
    whole = int(number)
    if not -LARGEST - 1 <= whole <= LARGEST:
        raise OverflowError("value too large to convert to int")
    return whole


def _readable(name: str) -> str:
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode()


def _quickly(items: list[Any]) -> tuple[list[str], list[float], list[int]]:
    """Names, values and numbers of names of items in usual forms; other forms raise a TypeError here or on joining."""
    names, values = list[str](), list[float]()
    if set(map(type, items)) <= LISTS:
        return list(chain.from_iterable(items)), values, list(map(len, items))
    counts = list[int]()
    for item in items:
        before = len(names)
        _add(item, names, values)
        counts.append(len(names) - before)
    return names, values, counts


def _add(item: Any, names: list[str], values: list[float]) -> None:
    if type(item) in LISTS:
        names += item
        values += [1.0] * len(item)
        return
    if type(item) is not dict:
        raise TypeError
    add_name, add_value = names.append, values.append
    for key, value in item.items():
        kind = type(value)
        if kind is str:
            add_name(key + ":" + value)
            add_value(1.0)
        elif kind in NUMBERS:
            add_name(key)
            add_value(value)
        elif kind is dict or kind is list:
            inner = list[str]()
            _add(value, inner, values)
            prefix = key + ":"
            names += [prefix + name for name in inner]
        else:
            raise TypeError


def _thoroughly(items: list[Any]) -> tuple[list[str], list[float], list[int]]:
    """As `_quickly`, for all forms."""
    found = [list(_entries(item)) for item in items]
    names = [name.partition("\0")[0] for entries in found for name, _ in entries]
    return names, [value for entries in found for _, value in entries], list(map(len, found))


def _entries(item: Any) -> Iterator[tuple[str, float]]:
    """The attributes of an item in any form."""
    len(item)  # items are collections: an iterator would be used up by one call
    if not isinstance(item, dict):
        yield from ((as_text(name), 1.0) for name in item)
        return
    for key, value in item.items():
        name = as_text(key)
        if isinstance(value, dict | list | set):
            yield from ((f"{name}:{inner}", number) for inner, number in _entries(value))
        elif isinstance(value, str | bytes):
            yield f"{name}:{as_text(value)}", 1.0
        else:
            yield name, ldexp(value, 0)  # unlike float(), no strings


class Chains(NamedTuple):
    """Sequences laid end to end: where each begins, the attributes of all items, and their labels."""

    indptr: LongVector
    features: Rows
    gold: IntVector


class Instances:
    """All sequences with their labels and groups. Values are kept only once one of them is not 1."""

    def __init__(self) -> None:
        # Both number strings in the order of their first appearance.
        self.attributes, self.labels = (defaultdict[str, int](count().__next__) for _ in range(2))
        self._names, self._counts, self._gold = array("i"), array("i"), array("i")
        self._lengths, self._groups = array("i"), array("i")
        self._values: array[float] | None = None

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, xseq: Any, yseq: Any, group: int) -> None:
        """Add a sequence; nothing is added if there is an error in it."""
        items = xseq if type(xseq) is ItemSequence else ItemSequence(xseq)
        names, values, counts = items.names_and_values()
        labels = [as_text(label) for label in _as_list(yseq)]
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

    def parts(self, holdout: int) -> tuple[list[str], Chains, Chains | None]:
        """The attributes, the sequences to train on, and those of the group `holdout`; None if it is negative.

        Attributes are numbered by their counts in the sequences to train on (`text.alphabet.by_count`).
        """
        lengths = np.array(self._lengths, dtype=np.int64)
        values = np.empty(0) if self._values is None else np.array(self._values)
        features = Rows(boundaries(np.array(self._counts)), np.array(self._names, dtype=np.int32), values)
        held: BoolVector = np.array(self._groups, dtype=np.int32) == holdout
        every = Chains(boundaries(lengths), features, np.array(self._gold, dtype=np.int32))
        given = every if holdout < 0 else _those(every, ~held)
        names = list(self.attributes)
        order = by_count(hash_strings(names), counts_of(given.features, len(names)), 0)
        numbers = new_numbers(order, len(names))
        attributes = [names[k] for k in order.tolist()]
        return (
            attributes,
            _renumber(given, numbers),
            None if holdout < 0 else _renumber(_those(every, held), numbers),
        )


def _renumber(chains: Chains, numbers: IntVector) -> Chains:
    return chains._replace(features=renumber(chains.features, numbers))


def _those(chains: Chains, chosen: BoolVector) -> Chains:
    lengths = np.diff(chains.indptr)
    items = np.flatnonzero(np.repeat(chosen, lengths))
    return Chains(boundaries(lengths[chosen]), take_rows(chains.features, items), chains.gold[items])


def _as_list(yseq: Iterable[Any]) -> Iterable[Any]:
    return yseq if isinstance(yseq, str) else list(yseq)


CRFSUITE_VERSION = "0.12.2"

_MESSAGES = (
    "Unknown error occurred",
    "Insufficient memory",
    "Unsupported operation",
    "Incompatible data",
    "Internal error",
    "Overflow",
    "Not implemented",
)


class CRFSuiteError(Exception):
    """CRFsuite failed, with one of its numbers, which begin at −2³¹."""

    _messages: ClassVar[dict[int, str]] = dict(enumerate(_MESSAGES, -(2**31)))

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(self._messages.get(code, "Unexpected error"))
