"""Checks of users' input: numbers, weights of examples, and the protocols that a structure offers."""

from math import isfinite
from typing import Any

import numpy as np

from widemargin._types import FloatVector
from widemargin.errors import DataError, UnsupportedError


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
