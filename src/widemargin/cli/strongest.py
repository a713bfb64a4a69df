"""The strongest weights of every part of a model, with the names of what they are for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.predictors.base import Predictor, TokenPredictor
from widemargin.predictors.bracketer import Bracketer
from widemargin.predictors.classifier import LinearModel
from widemargin.predictors.segmenter import SegmentPredictor
from widemargin.predictors.tagger import Tagger
from widemargin.sparse import Rows

Strongest = dict[str, list[dict[str, Any]]]
"""The largest weights under `positive` and the smallest under `negative`, each with the name of what it is for."""

ROLES = ("first token", "any token", "last token")


def strongest_weights(model: Predictor, labels: list[str], chosen: list[int], top: int) -> dict[str, Any]:
    """The strongest weights of every part, as far as they concern the chosen labels."""
    if isinstance(model, LinearModel):
        return _linear(model, labels, chosen, top)
    if isinstance(model, Bracketer):
        return _halves(model, chosen, top)
    if model.structure == "tree":
        return {}
    assert isinstance(model, TokenPredictor)
    weights, n = model.weights, len(labels)
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True
    one = np.isin(np.arange(n), chosen)

    def pair(number: int) -> str:
        return f"{labels[number // n]} → {labels[number % n]}"

    parts = _of_segments(model, labels, chosen, top) if isinstance(model, SegmentPredictor) else {}
    if isinstance(model, Tagger):
        names, n_features = model.extractor.names(), model.extractor.n_features
        parts = {
            "features": _by_label(weights.thin_emission, names[:n_features], labels, chosen, top),
            "features_on_transitions": strongest(
                _masked(weights.conditional, concerned),
                top,
                lambda number: f"{names[n_features + number // n**2]}: {pair(number % n**2)}",
            ),
        }
    return parts | {
        "transitions": strongest(_masked(weights.transition, concerned), top, pair),
        "begin": strongest(_masked(weights.begin, one), top, labels.__getitem__),
        "end": strongest(_masked(weights.end, one), top, labels.__getitem__),
    }


def _linear(model: LinearModel, labels: list[str], chosen: list[int], top: int) -> dict[str, Any]:
    names, bias = model.extractor.names(), np.zeros(len(labels))
    bias[chosen] = model.bias[chosen]
    parts: dict[str, Any] = {
        "features": {labels[j]: strongest(model.W[:, j], top, names.__getitem__) for j in chosen},
        "bias": strongest(bias, top, labels.__getitem__),
    }
    if len(model.pairs):
        first, second = (each.tolist() for each in np.triu_indices(len(labels), 1))
        at = [k for k, both in enumerate(zip(first, second, strict=True)) if not set(chosen).isdisjoint(both)]
        parts["pairs"] = strongest(
            model.pairs[at], top, lambda number: f"{labels[first[at[number]]]} and {labels[second[at[number]]]}"
        )
    return parts


def _halves(model: Bracketer, chosen: list[int], top: int) -> dict[str, Any]:
    """The labels of halves within constituents; features have no names where there is no sentence."""
    names = model.bracketing.names
    n = len(names)
    concerned = np.zeros((n, n), dtype=bool)
    concerned[chosen, :] = concerned[:, chosen] = True
    if len(chosen) == len(model.labels):
        concerned[:] = True
    rules = model.w[len(model.w) - 2 * n**2 :].reshape(2, n, n)
    return {
        part: strongest(_masked(side, concerned), top, lambda number: f"{names[number // n]} in {names[number % n]}")
        for part, side in zip(("left_halves", "right_halves"), rules, strict=True)
    }


def _of_segments(model: SegmentPredictor, labels: list[str], chosen: list[int], top: int) -> dict[str, Any]:
    weights, names, n_features = model.weights, model.extractor.names(), model.extractor.n_features
    in_roles = [f"{name} ({role})" for name in names[:n_features] for role in ROLES]
    return {
        "features": _by_label(weights.thin_roles, in_roles, labels, chosen, top),
        "segment_features": _by_label(weights.thin_segment, names[n_features:], labels, chosen, top),
        "lengths": {
            labels[j]: strongest(weights.length[:, j], top, lambda d: f"{d + 1} token{'s' * (d > 0)}") for j in chosen
        },
    }


def _by_label(rows: Rows, names: Sequence[str], labels: list[str], chosen: list[int], top: int) -> dict[str, Strongest]:
    """For every chosen label the strongest of the weights in `rows`: each holds the labels of a name or of several."""
    n_rows, n = len(rows.indptr) - 1, len(labels)
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    what = row * (len(names) // max(n_rows, 1)) + rows.indices // n
    found = {}
    for j in chosen:
        at = np.flatnonzero(rows.indices % n == j)
        found[labels[j]] = strongest(rows.values[at], top, [names[k] for k in what[at].tolist()].__getitem__)
    return found


def strongest(weights: FloatVector, top: int, name: Callable[[int], str]) -> Strongest:
    """The `top` largest and smallest of these weights."""
    return {
        sign: [{"name": name(at), "weight": float(weights[at])} for at in _largest(factor * weights, top)]
        for sign, factor in (("positive", 1.0), ("negative", -1.0))
    }


def _masked(weights: FloatMatrix, mask: Any) -> FloatVector:
    return (weights if mask.all() else np.where(mask, weights, 0.0)).ravel()


def _largest(weights: FloatVector, top: int) -> list[int]:
    """Where the largest weights are, largest first, of those above zero."""
    found = np.argpartition(-weights, top)[:top] if len(weights) > top else np.arange(len(weights))
    found = found[np.lexsort((found, -weights[found]))]
    return [int(at) for at in found if weights[at] > 0]
