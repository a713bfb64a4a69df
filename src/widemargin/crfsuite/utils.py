"""What ``sklearn_crfsuite.utils`` offers."""

from collections.abc import Iterable
from itertools import chain
from typing import Any


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """The items of all sequences end to end.

    >>> flatten([["A", "B"], ["C"]])
    ['A', 'B', 'C']
    """
    return list(chain.from_iterable(y))
