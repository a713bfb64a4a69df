"""Models whose outputs have probabilities, p(y) ∝ exp⟨w, φ(x, y)⟩, and what follows from them.

Training with ``likelihood`` makes these probabilities fit the data. ``softmax-margin`` does so, too, but for the errors
that it adds to the scores. After any other training the scale of the scores is arbitrary, and so would probabilities
be: they are refused.

An output of *minimum risk* has the least expected error under p. The best output is most likely as a whole, but each of
its parts may be in few of the other likely outputs.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin._types import FloatMatrix
from widemargin.errors import UnsupportedError
from widemargin.tasks.base import Model
from widemargin.tasks.parameters import PRESETS

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

    def check_probable(self) -> None:
        """Raise unless the model was trained to have probabilities."""
        objective = objective_of(self.summary)
        if objective not in SMOOTH:
            raise UnsupportedError(
                f"the model was trained with the objective {objective}, which gives scores, not probabilities; train "
                "with likelihood (or the solver crf), or calibrate the model and ask for confidence, if it offers that"
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
