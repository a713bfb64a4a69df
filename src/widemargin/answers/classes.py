"""What a trained classifier can be asked: of one label for each row, every answer is a line on the matrix of scores."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.answers.base import Ranked
from widemargin.answers.calibration import Calibrated, Judged
from widemargin.answers.constraints import Constraints, check_possible
from widemargin.answers.margins import Margins
from widemargin.errors import DataError, UnsupportedError, WidemarginError


class ClassAnswers(Calibrated):
    """Answers by classes. Of constraints there is only `allowed`: for each row, a set of classes, or None."""

    labels: list[Any]

    @abstractmethod
    def scores(self, X: Any) -> FloatMatrix:
        """The score of every class for every row."""

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Any]:
        """The class of every row."""
        return [self.labels[code] for code in self._margins(X, constraints).codes.tolist()]

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best classes of every row, best first; fewer where no more are allowed."""
        if k < 1:
            raise WidemarginError(f"one output at least must be asked for, not {k}")
        scores = self._limited(X, constraints)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [
            [Ranked(row[c], self.labels[c]) for c in best if row[c] > -np.inf]
            for row, best in zip(scores.tolist(), order.tolist(), strict=True)
        ]

    def max_marginals(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The score of every class for every row."""
        return self.scores(X)

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> FloatVector:
        """For each predicted class, the probability that it is right."""
        return self.curve("labels")(self._margins(X, constraints).of_labels())

    def judged(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The classes predicted for `X`, judged by `y`."""
        margins = self._margins(X)
        if len(margins.codes) != len(y):
            raise DataError(f"there are {len(margins.codes)} examples, but {len(y)} classes")
        # As strings, which is what classes are that have been read from a file.
        right = [str(self.labels[c]) == str(g) for c, g in zip(margins.codes.tolist(), y, strict=True)]
        return {"labels": Judged.of([margins.of_labels()], right)} if right else {}

    def _margins(self, X: Any, constraints: Constraints | None = None) -> Margins:
        scores = self._limited(X, constraints)
        return Margins.of(scores.argmax(axis=1).astype(np.int32), scores)

    def _limited(self, X: Any, constraints: Constraints | None) -> FloatMatrix:
        scores = self.scores(X)
        if constraints is None:
            return scores
        if constraints != Constraints(allowed=constraints.allowed):
            raise UnsupportedError("of constraints on classes there is only allowed")
        sets: Sequence[Any] | None = constraints.allowed
        rows = None if sets is None else [None if each is None else [each] for each in sets]
        number = {label: k for k, label in enumerate(self.labels)}
        possible = replace(constraints, allowed=rows).possible_labels([1] * len(scores), number)
        scores = np.where(possible, scores, -np.inf)
        check_possible(np.arange(len(scores), dtype=np.int32), scores.max(axis=1, initial=-np.inf))
        return scores
