"""Tests whether a way to compile kernels works with the installed Numba, by a few kernels like the library's own.

They call each other with numbers of several widths, take NamedTuples, return new arrays and raise errors; then they are
read from their cache. Their results are compared with those of plain Python.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

Make = Callable[[Callable[..., Any], Path | None], Any]


class _Pair(NamedTuple):
    first: Any
    second: Any


def _part(values: Any, begin: int) -> Any:
    return values[begin:]


def _doubled(values: Any) -> Any:
    out = np.empty(len(values))
    for k in range(len(values)):
        out[k] = 2.0 * values[k]
    return out


def _checked(values: Any, at: int) -> Any:
    if at >= len(values):
        raise IndexError("there is no such value")
    return values[at]


def _sum(pair: Any, places: Any) -> Any:
    total = 0.0
    for place in places:
        total += _checked(pair.first, place) - _checked(_doubled(_part(pair.second, 1)), 0)
    return total


def _both(pair: Any, places: Any) -> Any:
    return _Pair(_doubled(_part(pair.first, 1)), pair.second), _sum(pair, places)


def _world(make: Make, directory: Path | None, *, anew: str = "") -> dict[str, Any]:
    """The functions above, made so that they call each other; the one to make `anew` is not looked for in the cache."""
    world = dict(globals())
    for each in (_part, _doubled, _checked, _sum, _both):
        name = each.__name__
        world[name] = make(FunctionType(each.__code__, world, name), None if name == anew else directory)
    return world


def _answers(world: dict[str, Any]) -> list[Any]:
    """The results of the functions, and whether they have released all references to their arguments."""
    pair, places = _Pair(np.arange(4.0), np.arange(4.0)), np.arange(3, dtype=np.int32)
    before, answers = list(map(sys.getrefcount, pair)), []
    for _ in range(3):
        (new, same), total = world["_both"](pair, places)
        answers += [total, new.tolist(), same.tolist(), world["_sum"](pair, places)]
        del new, same
    answers.append(list(map(sys.getrefcount, pair)) == before)
    try:
        world["_sum"](pair, places + np.int32(2))
    except IndexError as error:
        answers.append(str(error))
    return answers


def failure(make: Make, directory: Path | None) -> str:
    """Why kernels that `make` compiles, with a cache in a folder like `directory`, cannot be trusted; "" if they can.

    Kernels from the cache are called from Python, and by a newly compiled kernel.
    """
    try:
        with TemporaryDirectory(dir=directory) as name:
            folder = None if directory is None else Path(name)
            compiled, again = _world(make, folder), _world(make, folder, anew="_both")
            right = _answers(globals())
            if _answers(compiled) != right or _answers(again) != right:
                return "kernels answer otherwise than in Python"
            if folder is not None and not again["_sum"].stats.cache_hits:
                return "kernels are not found where they were kept"
            return ""
    except Exception as error:  # whatever may go wrong with another Numba
        return f"{type(error).__name__}: {error}"
