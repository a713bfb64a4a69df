"""Scores of labelled sequences under the names of ``sklearn_crfsuite.metrics``.

The flat ones are scikit-learn's, over all positions of all sequences end to end.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from widemargin._types import AnyArray
from widemargin.crfsuite.utils import flatten

Labels: TypeAlias = Sequence[Sequence[Any]] | AnyArray


def _flat(metric: str, y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """scikit-learn's metric of this name, over all positions."""
    import sklearn.metrics  # loaded when a score is wanted

    return getattr(sklearn.metrics, metric)(flatten(y_true), flatten(y_pred), **options)


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of positions whose label is right.

    >>> flat_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    return float(_flat("accuracy_score", y_true, y_pred))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Precision over positions; `options` are those of ``sklearn.metrics.precision_score``."""
    return _flat("precision_score", y_true, y_pred, **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Recall over positions; `options` are those of ``sklearn.metrics.recall_score``."""
    return _flat("recall_score", y_true, y_pred, **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """F1 over positions; `options` are those of ``sklearn.metrics.f1_score``.

    >>> float(flat_f1_score([["A", "B"], ["A"]], [["A", "A"], ["A"]], average="weighted", labels=["A"]))
    0.8
    """
    return _flat("f1_score", y_true, y_pred, **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    """F-beta over positions; `options` are those of ``sklearn.metrics.fbeta_score``."""
    return _flat("fbeta_score", y_true, y_pred, beta=beta, **options)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Any] | None = None, **options: Any
) -> Any:
    """Precision, recall and F1 of every label; `options` are those of ``sklearn.metrics.classification_report``."""
    return _flat("classification_report", y_true, y_pred, labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all right; 0 if there are no sequences.

    sklearn-crfsuite 0.5 counts positions instead where all sequences have the same length.

    >>> sequence_accuracy_score([["A", "B"], ["A", "A"]], [["A", "A"], ["A", "A"]])
    0.5
    """
    if not len(y_true):
        return 0.0
    return sum(list(true) == list(pred) for true, pred in zip(y_true, y_pred, strict=True)) / len(y_true)
