"""Labels that are partly known: None stands for any label, a set, list or tuple for one of its labels.

Scores leave out unknown labels, and any label of a set is right. For scores of spans, a sequence is cut at unknown
tokens, and the runs between them are compared like sequences.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin.errors import DataError
from widemargin.text.spans import spans

Cell: TypeAlias = str | int | frozenset[Any] | None
"""A label, a set of possible labels, or None for an unknown label."""

COLLECTIONS = (frozenset, set, list, tuple)


class Compared(NamedTuple):
    """Gold and predicted labels of the same lengths."""

    gold: list[list[Any]]
    predicted: list[list[Any]]


def checked_cell(label: Any, sequence: int, position: int) -> Cell:
    """A label as users give it, checked; a set of one label is that label."""
    if label is None:
        return None
    if isinstance(label, COLLECTIONS):
        labels = {_label(each, sequence, position) for each in label}
        if not labels:
            raise DataError(f"sequence {sequence}, position {position}: no label is allowed; use None for any label")
        return frozenset(labels) if len(labels) > 1 else labels.pop()
    return _label(label, sequence, position)


def _label(label: Any, sequence: int, position: int) -> str | int:
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise DataError(
            f"sequence {sequence}, position {position}: a label must be a string or a whole number, not {label!r}"
        )
    return label


def labels_in(cell: Cell) -> Iterable[Any]:
    """The labels that a cell names.

    >>> list(labels_in("NN")), list(labels_in(None))
    (['NN'], [])
    """
    return () if cell is None else cell if isinstance(cell, frozenset) else (cell,)


def spell_labels(labels: Iterable[Any]) -> list[Any]:
    """Labels as strings; None stays None, and sets are sets of strings."""
    return [
        label if label is None else frozenset(map(str, label)) if isinstance(label, COLLECTIONS) else str(label)
        for label in labels
    ]


def are_partial(gold: Sequence[Sequence[Any]]) -> bool:
    """Whether any label is unknown or a set."""
    return any(label is None or isinstance(label, COLLECTIONS) for labels in gold for label in labels)


def known_tokens(gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> Compared:
    """The sequences without the tokens whose label is unknown.

    >>> known_tokens([["N", None, {"V", "N"}]], [["N", "N", "V"]])
    Compared(gold=[['N', 'V']], predicted=[['N', 'V']])
    """
    pairs = [
        [(_fitting(g, p), p) for g, p in zip(*both, strict=True) if g is not None]
        for both in zip(gold, predicted, strict=True)
    ]
    return Compared(*([[pair[k] for pair in each] for each in pairs] for k in range(2)))


def known_runs(gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> Compared:
    """The sequences cut at the tokens whose label is unknown.

    >>> known_runs([["N", None, "V", "N"]], [["N", "N", "V", "V"]]).gold
    [['N'], ['V', 'N']]
    """
    runs = Compared([], [])
    for g, p in zip(gold, predicted, strict=True):
        unknown = [t for t, label in enumerate(g) if label is None]
        for begin, end in zip([0, *(t + 1 for t in unknown)], [*unknown, len(g)], strict=True):
            if begin < end or not unknown:
                runs.gold.append(list(map(_fitting, g[begin:end], p[begin:end])))
                runs.predicted.append(list(p[begin:end]))
    return runs


def judged_label(gold: Any, predicted: Any) -> bool | None:
    """Whether a prediction is right; None if that is unknown."""
    return None if gold is None else bool(_fitting(gold, predicted) == predicted)


def judged_spans(gold: Sequence[Any], predicted: Sequence[str]) -> list[bool | None]:
    """Whether each span that the predicted labels mark is right; None if it holds or borders on an unknown token.

    >>> judged_spans(["B", "O", None, "B", "O"], ["B", "O", "B", "I", "O"])
    [True, None]
    """
    right = spans(["O" if g is None else _fitting(g, p) for g, p in zip(gold, predicted, strict=True)])
    return [None if None in gold[max(span.start - 1, 0) : span.end + 1] else span in right for span in spans(predicted)]


def _fitting(gold: Any, predicted: Any) -> Any:
    """The label to compare a prediction with: for a set, the prediction if the set has it, else the first label."""
    if not isinstance(gold, COLLECTIONS):
        return gold
    return predicted if predicted in gold else min(gold)
