"""Classes and sets of labels: as numbers and as indicators, and the costs of wrong labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntMatrix, IntVector
from widemargin.errors import DataError
from widemargin.text.labels import values_by_label


def class_numbers(y: Any, labels: list[Any] | None = None) -> tuple[list[Any], IntVector]:
    """The classes in ascending order, and every example's class number; `labels`, if given, must hold all of them.

    >>> class_numbers(["spam", "ham", "spam"])
    (['ham', 'spam'], array([1, 0, 1], dtype=int32))
    """
    given = np.asarray(y)
    if given.ndim != 1:
        raise DataError(f"y must be one class per example, not an array of the shape {given.shape}")
    if not len(given):
        raise DataError("there is no example to learn from")
    distinct, numbers = np.unique(given, return_inverse=True)
    found = distinct.tolist()
    if labels is None:
        return found, numbers.astype(np.int32)
    return labels, _known(found, labels)[numbers]


def indicators(y: Any, labels: list[Any] | None = None) -> tuple[list[Any], IntMatrix]:
    """The labels, and a row of indicators per example; `labels`, if given, must hold all of them.

    `y` is a matrix of 0 and 1, dense, sparse or as lists, whose labels are then the numbers of its columns; or a list
    with the labels of each example, strings or whole numbers.

    >>> indicators([["b"], [], ["a", "b"]])[1].tolist()
    [[0, 1], [0, 0], [1, 1]]
    """
    matrix = _matrix(y)
    if matrix is None:
        return _listed(y, labels)
    if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
        raise DataError(
            "Only binary classification is supported, label by label: y must be a matrix of 0 and 1 with a row per "
            "example, or a list of lists of labels"
        )
    if labels is not None and len(labels) != matrix.shape[1]:
        raise DataError(f"y has {matrix.shape[1]} columns, but there are {len(labels)} labels")
    return list(range(matrix.shape[1])) if labels is None else labels, matrix.astype(np.int32)


def listed_labels(y: Any) -> list[Any]:
    """The labels in lists of labels; none for a matrix, whose columns are those that are known."""
    return [] if _matrix(y) is not None else indicators(y)[0]


def _matrix(y: Any) -> AnyArray | None:
    """`y` as an array if it is one, or a list of lists that looks like one; None for lists of labels."""
    if hasattr(y, "toarray"):
        y = y.toarray()
    if isinstance(y, np.ndarray):
        return y if y.dtype != object else None
    rows = list(y)
    alike = len({len(row) for row in rows if isinstance(row, list | tuple | np.ndarray)}) == 1
    if not alike or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return None
    return np.array(rows) if all(value in (0, 1) for row in rows for value in row) else None


def _listed(y: Any, labels: list[Any] | None) -> tuple[list[Any], IntMatrix]:
    for i, each in enumerate(y):
        if isinstance(each, str | bytes) or not hasattr(each, "__iter__"):
            raise DataError(f"y[{i}] must be a list of labels, not {each!r:.60}")
    sets = [list(each) for each in y]
    flat = [label for each in sets for label in each]
    if {type(label) for label in flat} not in ({str}, {int}):
        raise DataError("labels must be all strings or all whole numbers, and there must be at least one")
    found = sorted(set(flat))
    chosen = found if labels is None else labels
    numbers = dict(zip(found, _known(found, chosen).tolist(), strict=True))
    matrix = np.zeros((len(sets), len(chosen)), dtype=np.int32)
    for row, each in zip(matrix, sets, strict=True):
        row[[numbers[label] for label in each]] = 1
    return chosen, matrix


def set_costs(costs: Mapping[Any, float] | None, labels: list[Any]) -> FloatVector | None:
    """The cost of getting each label wrong; None for plain counting.

    >>> set_costs({"b": 2.0}, ["a", "b"])
    array([1., 2.])
    """
    if costs is None:
        return None
    if not isinstance(costs, Mapping):
        raise DataError(f"costs must be a dict of {{label: cost}}, not {costs!r:.60}")
    return values_by_label(costs, labels, "costs")


def _known(found: list[Any], labels: list[Any]) -> IntVector:
    """The numbers that the `found` labels have in `labels`."""
    number = {label: k for k, label in enumerate(labels)}
    for label in found:
        if label not in number:
            raise DataError(f"the label {label!r} is not among the classes, which the first call fixed")
    return np.array([number[label] for label in found], dtype=np.int32)
