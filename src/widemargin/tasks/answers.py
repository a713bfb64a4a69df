"""Models that answer more than one question: alternatives, margins, confidence, outputs under constraints."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Model, Tally
from widemargin.tasks.calibration import Calibrated
from widemargin.tasks.constraints import Constraints


class Ranked(NamedTuple):
    """One of several outputs for an input, and its score."""

    score: float
    output: Any


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


class Tallied(Model):
    """A model whose evaluation follows from counts, which can be added over pieces of a file."""

    @abstractmethod
    def counted(self, X: Any, y: Any, n_threads: int) -> Tally:
        """Counts of what agrees with `y`, and how long prediction takes."""

    @abstractmethod
    def scored(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """The evaluation that follows from counts, and from the errors of a calibration."""

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well predictions agree with `y`, and how long they take."""
        tally, errors = self.counted(X, y, n_threads), {}
        if self.calibration is not None and isinstance(self, Calibrated):
            errors = {kind: each.after for kind, each in self.judge_confidence(X, y, n_threads).items()}
        return self.scored(tally, errors)

    def tally(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Tally | None:
        """Counts of one piece; calibration needs all data at once."""
        return self.counted(X, y, n_threads) if self.calibration is None else None

    def tallied(self, tally: Tally) -> Evaluation:
        """The evaluation of all pieces."""
        return self.scored(tally, {})


class Limits(NamedTuple):
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

    def constraints(self, corpus: Corpus, limits: Limits) -> Constraints | None:
        """The command line's constraints on the inputs of a file, or None."""
        if any(limits):
            raise UnsupportedError(f"the model predicts {self.predicts}, to which these constraints do not apply")
        return None


def checked_k(k: int) -> int:
    """Return `k`, or raise an error if it is below 1."""
    if k < 1:
        raise WidemarginError(f"ask for at least one output, not {k}")
    return k


def together(*parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the dicts of each input into one."""
    return [{key: value for part in of_one for key, value in part.items()} for of_one in zip(*parts, strict=True)]
