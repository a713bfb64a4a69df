"""Items in python-crfsuite's forms, as names and values.

| an item is | its attributes |
| --- | --- |
| a list, set or other collection of strings | each string, with the value 1 |
| a dict with a number or bool | the key, with that value |
| a dict with a string | ``key:string``, with the value 1 |
| a dict with a dict, list or set | ``key:`` before each attribute of the inner one |

Strings may also be bytes. As in CRFsuite, a name ends at its first zero byte.
"""

from collections.abc import Iterator
from math import ldexp
from typing import Any

import numpy as np

from widemargin._types import FloatVector, LongVector


class ItemSequence:
    """The attributes of all items of a sequence, taken apart once for any number of uses.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1.5}, "a": "b"}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.5, 'a:b': 1.0}]
    """

    __slots__ = ("_counts", "_names", "_values")
    _names: list[str]
    _values: list[float]
    _counts: list[int]

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence):
            self._names, self._values, self._counts = pyseq._names, pyseq._values, pyseq._counts
            return
        self._names, self._values, self._counts = [], [], []
        for item in pyseq:
            before = len(self._names)
            for name, value in _entries(item):
                self._names.append(name.partition("\0")[0] if "\0" in name else name)
                self._values.append(value)
            self._counts.append(len(self._names) - before)

    @property
    def entries(self) -> tuple[list[str], FloatVector, LongVector]:
        """A name and a value for each attribute, and the number of attributes of each item."""
        return self._names, np.array(self._values, dtype=np.float64), np.array(self._counts, dtype=np.int64)

    def items(self) -> list[dict[str, float]]:
        """A dict of names and values per item."""
        found, begin = list[dict[str, float]](), 0
        for count in self._counts:
            part = slice(begin, begin + count)
            found.append(
                {_decoded(name): value for name, value in zip(self._names[part], self._values[part], strict=True)}
            )
            begin += count
        return found

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def spelt(name: Any) -> str:
    """A string, or bytes as a string; bytes that are not UTF-8 become lone surrogates."""
    if isinstance(name, str):
        name.encode()  # an error about lone surrogates, which stand for bytes here
        return name
    if isinstance(name, bytes | bytearray):
        return name.decode("utf-8", "surrogateescape")
    raise TypeError(f"expected bytes, {type(name).__name__} found")


def _decoded(name: str) -> str:
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode()


def _entries(item: Any) -> Iterator[tuple[str, float]]:
    len(item)  # items are collections: an iterator would be used up by one call
    if not isinstance(item, dict):
        yield from ((spelt(name), 1.0) for name in item)
        return
    for key, value in item.items():
        name = spelt(key)
        if isinstance(value, dict | list | set):
            yield from ((f"{name}:{inner}", number) for inner, number in _entries(value))
        elif isinstance(value, str | bytes):
            yield f"{name}:{spelt(value)}", 1.0
        else:
            yield name, ldexp(value, 0)  # unlike float(), no strings
