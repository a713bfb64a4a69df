"""The strongest weights of a model, in named groups."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows

Strongest = dict[str, list[dict[str, Any]]]
"""The largest weights under `positive` and the smallest under `negative`, each as a dict of `name` and `weight`."""


class Part(NamedTuple):
    """A group of weights under a heading: its strongest weights, or those of every label."""

    heading: str
    strongest: Strongest | None = None
    by_label: dict[str, Strongest] | None = None


class Learnt(dict[str, Any]):
    """The strongest weights of a model, group by group, for people and programs.

    Each group is a dict: the largest weights under ``"for"``, the smallest under ``"against"``, as pairs (name,
    weight). A group whose weights differ by label has such a dict for each label.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        tables, found = list[str](), dict[str, Any]()
        for key, part in parts.items():
            if part.strongest is not None:
                found[key] = _sides(part.strongest)
                tables += _table(part.heading, found[key])
                continue
            found[key] = {label: _sides(each) for label, each in (part.by_label or {}).items()}
            for label, sides in found[key].items():
                tables += _table(f"{part.heading} {label}", sides)
        super().__init__(found)
        self._text = "\n".join(tables) or "no weights with names"

    def __repr__(self) -> str:
        return self._text


def of_label(parts: Mapping[str, Part], label: str) -> dict[str, Part]:
    """The weights of one label."""
    return {
        key: part if part.by_label is None else Part(f"{part.heading} {label}", part.by_label[label])
        for key, part in parts.items()
    }


def _sides(found: Strongest) -> dict[str, list[tuple[str, float]]]:
    signs = {"for": found["positive"], "against": found["negative"]}
    return {side: [(each["name"], each["weight"]) for each in weights] for side, weights in signs.items()}


def _table(heading: str, sides: Mapping[str, Sequence[tuple[str, float]]]) -> list[str]:
    """A heading, and below it weights "for" on the left and "against" on the right; empty without weights."""
    left, right = ([f"{weight:+.3f} {name}" for name, weight in sides[side]] for side in ("for", "against"))
    n, width = max(len(left), len(right)), max(map(len, left), default=0)
    rows = zip(left + [""] * (n - len(left)), right + [""] * (n - len(right)), strict=True)
    return [heading, *(f"  {one:{width}}  {other}".rstrip() for one, other in rows)] if n else []


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

    Each of the `rows` holds the weights of all labels for one name, or for several consecutive names, always as many.
    """
    what, label = _places(rows, len(names), len(labels))
    found = {}
    for j in chosen:
        at = np.flatnonzero(label == j)
        found[labels[j]] = strongest(rows.values[at], top, [names[k] for k in what[at].tolist()].__getitem__)
    return found


def by_name_and_label(rows: Rows, names: Sequence[str], labels: Sequence[Any]) -> dict[tuple[str, Any], float]:
    """All weights other than zero; `rows` are as in `strongest_by_label`."""
    what, label = (each.tolist() for each in _places(rows, len(names), len(labels)))
    found = zip(what, label, rows.values.tolist(), strict=True)
    return {(names[k], labels[j]): weight for k, j, weight in found if weight != 0.0}


def _places(rows: Rows, n_names: int, n_labels: int) -> tuple[LongVector, IntVector]:
    """The number of the name and of the label of each weight."""
    n_rows = len(rows.indptr) - 1
    row: LongVector = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(rows.indptr))
    return row * (n_names // max(n_rows, 1)) + rows.indices // n_labels, rows.indices % n_labels


def label_parts(weights: Any, labels: Sequence[str], chosen: Sequence[int], top: int) -> dict[str, Part]:
    """The groups of a sequence model that depend on labels only: transitions, first and last label."""
    one = np.isin(np.arange(len(labels)), chosen)
    return {
        "transitions": Part(
            "Transitions",
            strongest(mask_weights(weights.transition, pairs_with(chosen, len(labels))), top, pair_name(labels)),
        ),
        "begin": Part("First label", strongest(mask_weights(weights.begin, one), top, labels.__getitem__)),
        "end": Part("Last label", strongest(mask_weights(weights.end, one), top, labels.__getitem__)),
    }


def pair_name(labels: Sequence[str], between: str = "→") -> Callable[[int], str]:
    """A function from the number of a pair of labels to its name."""
    return lambda number: f"{labels[number // len(labels)]} {between} {labels[number % len(labels)]}"


def pairs_with(chosen: Sequence[int], n: int) -> BoolMatrix:
    """Which pairs of n labels include a chosen one."""
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True
    return concerned


def mask_weights(weights: FloatMatrix, mask: BoolMatrix | BoolVector) -> FloatVector:
    """The weights as one vector, 0 where the mask is not set."""
    return (weights if mask.all() else np.where(mask, weights, 0.0)).ravel()


def _largest(weights: FloatVector, top: int) -> list[int]:
    """The positions of the `top` largest positive weights, largest first."""
    found = np.argpartition(-weights, top)[:top] if len(weights) > top else np.arange(len(weights))
    found = found[np.lexsort((found, -weights[found]))]
    return [int(at) for at in found if weights[at] > 0]
