"""Models whose outputs have probabilities, p(y) ∝ exp(β⟨w, φ(x, y)⟩), and what follows from them.

Training with ``likelihood`` makes these probabilities fit the data at β = 1. ``softmax-margin`` does so, too, but for
the errors that it adds to the scores. After any other training the scale of the scores is arbitrary, and so would
probabilities be: they are refused until a calibration has found β (`tasks.calibration`).

An output of *minimum risk* has the least expected error under p. The best output is most likely as a whole, but each of
its parts may be in few of the other likely outputs.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from widemargin._types import FloatMatrix
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError
from widemargin.tasks.base import Model
from widemargin.tasks.parameters import PRESETS

W = TypeVar("W")

SMOOTH = ("likelihood", "softmax-margin")
LEAST = 0.01
"""Below this probability, parts are left out of lists."""


class Probable(Model):
    """A model that can give the probabilities of the parts of its outputs."""

    @abstractmethod
    def predict_proba(self, X: Any, n_threads: int = 1) -> Any:
        """The probabilities of labels or heads, one array per input."""

    @abstractmethod
    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> Any:
        """The outputs with the least expected error."""

    @abstractmethod
    def expected_counts(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """How many parts have each of the `labels` on average: a row per input."""

    @abstractmethod
    def likely(self, X: Any, n_threads: int = 1) -> list[dict[str, Any]]:
        """One dict per input, as JSON can hold it: its parts with probabilities of `LEAST` or more."""

    @property
    def beta(self) -> float:
        """The scale of scores at which probabilities fit, by calibration or by training; an error if by neither."""
        self.check_probable()
        known = None if self.calibration is None else self.calibration.beta
        return 1.0 if known is None else known

    def check_probable(self) -> None:
        """Raise unless the model was trained or calibrated to have probabilities."""
        objective, calibration = objective_of(self.summary), self.calibration
        if objective not in SMOOTH and (calibration is None or calibration.beta is None):
            raise UnsupportedError(
                f"the model was trained with the objective {objective}, which gives scores, not probabilities; "
                "calibrate the model on labelled data that it was not trained on, if it offers that, or train with "
                "likelihood (or the solver crf)"
            )


def tempered(weights: W, beta: float) -> W:
    """Weights times β: an array, or a named tuple of arrays and sparse rows."""
    if beta == 1.0:
        return weights
    found: Any = weights
    if not hasattr(found, "_make"):
        return beta * found
    return found._make(
        part._replace(values=beta * part.values) if isinstance(part, Rows) else beta * part for part in found
    )


def above_least(labels: Sequence[Any], row: Sequence[float]) -> dict[str, float]:
    """The probabilities of labels that are not below `LEAST`, the highest first."""
    found = [(str(label), p) for label, p in zip(labels, row, strict=True) if p >= LEAST]
    return dict(sorted(found, key=lambda each: -each[1]))


def objective_of(summary: Mapping[str, Any]) -> str:
    """The name of the objective that a model was trained with, as far as its summary tells."""
    if "objective" in summary:
        return str(summary["objective"])
    given = summary.get("parameters", {})
    name = str(given.get("solver")).partition("(")[0]
    return given.get("objective") or (PRESETS[name].objective if name in PRESETS else "margin")
