"""The strongest weights of the parts of a model, with the names of what they are for."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from widemargin.core.sparse import Rows

Strongest = dict[str, list[dict[str, Any]]]
"""The largest weights under `positive` and the smallest under `negative`, each with the name of what it is for."""


class Part(NamedTuple):
    """A part of a model under a heading: its strongest weights, or those of every label."""

    heading: str
    strongest: Strongest | None = None
    by_label: dict[str, Strongest] | None = None


def strongest(weights: FloatVector, top: int, name: Callable[[int], str]) -> Strongest:
    """The `top` largest and smallest of these weights."""
    return {
        sign: [{"name": name(at), "weight": float(weights[at])} for at in _largest(factor * weights, top)]
        for sign, factor in (("positive", 1.0), ("negative", -1.0))
    }


def strongest_by_label(
    rows: Rows, names: Sequence[str], labels: Sequence[str], chosen: Sequence[int], top: int
) -> dict[str, Strongest]:
    """For every chosen label the strongest of the weights in `rows`: each holds the labels of a name or of several."""
    n_rows, n = len(rows.indptr) - 1, len(labels)
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    what = row * (len(names) // max(n_rows, 1)) + rows.indices // n
    found = {}
    for j in chosen:
        at = np.flatnonzero(rows.indices % n == j)
        found[labels[j]] = strongest(rows.values[at], top, [names[k] for k in what[at].tolist()].__getitem__)
    return found


def label_parts(weights: Any, labels: Sequence[str], chosen: Sequence[int], top: int) -> dict[str, Part]:
    """The parts of a sequence model that know labels alone: its transitions, and what begins and ends with."""
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
    """The name of a pair of labels by its number."""
    return lambda number: f"{labels[number // len(labels)]} {between} {labels[number % len(labels)]}"


def pairs_with(chosen: Sequence[int], n: int) -> BoolMatrix:
    """Which pairs of n labels have one of the chosen ones in them."""
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True
    return concerned


def masked(weights: FloatMatrix, mask: BoolMatrix | BoolVector) -> FloatVector:
    """The weights end to end, 0 where the mask is not set."""
    return (weights if mask.all() else np.where(mask, weights, 0.0)).ravel()


def _largest(weights: FloatVector, top: int) -> list[int]:
    """Where the largest weights are, largest first, of those above zero."""
    found = np.argpartition(-weights, top)[:top] if len(weights) > top else np.arange(len(weights))
    found = found[np.lexsort((found, -weights[found]))]
    return [int(at) for at in found if weights[at] > 0]
