"""What trained models can be asked besides the best output, whatever their structure."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Literal, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, IntVector, LongVector
from widemargin.answers.calibration import Calibrated
from widemargin.answers.constrained import Constrained, E
from widemargin.answers.constraints import Constraints, check_possible
from widemargin.columns import boundaries
from widemargin.errors import WidemarginError
from widemargin.problem import in_shares, predict


class Ranked(NamedTuple):
    """One of several outputs for a sequence, and its score."""

    score: float
    output: list[Any]


class SureSpan(NamedTuple):
    """The tokens `start:end`, what they are, and the probability that this is right."""

    start: int
    end: int
    type: str
    confidence: float


class Answers(Calibrated, Generic[E]):
    """The answers of a model that makes inputs `examples` of its structure, decoded to codes by its `weights`."""

    outputs_are: ClassVar[Literal["labels", "spans"]]
    labels: list[Any]
    weights: Any

    @abstractmethod
    def examples(self, X: Any) -> E:
        """Inputs as examples to be decoded."""

    @abstractmethod
    def constrained(self, examples: E, constraints: Constraints) -> Constrained[E]:
        """The examples under constraints."""

    @abstractmethod
    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Any]]:
        """What is predicted where codes are decoded, those of sequence i being `codes[indptr[i]:indptr[i + 1]]`."""

    @abstractmethod
    def marginals(self, examples: E, weights: Any, batch: IntVector) -> FloatMatrix:
        """The max-marginals of a batch of examples, a row for each of their parts."""

    @abstractmethod
    def predict_surely(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[dict[str, Any]]:
        """The best output for every sequence with the confidence in all its parts, fit for JSON."""

    def decode(self, examples: E, n_threads: int = 1, constraints: Constraints | None = None) -> IntVector:
        """The codes of all positions of the examples."""
        if constraints is None:
            return np.concatenate(predict(examples, self.weights, n_threads))
        return self.constrained(examples, constraints).decode(n_threads)

    def predict_codes(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> IntVector:
        """The codes of all positions, sequences end to end."""
        return self.decode(self.examples(X), n_threads, constraints)

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[Any]]:
        """The best output for every sequence."""
        examples = self.examples(X)
        return self.outputs(self.decode(examples, n_threads, constraints), boundaries(examples.lengths))

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best outputs for every sequence, best first; fewer where there are no more."""
        if k < 1:
            raise WidemarginError(f"one output at least must be asked for, not {k}")
        examples, weights = self.limited(X, constraints, "alternatives")
        parts = in_shares(examples, lambda batch: examples.decode_best(weights, batch, k), n_threads)
        batch, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        scores = examples.scores(weights, batch, codes)
        check_possible(batch, scores)
        ranked: list[list[Ranked]] = [[] for _ in range(examples.n_examples)]
        outputs = self.outputs(codes, boundaries(examples.lengths[batch]))
        for i, score, output in zip(batch.tolist(), scores.tolist(), outputs, strict=True):
            ranked[i].append(Ranked(score, output))
        return ranked

    def limited(self, X: Any, constraints: Constraints | None, what: str) -> tuple[E, Any]:
        """Examples and weights with the constraints in them, to find `what` by."""
        examples = self.examples(X)
        if constraints is None:
            return examples, self.weights
        constrained = self.constrained(examples, constraints)
        constrained.check_by_parts(what)
        return constrained.examples, constrained.weights

    def compared(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> tuple[E, IntVector, FloatMatrix]:
        """Examples under the constraints, what is decoded for all of them, and max-marginals to compare it with."""
        examples, weights = self.limited(X, constraints, "margins")

        def decode(batch: IntVector) -> tuple[IntVector, FloatMatrix]:
            codes = examples.decode(weights, batch)
            check_possible(batch, examples.scores(weights, batch, codes))
            return codes, self.marginals(examples, weights, batch)

        parts = in_shares(examples, decode, n_threads)
        codes, best = (np.concatenate(each) for each in zip(*parts, strict=True))
        return examples, codes, best
