"""What models can be asked besides the best output: alternatives, margins, confidence, outputs under constraints."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.tasks.base import Corpus, Model
from widemargin.tasks.calibration import Calibrated
from widemargin.tasks.constraints import Constraints


class Ranked(NamedTuple):
    """One of several outputs for an input, and its score."""

    score: float
    output: Any


class SureSpan(NamedTuple):
    """The tokens `start:end`, what they are, and the probability that this is right."""

    start: int
    end: int
    type: str
    confidence: float


class Limits(NamedTuple):
    """Constraints as the command line has them; `allowed` and `forced` name columns of the file."""

    bio: bool = False
    forbid: Sequence[str] = ()
    at_most_one: Sequence[str] = ()
    allowed: str | None = None
    forced: str | None = None


class Answers(Calibrated, Model):
    """A model that can be asked more than what to predict."""

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> Any:
        """The best output for every input; of those that comply with the constraints if there are any."""

    @abstractmethod
    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best outputs for every input, best first; fewer where there are no more."""

    @abstractmethod
    def answers(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, best: int | None, confidence: bool
    ) -> list[dict[str, Any]]:
        """An object for every input, fit for JSON: the output, with alternatives and confidence as far as wanted."""

    def constraints(self, corpus: Corpus, limits: Limits) -> Constraints | None:
        """The constraints of the command line on the inputs of a file; None if there are none."""
        if any(limits):
            raise UnsupportedError(f"the model predicts {self.predicts}, to which these constraints do not apply")
        return None


def checked_k(k: int) -> int:
    """How many outputs are wanted."""
    if k < 1:
        raise WidemarginError(f"one output at least must be asked for, not {k}")
    return k


def together(*parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For every input the entries of all its parts as one object."""
    return [{key: value for part in of_one for key, value in part.items()} for of_one in zip(*parts, strict=True)]
