"""Checks of users' input: declared values, weights of examples, the protocols that a structure offers, and sizes.

A dataclass declares the range of its fields by `number` and `choice`, and calls `check_declared` when it is made.

An example that would take too much memory or time is refused with an error before it does. The limits are for one
decoding of one example; a training run decodes each example many times.
"""

from dataclasses import field, fields
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.header import Range
from widemargin.errors import DataError, UnsupportedError, WidemarginError


def check_offers(who: Any, requires: tuple[type, ...], given: Any, what: str = "examples") -> None:
    """Raise unless `given` offers every protocol in `requires`; the message calls `given` `what`."""
    for protocol in requires:
        if not isinstance(given, protocol):
            raise UnsupportedError(
                f"{type(who).__name__} needs {what} that offer {protocol.__name__}; {type(given).__name__} does not"
            )


def is_number(value: Any) -> bool:
    """Whether this is a finite number; truth values and texts are not."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except (OverflowError, TypeError):  # a whole number larger than any float; a complex one
        return False


def number(
    default: float | None,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    may_be_infinite: bool = False,
) -> Any:
    """A field with a `Range`, of at least 0 unless given a lower limit; whole if its type is int.

    ∞ is allowed only if it `may_be_infinite`.
    """
    limits = Range(0 if least is None and above is None else least, above, most, below)
    return field(default=default, metadata={"range": limits, "may_be_infinite": may_be_infinite})


def choice(default: str | None, *others: str) -> Any:
    """A field that is one of some words, or None if that is its default."""
    return field(default=default, metadata={"choices": (*([] if default is None else [default]), *others)})


def check_declared(of: Any, called: str = "{}") -> None:
    """Raise about the first field of a dataclass with a value that `number` or `choice` does not allow.

    The message calls the field `called`, with its name for {}.
    """
    for each in fields(of):
        if not each.metadata.keys() & {"range", "choices"}:
            continue
        value, name = getattr(of, each.name), called.format(each.name)
        if value is None and (each.default is None or "None" in str(each.type)):
            continue
        if "range" in each.metadata:
            if not (each.metadata["may_be_infinite"] and isinstance(value, float | np.floating) and value == np.inf):
                check_number(name, value, each.metadata["range"], whole="int" in str(each.type))
        elif value not in each.metadata["choices"]:
            raise WidemarginError(f"{name} must be one of {', '.join(each.metadata['choices'])}, not {value!r}")


def check_number(name: str, value: Any, limits: Range, *, whole: bool = False) -> None:
    """Raise unless the value called `name` is a finite number within these limits, and a whole one if it must be."""
    fits = is_number(value) and (not whole or isinstance(value, int | np.integer))
    if not (fits and limits.holds(value)):
        raise WidemarginError(f"{name} must be a {'whole ' * whole}number{limits}, not {value!r}")


def checked_weights(sample_weight: Any, n_examples: int) -> FloatVector:
    """`sample_weight` as a vector of finite, non-negative numbers; all ones if it is None."""
    if sample_weight is None:
        return np.ones(n_examples)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight must be a number per example, not {sample_weight!r:.60}") from None
    if weight.shape != (n_examples,):
        raise DataError(f"sample_weight has the shape {weight.shape}, but there are {n_examples} examples")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise DataError(f"sample_weight[{bad[0]}] is {weight[bad[0]]}; weights must be finite and not negative")
    return weight


MOST_BYTES = 10**9
MOST_SECONDS = 10.0


class MemoryNeed(NamedTuple):
    """What takes memory for each example: the method that knows how many bytes, what they are for, and advice."""

    method: str
    what: str
    instead: str


def check_memory(needed: FloatVector, what: str, instead: str, place: str = "example") -> None:
    """Raise about the first example that needs too much memory.

    Parameters
    ----------
    needed : bytes for each example
    what, instead : what needs the memory, and advice
    place : what examples are called, perhaps after the name of a file

    >>> check_memory(np.array([10.0, 3e9]), "exact slack scaling", "Use another objective.")
    Traceback (most recent call last):
    widemargin.errors.UnsupportedError: example 2 would need 3 GB for exact slack scaling; the limit is 1 GB. Use \
another objective.
    """
    for i in np.flatnonzero(needed > MOST_BYTES)[:1]:
        raise UnsupportedError(
            f"{place} {i + 1} would need {needed[i] / 1e9:.3g} GB for {what}; the limit is {MOST_BYTES / 1e9:.3g} GB. "
            f"{instead}"
        )


def check_time(needed: FloatVector, what: str, instead: str, place: str = "example") -> None:
    """Raise about the first example that takes too much time; like `check_memory`, but `needed` holds seconds."""
    for i in np.flatnonzero(needed > MOST_SECONDS)[:1]:
        raise UnsupportedError(
            f"{place} {i + 1} would take about {needed[i]:,.0f} seconds for {what}; the limit is {MOST_SECONDS:g}. "
            f"{instead}"
        )
