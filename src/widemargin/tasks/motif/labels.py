"""Classes of sequences: which label is the positive one, and what stands for background."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import BoolVector
from widemargin.errors import DataError

POSITIVE = ("1", "+", "+1", "1.0", "true", "yes", "positive", "pos")
"""How people spell the positive label."""


def plain_labels(y: Any) -> list[Any]:
    """Labels as plain Python values; None is a background sequence."""
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of labels, not {type(y).__name__}")
    return [each.item() if isinstance(each, np.generic) else each for each in y]


def two_labels(y: Sequence[Any], positive: Any = None) -> list[Any]:
    """The negative and the positive label of the data, in this order.

    >>> two_labels(["+", "-", None]), two_labels([0, 1]), two_labels(["ars", None])
    (['-', '+'], [0, 1], ['background', 'ars'])
    """
    known = sorted({each for each in y if each is not None}, key=lambda label: (str(type(label)), label))
    if positive is not None:
        known.sort(key=lambda label: str(label) == str(positive))
        if not known or str(known[-1]) != str(positive):
            raise DataError(f"no sequence has the positive label {positive!r}")
    elif len(known) == 2:
        known.sort(key=lambda label: str(label).lower() in POSITIVE)
    if len(known) == 1 and any(each is None for each in y):
        known = ["background" if isinstance(known[0], str) else type(known[0])(-1), *known]
    if len(known) != 2:
        labels = ", ".join(map(repr, known[:5])) or "none"
        raise DataError(f"motifs tell two classes apart, positive and negative; the labels are {labels}")
    return known


def is_positive(y: Sequence[Any], labels: Sequence[Any]) -> BoolVector:
    """Which labels are the positive one; background is negative."""
    # Compared as strings, because labels read from a file are strings.
    negative, positive = map(str, labels)
    for i, label in enumerate(y):
        if label is not None and str(label) not in (negative, positive):
            raise DataError(f"sequence {i + 1} has the label {label!r}, which is neither {negative!r} nor {positive!r}")
    return np.array([label is not None and str(label) == positive for label in y], dtype=bool)
