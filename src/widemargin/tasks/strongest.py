"""The strongest weights of each part of a model, by name."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from widemargin.core.sparse import Rows

Strongest = dict[str, list[dict[str, Any]]]
"""The largest weights under `positive` and the smallest under `negative`, each as a dict of `name` and `weight`."""


class Part(NamedTuple):
    """A part of a model under a heading: its strongest weights, or those of every label."""

    heading: str
    strongest: Strongest | None = None
    by_label: dict[str, Strongest] | None = None


def strongest(weights: FloatVector, top: int, name: Callable[[int], str]) -> Strongest:
    """The `top` largest positive and the `top` smallest negative weights."""
    return {
        sign: [{"name": name(at), "weight": float(weights[at])} for at in _largest(factor * weights, top)]
        for sign, factor in (("positive", 1.0), ("negative", -1.0))
    }


def strongest_by_label(
    rows: Rows, names: Sequence[str], labels: Sequence[str], chosen: Sequence[int], top: int
) -> dict[str, Strongest]:
    """The strongest weights of each chosen label.

    Each of the `rows` holds the weights of all labels for one name, or for the same number of names in turn.
    """
    n_rows, n = len(rows.indptr) - 1, len(labels)
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    what = row * (len(names) // max(n_rows, 1)) + rows.indices // n
    found = {}
    for j in chosen:
        at = np.flatnonzero(rows.indices % n == j)
        found[labels[j]] = strongest(rows.values[at], top, [names[k] for k in what[at].tolist()].__getitem__)
    return found


def label_parts(weights: Any, labels: Sequence[str], chosen: Sequence[int], top: int) -> dict[str, Part]:
    """The parts of a sequence model that look only at labels: transitions, first and last label."""
    one = np.isin(np.arange(len(labels)), chosen)
    return {
        "transitions": Part(
            "Transitions",
            strongest(masked(weights.transition, pairs_with(chosen, len(labels))), top, pair_name(labels)),
        ),
        "begin": Part("First label", strongest(masked(weights.begin, one), top, labels.__getitem__)),
        "end": Part("Last label", strongest(masked(weights.end, one), top, labels.__getitem__)),
    }


def pair_name(labels: Sequence[str], between: str = "→") -> Callable[[int], str]:
    """A function from the number of a pair of labels to its name."""
    return lambda number: f"{labels[number // len(labels)]} {between} {labels[number % len(labels)]}"


def pairs_with(chosen: Sequence[int], n: int) -> BoolMatrix:
    """Which pairs of n labels include a chosen one."""
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True
    return concerned


def masked(weights: FloatMatrix, mask: BoolMatrix | BoolVector) -> FloatVector:
    """The weights as one vector, 0 where the mask is not set."""
    return (weights if mask.all() else np.where(mask, weights, 0.0)).ravel()


def _largest(weights: FloatVector, top: int) -> list[int]:
    """The positions of the `top` largest positive weights, largest first."""
    found = np.argpartition(-weights, top)[:top] if len(weights) > top else np.arange(len(weights))
    found = found[np.lexsort((found, -weights[found]))]
    return [int(at) for at in found if weights[at] > 0]
