"""Any structure of the user's own as an estimator (`widemargin.structures.custom`)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin._types import FloatVector
from widemargin.errors import DataError, ModelFileError
from widemargin.estimators.base import Estimator
from widemargin.loop import Callback, Score
from widemargin.model import read_model, vector, write_model
from widemargin.solution import Solution
from widemargin.structures.custom import CustomExamples, CustomProblem
from widemargin.structures.custom_positions import custom_examples
from widemargin.training import TrainingParameters, TrainingSettings

STRUCTURE = "custom"


@dataclass(kw_only=True, repr=False, eq=False)
class StructuredPredictor(TrainingParameters, Estimator):
    """Large-margin learning for a problem given by three methods: `features`, `error` and `decode`.

    Parameters
    ----------
    problem : the problem (`widemargin.structures.custom.CustomProblem`)
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`

    Attributes
    ----------
    solution_ : weights, trace, primal, dual, gap, whether it is certified, and why training stopped

    Examples
    --------
    >>> class Sign:  # the simplest structure: ŷ ∈ {−1, 1}
    ...     def features(self, x, y):
    ...         return {0: y * x}
    ...     def error(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def decode(self, x, w, y=None):
    ...         return max((-1, 1), key=lambda s: w[0] * s * x + (y is not None and s != y))
    >>> StructuredPredictor(Sign(), C=1.0).fit([2.0, -1.0], [1, -1]).predict([3.0, -0.5])
    [1, -1]
    """

    problem: CustomProblem = field(kw_only=False)

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        dev: tuple[Sequence[Any], Sequence[Any]] | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> "StructuredPredictor":
        """Train on inputs `X` with gold outputs `y`; `dev` is scored after every epoch and the best one kept."""
        self._online = None
        score = None if dev is None else self._dev_score(*dev)
        self.solution_ = self._training().solve(self._examples(X, y), sample_weight, score, callbacks)
        return self

    def fit_path(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        C: Sequence[float],
        sample_weight: Any = None,
        dev: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> list["StructuredPredictor"]:
        """Train with every one of the `C`: fitted clones of this estimator, which stays as it is, in the order of `C`.

        Each training run starts from where the one with the next smaller C has ended. After Ctrl-C the points that were
        not reached are missing; each clone says its C.
        """
        score = None if dev is None else self._dev_score(*dev)
        path = []
        for each, solution in self._training().solve_path(self._examples(X, y), C, sample_weight, score):
            path.append(clone(self).set_params(C=each))
            path[-1].solution_ = solution
        return path

    def partial_fit(
        self, X: Sequence[Any], y: Sequence[Any], classes: Any = None, sample_weight: Any = None
    ) -> "StructuredPredictor":
        """One epoch over these data, going on from the call before; for solvers that learn piece by piece.

        The weights are as many as the first call needs, or as the problem says by `n_weights`. `classes` are there for
        scikit-learn's sake; outputs need not be listed.
        """
        settings = self._training()
        examples = self._examples(X, y, None if self._online is None else len(self.solution_.w))
        online = settings.online(self._online)
        self.solution_ = online.learn(settings.problem(examples, sample_weight))
        self._online = online
        return self

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The best output for every input."""
        self._check_fitted()
        return [self.problem.decode(x, self.solution_.w) for x in X]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Minus the mean error: the higher the better, 0 at best."""
        self._check_fitted()
        return self._dev_score(X, y)(self.solution_.w)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights and how they were found; the problem itself is code, and stays with the user."""
        self._check_fitted()
        header = {"structure": STRUCTURE, "summary": self._training().summary(self.solution_)}
        write_model(path, header, {"weights": self.solution_.w})

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: CustomProblem) -> "StructuredPredictor":
        """A fitted predictor for `problem` with the weights that `save` wrote."""
        header, tensors = read_model(path)
        if header.get("structure") != STRUCTURE:
            raise ModelFileError(f"the model {os.fspath(path)} is not one of a custom problem; use widemargin.load")
        try:
            predictor = cls(problem, **header["summary"]["parameters"])
            w = vector(tensors, "weights", np.float64)
            predictor.solution_ = Solution.restored(w, header["summary"]["solution"])
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ModelFileError(f"the model {os.fspath(path)} is damaged: its parts do not fit together") from None
        return predictor

    def _examples(self, X: Sequence[Any], y: Sequence[Any], n_weights: int | None = None) -> CustomExamples:
        if y is None or not len(y):
            raise DataError("there are no gold outputs to learn from")
        return custom_examples(self.problem, X, y, n_weights)

    def _training(self) -> TrainingSettings:
        return self._settings(TrainingSettings)

    def _dev_score(self, X: Sequence[Any], y: Sequence[Any]) -> Score:
        if len(X) != len(y):
            raise DataError(f"there are {len(X)} inputs, but {len(y)} outputs")

        def score(w: FloatVector) -> float:
            errors = [self.problem.error(gold, self.problem.decode(x, w)) for x, gold in zip(X, y, strict=True)]
            return -float(np.mean(errors)) if errors else 0.0

        return score
