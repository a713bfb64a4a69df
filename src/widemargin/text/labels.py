"""Labels of sequences: checked against their inputs and numbered, and the costs of confusing them.

A label may be partly known: None stands for any label, a set for one of its labels (`text.partial`).
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector, IntVector
from widemargin.errors import DataError
from widemargin.text.columns import Column, Columns, split
from widemargin.text.inputs import is_frame, lengths
from widemargin.text.partial import Cell, checked_cell, labels_in


class Encoded(NamedTuple):
    """Labels, and the known label or labels of every position, sequences end to end.

    `known` holds the number of a position's label. Numbers from len(labels) on stand for rows of `sets`, which say of
    each label whether it may be the right one.
    """

    labels: list[Any]
    known: IntVector
    sets: BoolMatrix


def encode_labels(X: Any, y: Any, labels: list[Any] | None = None, known: Sequence[Any] = ()) -> Encoded:
    """The labels, and every position's label number or set of labels.

    If `labels` are given, they must hold every label of `y`. Otherwise the labels are those of `y`, the most frequent
    first, so that weights that training reads together share cache lines. Labels that are already `known` come before
    all others.
    """
    values: list[Cell]
    if isinstance(y, Column):
        if len(y.codes) != sum(lengths(X)):
            raise DataError(f"there are {sum(lengths(X))} positions but {len(y.codes)} labels")
        values, codes = list(map(y.notation.cell, y.values)), y.codes
    else:
        flat = [
            checked_cell(label, i, t)
            for i, sequence in enumerate(as_sequences(X, y))
            for t, label in enumerate(sequence)
        ]
        code: dict[Any, int] = {}
        codes = np.array([code.setdefault(label, len(code)) for label in flat], dtype=np.int32)
        values = list(code)
        check_kinds(label for each in values for label in labels_in(each))
    counts = np.bincount(codes, minlength=len(values)).tolist()
    present = [c for c, count in enumerate(counts) if count]
    if labels is None:
        labels = _labels_of([(values[c], counts[c]) for c in present], known)
    number_of = {label: k for k, label in enumerate(labels)}
    number, sets = np.zeros(len(values), dtype=np.int32), list[list[bool]]()
    for c in present:
        for label in labels_in(values[c]):
            if label not in number_of:
                raise DataError(f"the label {label!r} is not among the classes, which the first call fixed")
        cell = values[c]
        if isinstance(cell, frozenset | None):
            number[c] = len(labels) + len(sets)
            sets.append([cell is None or label in cell for label in labels])
        else:
            number[c] = number_of[cell]
    return Encoded(labels, number[codes], np.array(sets, dtype=bool).reshape(-1, len(labels)))


def _labels_of(counts: Sequence[tuple[Cell, int]], known: Sequence[Any]) -> list[Any]:
    """The known labels, then all others, the most frequent first; labels that occur only in sets come last."""
    found: dict[Any, int] = {}
    for cell, count in counts:
        for label in labels_in(cell):
            found[label] = found.get(label, 0) + (count if isinstance(cell, str | int) else 0)
    if not found and not known:
        raise DataError("there is no labelled position to learn from")
    return join_labels(known, by_frequency(found))


def places_of(found: Sequence[Any], labels: Sequence[Any]) -> IntVector:
    """The numbers that the `found` labels have in `labels`."""
    number = {label: k for k, label in enumerate(labels)}
    for label in found:
        if label not in number:
            raise DataError(f"the label {label!r} is not among the classes, which the first call fixed")
    return np.array([number[label] for label in found], dtype=np.int32)


def join_labels(known: Sequence[Any], more: Iterable[Any]) -> list[Any]:
    """The known labels, followed by the new ones.

    >>> join_labels(["b", "a"], ["a", "c"])
    ['b', 'a', 'c']
    """
    labels = list(dict.fromkeys([*known, *more]))
    check_kinds(labels)
    return labels


def fixed_labels(classes: list[Any] | None, known: Sequence[Any], *, fixed: bool) -> list[Any] | None:
    """All labels that data may have, if the user lists them as `classes` or has `fixed` them before; None for any.

    The classes must include the labels that are already `known`.
    """
    if classes is None:
        return list(known) if fixed else None
    if not set(known) <= set(classes) or (fixed and len(classes) > len(known)):
        raise DataError("the classes are others than those of the first call")
    return join_labels(known, classes)


def by_frequency(counts: Mapping[Any, int]) -> list[Any]:
    """The labels, the most frequent first."""
    return sorted(counts, key=lambda label: (-counts[label], label))


def check_kinds(labels: Iterable[Any]) -> None:
    """Raise unless the labels are all of one type."""
    kinds = set(map(type, labels))
    if len(kinds) > 1:
        raise DataError(f"labels must be all strings or all whole numbers; there are {_names(kinds)}")


def as_sequences(X: Any, y: Any) -> list[list[Any]]:
    """`y` as one list of labels per sequence of `X`, with lengths checked; unknown labels are None."""
    if isinstance(y, Column):
        if not isinstance(X, Columns):
            raise DataError("labels can be given as a column only together with tokens in columns")
        return split(y.cells(), X.indptr)
    if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of label lists, not {y!r:.60}")
    if is_frame(y):
        raise DataError("y is a data frame; widemargin.data.from_frame makes sequences of labels from one")
    sizes = lengths(X)
    labels = all(isinstance(each, str | int | np.generic) for each in y)
    if len(y) != len(sizes) and not (labels and len(y)):
        raise DataError(f"X has {len(sizes)} sequences, but y has {len(y)}")
    for i, sequence in enumerate(y):
        if isinstance(sequence, str | bytes | Mapping) or not hasattr(sequence, "__len__"):
            remedy = "; the labels of a single sequence are given as [y]" if labels else ""
            raise DataError(f"y[{i}] must be a list of labels, not {sequence!r:.60}{remedy}")
    for i, (sequence, size) in enumerate(zip(y, sizes, strict=True)):
        if len(sequence) != size:
            raise DataError(f"sequence {i} has {size} positions, but {len(sequence)} labels")
    return [list(sequence) for sequence in y]


def cost_matrix(
    costs: Mapping[Any, float] | None, labels: Sequence[Any], usual: FloatMatrix | None = None
) -> FloatMatrix | None:
    """The matrix of error costs, rows gold and columns predicted; None for plain counting.

    An error that `costs` does not name costs 1, or its entry of `usual`.

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


def label_weights(
    class_weight: Mapping[Any, float] | str | None, labels: Sequence[Any], counts: AnyArray
) -> FloatVector:
    """The weight of each label; `counts` are the numbers of their occurrences.

    >>> label_weights("balanced", ["a", "b"], np.array([1.0, 3.0])).tolist()
    [2.0, 0.6666666666666666]
    >>> label_weights({"b": 5}, ["a", "b"], np.array([1.0, 3.0])).tolist()
    [1.0, 5.0]
    """
    if class_weight == "balanced":
        return np.where(counts > 0, counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1.0)), 1.0)
    if class_weight is None or isinstance(class_weight, Mapping):
        return values_by_label(class_weight or {}, labels, "class_weight", of="class", values="weights")
    raise DataError(f"class_weight must be a dict, 'balanced' or None, not {class_weight!r:.60}")


def values_by_label(
    given: Mapping[Any, float], labels: Sequence[Any], parameter: str, *, of: str = "label", values: str = "costs"
) -> FloatVector:
    """A number for each label, 1 unless it is given; `parameter`, `of` and `values` are words for errors."""
    found = np.ones(len(labels))
    for label, value in given.items():
        if label not in labels:
            raise DataError(f"{parameter} names the {of} {label!r}, which the training data do not have")
        if not is_cost(value):
            raise DataError(f"{parameter}[{label!r}] is {value!r}; {values} are finite and not negative")
        found[labels.index(label)] = value
    return found


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


def _names(kinds: set[type]) -> str:
    return " and ".join(sorted(kind.__name__ for kind in kinds))
