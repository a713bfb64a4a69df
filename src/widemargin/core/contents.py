"""Digests of contents: whether two values, such as the examples of two runs, hold the same numbers and texts.

`contents_digest` returns None for values that it cannot compare. `listed_digest` always returns a digest, even of
examples of users' own structures: of an unknown object it digests the public attributes and the code of the class.
Attributes that begin with an underscore are left out, since they may be caches.

An object of this library that holds more than its contents, such as the paths of its files, has a method `contents`
that returns what to digest.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from hashlib import blake2b
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import AnyArray, LongVector
from widemargin.core.sparse import Rows
from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.core.problem import Trainable

BLOCKS, EXAMPLES = "number of blocks", "digest of the examples"
CHANGED = "features, gold outputs or costs have changed"
STRICTLY, DEEPEST = 8, 32  # levels of nested objects; deeper ones may refer to themselves


def contents_digest(*values: Any) -> str | None:
    """A digest of everything in the values; None if they hold more than numbers, texts and collections of these.

    >>> contents_digest([1, "a"]) == contents_digest([1, "a"]), contents_digest([1, "a"]) == contents_digest([1, "b"])
    (True, False)
    """
    walk = _Walk(_parts, STRICTLY)
    digest = walk.digest(values)
    return digest.hex() if walk.complete else None


def digests_of_parts(about: Sequence[Any], *parts: tuple[LongVector, AnyArray]) -> list[bytes]:
    """A digest of each example: of `about`, which all share, and of its stretch of each array in `parts`.

    Each of the `parts` is a pair: where the stretches begin, with the end of the last one, and the array.

    >>> one, two, three = digests_of_parts(["all"], (np.array([0, 2, 4, 5]), np.array([1, 2, 1, 2, 3])))
    >>> one == two, one == three
    (True, False)
    """
    known = contents_digest(*about)
    if known is None:
        raise TypeError("only numbers, texts and what is made of them have a digest")
    shared = blake2b(known.encode(), digest_size=16)
    digests = [shared.copy() for _ in range(len(parts[0][0]) - 1)]
    for places, array in parts:
        kind, ends = f"{array.dtype};".encode(), (places * array.itemsize).tolist()
        data = np.ascontiguousarray(array).view(np.uint8).data
        for digest, begin, end in zip(digests, ends[:-1], ends[1:], strict=True):
            digest.update(kind + (end - begin).to_bytes(8, "little"))
            digest.update(data[begin:end])
    return [digest.digest() for digest in digests]


def parts_of_rows(
    places: LongVector, rows: Rows, numbers: LongVector | None = None
) -> list[tuple[LongVector, AnyArray]]:
    """Rows as parts for `digests_of_parts`; example i begins at row places[i], and column j is called numbers[j].

    The parts do not depend on the order of a row's entries, nor on whether values of 1 are left out (`sparse.binary`).
    """
    counts, within = np.diff(rows.indptr), rows.indptr[places]
    columns = rows.indices.astype(np.int64) if numbers is None else numbers[rows.indices]
    width = 2 + int(columns.max(initial=-1))
    keys = np.repeat(np.arange(len(counts)), counts) * width + columns + 1
    if not len(rows.values) or np.all(rows.values == 1.0):  # sorting is much quicker than finding the order
        return [(places, counts), (within, np.sort(keys) % width), (within, np.ones(len(keys)))]
    order = np.argsort(keys, kind="stable")
    return [(places, counts), (within, columns[order] + 1), (within, rows.values[order])]


def old_numbers(labels: LongVector) -> LongVector:
    """The new numbers of labels that had an old number, in the order of the old ones; `labels` holds these, or −1.

    >>> old_numbers(np.array([1, -1, 0])).tolist()
    [2, 0]
    """
    kept = np.flatnonzero(labels >= 0)
    return kept[np.argsort(labels[kept])]


def listed_digest(*values: Any) -> str:
    """A digest of everything in the values that can be listed.

    >>> listed_digest({1, 2}) == listed_digest({2, 1}), listed_digest(lambda: 1) == listed_digest(lambda: 2)
    (True, False)
    """
    return _Walk(_listable_parts, DEEPEST).digest(values).hex()


class _Walk:
    """A walk through values and their parts; `complete` is False once a value's contents could not be listed."""

    def __init__(self, parts_of: Callable[[Any], Sequence[Any] | None], deepest: int) -> None:
        self.parts_of, self.deepest, self.complete = parts_of, deepest, True
        self._known: dict[int, tuple[Any, bytes]] = {}  # many examples may refer to the same large object

    def digest(self, value: Any, depth: int = 0) -> bytes:
        """The digest of a value."""
        if id(value) not in self._known:
            self._known[id(value)] = value, b"above"  # the digest of a part that refers back to this value
            self._known[id(value)] = value, self._digest(value, depth)
        return self._known[id(value)][1]

    def _digest(self, value: Any, depth: int) -> bytes:
        found = blake2b(type(value).__name__.encode(), digest_size=16)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            found.update(f"{value.dtype.str if value.dtype.names is None else value.dtype} {value.shape};".encode())
            found.update(np.ascontiguousarray(value).ravel().view(np.uint8).data)
        elif (spelt := _quick_bytes(value)) is not None:
            found.update(spelt)
        else:
            parts = None if depth == self.deepest else self.parts_of(value)
            self.complete &= parts is not None
            for part in parts or ():
                found.update(self.digest(part, depth + 1))
        return found.digest()


def _quick_bytes(value: Any) -> bytes | None:
    """Numbers, texts, and lists and dicts of them as bytes, quicker than part by part; None for other values."""
    if isinstance(value, bytes | complex | np.generic):
        return repr(value).encode()
    if value is None or isinstance(value, bool | int | float | str | list | tuple | dict):
        with suppress(TypeError, ValueError, RecursionError):
            return json.dumps(value).encode()
    return None


def _parts(value: Any) -> Sequence[Any] | None:
    """The parts of a value; None if they are unknown, as for functions and users' own objects."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, type) or not _is_ours(type(value)):
        return None
    if isinstance(said := getattr(type(value), "contents", None), FunctionType):
        return [said(value)]
    if is_dataclass(value):
        return [getattr(value, each.name) for each in fields(value)]
    return _attributes(value, vars(value)) if hasattr(value, "__dict__") else None


def _listable_parts(value: Any) -> Sequence[Any] | None:
    """The parts of a value that can be listed; None if none can."""
    parts = _parts(value)
    if parts is None and not _is_ours(type(value)):
        parts = next((of(value) for kind, of in LISTED.items() if isinstance(value, kind)), None)
        if parts is None:
            with suppress(TypeError, ValueError, RuntimeError):  # of a tensor on another device, say
                parts = [np.asarray(value)] if hasattr(value, "__array__") else None
        if parts is None:
            own = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
            own |= getattr(value, "__dict__", {})
            public = {name: held for name, held in own.items() if not name.startswith("_")}
            parts = [type(value), *_attributes(value, public)]
    return parts


def _methods(kind: type) -> list[Any]:
    """The name and the functions of a class; only the name for classes of Python and of this library."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if _is_ours(kind) or kind.__module__.partition(".")[0] in sys.stdlib_module_names:
        return [name]
    functions = {key: each for key, each in vars(kind).items() if isinstance(each, FunctionType)}
    return [name, functions, *(base for base in kind.__bases__ if base is not object)]


LISTED: dict[Any, Callable[[Any], Sequence[Any]]] = {
    (set, frozenset): lambda value: sorted(map(listed_digest, value)),
    np.ndarray: lambda value: value.ravel().tolist(),  # of objects
    CodeType: lambda value: [value.co_code, value.co_names, value.co_consts],
    FunctionType: lambda value: [
        value.__code__,
        value.__defaults__,
        list(map(_cell_value, value.__closure__ or ())),
    ],
    type: _methods,
    ModuleType: lambda value: [value.__name__],
}
"""How values of these types are listed."""


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def _slots(kind: type) -> list[str]:
    return [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]


def _attributes(value: Any, own: Mapping[str, Any]) -> list[Any]:
    """The names and values of attributes, without cached properties."""
    names = [name for name in sorted(own) if not isinstance(getattr(type(value), name, None), cached_property)]
    return [part for name in names for part in (name, own[name])]


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("widemargin.")


def facts(problem: "Trainable") -> dict[str, Any]:
    """The properties of a problem that its cuts depend on, except the contents of the examples."""
    return {
        BLOCKS: problem.n_blocks,
        "number of weights": problem.n_weights,
        "loss": problem.loss,
        "objective": repr(problem.objective),
        "digest of the sample weights": blake2b(problem.example_weight.tobytes(), digest_size=8).hexdigest(),
    }


class Origin:
    """The problem that cuts were found for: they bound the slacks of its examples, but not those of other examples.

    Cuts hold for every C and penalty. The same examples compiled anew are recognised by their contents. Examples are
    digested only when their cuts are used with other examples, which is rare. Pickles hold only the digest.
    """

    def __init__(self, problem: "Trainable") -> None:
        self._facts = facts(problem)
        self._examples: Any = problem.examples
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """The digest of the examples."""
        if self._digest is None:
            self._digest = listed_digest(self._examples)
        return self._digest

    def check(self, problem: "Trainable") -> None:
        """Raise unless `problem` has the same blocks with the same cuts."""
        for (name, old), new in zip(self._facts.items(), facts(problem).values(), strict=True):
            if new != old:
                other = f"another problem: its {name} is {old}, not {new}"
                if name == BLOCKS:
                    other = f"{old} blocks, but there are {new} now"
                raise WidemarginError(f"the cuts to start from are of {other}")
        if problem.examples is not self._examples and self.digest != listed_digest(problem.examples):
            raise WidemarginError(f"the cuts to start from are of other examples: {CHANGED} since")

    def __getstate__(self) -> dict[str, Any]:
        """The digest instead of the examples."""
        return {"_facts": self._facts, "_examples": None, "_digest": self.digest}
