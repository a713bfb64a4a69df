"""Limits on the memory and the time that a single example may take.

An example that would exceed them is refused with an error, before the memory is taken or the time is spent. The limits
are for one decoding of one example; a training run decodes each example many times.
"""

import numpy as np

from widemargin._types import FloatVector
from widemargin.errors import UnsupportedError

MOST_BYTES = 10**9
MOST_SECONDS = 10.0


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
