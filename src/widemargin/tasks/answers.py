"""Models that give more than the best output: alternatives, confidence, outputs under constraints, probabilities.

Probabilities are p(y) ∝ exp(β⟨w, φ(x, y)⟩). Training with ``likelihood`` makes them fit the data at β = 1. So does
``softmax-margin``, apart from the errors that it adds to the scores. After any other training the scale of the scores
is arbitrary, so probabilities are refused until a calibration has found β (`tasks.calibration`). An output of *minimum
risk* has the least expected error under p. The best output is most likely as a whole, but few of the other likely
outputs may share its parts.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.tasks.base import Model
from widemargin.tasks.calibration import Calibrated
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.parameters import PRESETS

W = TypeVar("W")


class Ranked(NamedTuple):
    """One of several outputs for an input, and its score."""

    score: float
    output: Any


def rank_outputs(batch: IntVector, scores: FloatVector, outputs: Sequence[Any], n: int) -> list[list[Ranked]]:
    """The outputs of each of n inputs with their scores; `batch` names the input of each output, best first."""
    ranked: list[list[Ranked]] = [[] for _ in range(n)]
    for i, score, output in zip(batch.tolist(), scores.tolist(), outputs, strict=True):
        ranked[i].append(Ranked(score, output))
    return ranked


class SureSpan(NamedTuple):
    """A span of the tokens `start:end`, its type, and the probability that it is right; None if that is unknown."""

    start: int
    end: int
    type: str
    confidence: float | None


class Alternatives(Model):
    """A model with alternatives."""

    @abstractmethod
    def predict_best(self, X: Any, k: int, n_threads: int = 1) -> list[list[Ranked]]:
        """The `k` best outputs for every input, best first; fewer if fewer exist."""

    @abstractmethod
    def alternatives(self, X: Any, k: int, n_threads: int = 1) -> list[dict[str, Any]]:
        """One dict per input, as JSON can hold it: the best output, and the `k` best with their scores."""


class AnswerLimits(NamedTuple):
    """Constraints as given on the command line; `allowed` and `forced` name columns of the file."""

    bio: bool = False
    forbid: Sequence[str] = ()
    at_most_one: Sequence[str] = ()
    allowed: str | None = None
    forced: str | None = None


class Answers(Calibrated, Model):
    """A model with alternatives, confidence and constraints."""

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> Any:
        """The best output for every input, among those that meet the constraints."""

    @abstractmethod
    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best outputs for every input, best first; fewer if fewer exist."""

    @abstractmethod
    def answers(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, best: int | None, confidence: bool
    ) -> list[dict[str, Any]]:
        """One dict per input, as JSON can hold it: the output and, if wanted, `best` alternatives and confidence."""


def checked_k(k: int) -> int:
    """Return `k`, or raise an error if it is below 1."""
    if k < 1:
        raise WidemarginError(f"ask for at least one output, not {k}")
    return k


def together(*parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the dicts of each input into one."""
    return [{key: value for part in of_one for key, value in part.items()} for of_one in zip(*parts, strict=True)]


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
        """The expected number of parts with each of the `labels`, a row per input."""

    @abstractmethod
    def likely(self, X: Any, n_threads: int = 1) -> list[dict[str, Any]]:
        """One dict per input, as JSON can hold it: its parts with probabilities of `LEAST` or more."""

    @property
    def beta(self) -> float:
        """The scale of scores at which probabilities fit, by calibration or by training; raise if by neither."""
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


def weights_at(weights: W, beta: float) -> W:
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
    """The name of the objective that a model was trained with, according to its summary."""
    if "objective" in summary:
        return str(summary["objective"])
    given = summary.get("parameters", {})
    name = str(given.get("solver")).partition("(")[0]
    return given.get("objective") or (PRESETS[name].objective if name in PRESETS else "margin")
