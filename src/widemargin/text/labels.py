"""Labels of sequences: checked against their inputs and numbered, and the costs of confusing them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, IntVector
from widemargin.errors import DataError
from widemargin.text.columns import Column, Columns, split
from widemargin.text.inputs import lengths


def encode_labels(X: Any, y: Any, labels: list[Any] | None = None) -> tuple[list[Any], IntVector]:
    """The labels, and every position's label number, sequences end to end.

    If `labels` are given, they must hold every label of `y`. Otherwise the labels are the distinct ones, the most
    frequent first: the weights that training touches together then share cache lines.
    """
    values: list[Any]
    if isinstance(y, Column):
        if len(y.codes) != sum(lengths(X)):
            raise DataError(f"there are {sum(lengths(X))} positions but {len(y.codes)} labels")
        values, codes = y.values, y.codes
    else:
        flat = [
            _label(label, i, t) for i, sequence in enumerate(as_sequences(X, y)) for t, label in enumerate(sequence)
        ]
        kinds = {type(label) for label in flat}
        if len(kinds) > 1:
            raise DataError(f"labels must be all strings or all whole numbers; there are {_names(kinds)}")
        code: dict[Any, int] = {}
        codes = np.array([code.setdefault(label, len(code)) for label in flat], dtype=np.int32)
        values = list(code)
    if labels is not None:
        known = {label: k for k, label in enumerate(labels)}
        present = np.unique(codes).tolist()
        for label in (values[c] for c in present):
            if label not in known:
                raise DataError(f"the label {label!r} is not among the classes, which the first call fixed")
        number = np.zeros(len(values), dtype=np.int32)
        number[present] = [known[values[c]] for c in present]
        return labels, number[codes]
    if not len(codes):
        raise DataError("there is no labelled position to learn from")
    counts = np.bincount(codes, minlength=len(values))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda c: (-counts[c], values[c]))
    number = np.empty(len(values), dtype=np.int32)
    number[order] = np.arange(len(order))
    return [values[c] for c in order], number[codes]


def as_sequences(X: Any, y: Any) -> list[list[Any]]:
    """`y` as one list of labels per sequence of `X`, checked to be of the same lengths."""
    if isinstance(y, Column):
        if not isinstance(X, Columns):
            raise DataError("labels can be given as a column only together with tokens in columns")
        return split(y.strings(), X.indptr)
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of label lists, not {y!r:.60}")
    sizes = lengths(X)
    if len(y) != len(sizes):
        raise DataError(f"X has {len(sizes)} sequences, but y has {len(y)}")
    for i, (sequence, size) in enumerate(zip(y, sizes, strict=True)):
        if isinstance(sequence, str | bytes | Mapping) or not hasattr(sequence, "__len__"):
            raise DataError(f"y[{i}] must be a list of labels, not {sequence!r:.60}")
        if len(sequence) != size:
            raise DataError(f"sequence {i} has {size} positions, but {len(sequence)} labels")
    return [list(sequence) for sequence in y]


def cost_matrix(
    costs: Mapping[Any, float] | None, labels: Sequence[Any], usual: FloatMatrix | None = None
) -> FloatMatrix | None:
    """The matrix of error costs, rows gold and columns predicted; None for plain counting.

    An error that `costs` does not name costs 1, or as much as `usual` says.

    >>> cost_matrix({"b": 3.0, ("a", "c"): 0.5}, ["a", "b", "c"]).tolist()
    [[0.0, 1.0, 0.5], [3.0, 0.0, 3.0], [1.0, 1.0, 0.0]]
    """
    if costs is None:
        return usual
    if not isinstance(costs, Mapping):
        raise DataError(f"costs must be a dict of {{(gold, predicted): cost}} or {{gold: cost}}, not {costs!r:.60}")
    number = {label: i for i, label in enumerate(labels)}
    matrix = 1.0 - np.eye(len(labels)) if usual is None else usual.copy()
    # Whole rows first, so that a pair's own cost is never overwritten by its row's.
    for key, cost in sorted(costs.items(), key=lambda item: isinstance(item[0], tuple)):
        named = key if isinstance(key, tuple) else (key,)
        if not 1 <= len(named) <= 2:
            raise DataError(f"costs[{key!r}] names {len(named)} labels; one or two are wanted, gold and predicted")
        for label in named:
            if label not in number:
                raise DataError(f"costs names the label {label!r}, which the training data do not have")
        if not is_cost(cost) or (len(named) == 2 and named[0] == named[1] and cost != 0):
            raise DataError(f"costs[{key!r}] is {cost!r}; costs are finite, not negative, and 0 for a right label")
        row = number[named[0]]
        columns = [number[named[1]]] if len(named) == 2 else [j for j in range(len(labels)) if j != row]
        matrix[row, columns] = cost
    return matrix


def checked_labels(classes: Any) -> list[Any]:
    """The labels that a user lists, sorted."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if not are_labels(labels):
        raise DataError(f"classes must be distinct labels, all strings or all whole numbers, not {classes!r:.60}")
    return sorted(labels)


def are_labels(labels: Any) -> bool:
    """Whether this is a list of distinct labels, all strings or all whole numbers."""
    kinds = {type(label) for label in labels} if isinstance(labels, list) else set()
    return kinds in ({str}, {int}) and len(set(labels)) == len(labels)


def is_cost(cost: Any) -> bool:
    """Whether this is a finite number that is not negative.

    >>> is_cost(1.5), is_cost(float("nan")), is_cost(10**400)
    (True, False, False)
    """
    value = cost.item() if isinstance(cost, np.integer | np.floating) else cost
    return isinstance(value, int | float) and 0 <= value <= sys.float_info.max


def _label(label: Any, sequence: int, position: int) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise DataError(
            f"sequence {sequence}, position {position}: a label must be a string or a whole number, not {label!r}"
        )
    return label


def _names(kinds: set[type]) -> str:
    return " and ".join(sorted(kind.__name__ for kind in kinds))
