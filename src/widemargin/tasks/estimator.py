"""scikit-learn estimators: the library behind `fit`, `predict` and `score`.

An estimator is a dataclass of parameters that wraps a trained model, `model_`.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin._threads import count_threads
from widemargin._types import FloatMatrix
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.tasks import kinds
from widemargin.tasks.answers import Answers, Ranked, SureSpan
from widemargin.tasks.base import Model, load_model
from widemargin.tasks.calibration import CalibrationReport
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.training import Compiled, Data, Pieces, compare_solvers, train, train_path, train_piece

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison

REMEDIES = "raise max_epochs or tol, lower C, or take another solver"

M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Answers)


class Estimator(BaseEstimator, Generic[M]):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the estimators."""

    _compile: ClassVar[Callable[..., Compiled[Any]]]
    _pieces: Pieces[M] | None = None
    _solution: Solution | None = None

    n_jobs: int | None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on inputs `X` with gold outputs `y`.

        Parameters
        ----------
        X, y : inputs and gold outputs, in the forms that the class lists under Notes
        sample_weight : one weight per example
        dev : development data (X, y): scored after every epoch, and the best epoch's weights are kept, the last of
            equals. While the gap is above 20 %, these are averages over the epochs so far: single early weights of a
            dual solver jump, and the best of them are so by luck.
        callbacks : informed as training proceeds
        checkpoint : a file that saves the run as it proceeds
        resume : continue from the checkpoint, if it exists, exactly as its run would have continued
        """
        self._pieces = None
        data = Data(*self._checked(X, y, sample_weight), dev)
        options = {"checkpoint": checkpoint, "resume": resume}
        model, solution = train(self._compile, self._parameters, data, callbacks, **options)
        _warn(solution)
        return self._fitted(model, solution)

    def fit_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[Self]:
        """Train with each value in `C`: fitted clones in the order of `C`; the estimator itself is unchanged.

        Features are compiled once. Each training run starts where the one with the next smaller C ended. After Ctrl-C,
        values that were not reached are missing; the parameter `C` of each clone tells its value.
        """
        path = train_path(self._compile, self._parameters, Data(*self._checked(X, y, sample_weight), dev), C)
        for _, solution in path:
            _warn(solution)
        return [
            clone(self).set_params(C=model.summary["parameters"]["C"])._fitted(model, solution)
            for model, solution in path
        ]

    def compare(
        self,
        X: Any,
        y: Any,
        solvers: Iterable[str] | Mapping[str, Solver],
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
    ) -> "Comparison":
        """Train with each solver on the same features, and compare how far and how fast each gets.

        The estimator is unchanged. The result has tables; its `save` writes them, with pictures, into a folder.
        """
        data = Data(*self._checked(X, y, sample_weight), dev)
        return compare_solvers(self._compile, self._parameters, data, solvers)

    def predict(self, X: Any) -> Any:
        """The best output for every input."""
        return self._ask("predict", X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, to be read by `widemargin.load`."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def from_model(cls, model: M, **given: Any) -> Self:
        """Wrap a trained model in a fitted estimator, with the training parameters that the model records."""
        names = cls._get_param_names()
        known = {name: value for name, value in model.summary["parameters"].items() if name in names}
        return cls(**{**known, **given})._fitted(model)

    @property
    def solution_(self) -> Solution:
        """Weights, trace, primal, dual, gap, whether it is certified, and why training stopped."""
        model = self.model_
        if self._solution is None:
            # Assembling the weights of a loaded model takes time, so it waits until they are needed.
            self._solution = model.solution
        return self._solution

    @property
    def n_unreachable_(self) -> int:
        """How many gold outputs of the training data the model can never predict (`core.examples.Unreachable`)."""
        return sum(self.model_.summary.get("unreachable", {}).values())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _parameters(self) -> Any:
        """The estimator itself, which is the dataclass of its parameters."""
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The data given to `fit`, in the form that training takes."""
        return X, y, sample_weight

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")

    @property
    def _order(self) -> list[int]:
        """The numbers of the `classes_` among the labels of the model."""
        self._check_fitted()
        return [self.model_.labels.index(label) for label in self.classes_.tolist()]

    def _inputs(self, X: Any) -> Any:
        """The inputs of a prediction, checked."""
        self._check_fitted()
        return X

    def _ask(self, question: str, X: Any, *more: Any, **options: Any) -> Any:
        X = self._inputs(X)
        return getattr(self.model_, question)(X, *more, n_threads=count_threads(self.n_jobs), **options)

    def _fitted(self, model: M, solution: Solution | None = None) -> Self:
        self.model_: M = model
        self._solution, self.classes_ = solution, np.sort(model.labels)
        return self

    def _learn(self, data: Data, classes: Any) -> Self:
        """Train for one epoch on a piece of the data."""
        pieces = self._pieces = train_piece(self._compile, self._parameters, self._pieces, data, classes)
        return self._fitted(pieces.model, pieces.solution)


def _warn(solution: Solution) -> None:
    """Say so, as scikit-learn does, if training has not converged."""
    if solution.shortfall is not None:
        warnings.warn(f"training has not converged: {solution.shortfall}; {REMEDIES}", ConvergenceWarning, stacklevel=3)


class ProbableEstimator(Estimator[M]):
    """An estimator whose model gives probabilities, if it was trained with `likelihood` (`tasks.probabilities`)."""

    def predict_minimum_risk(self, X: Any) -> Any:
        """The outputs with the least expected error: those whose parts are likely, each by itself."""
        return self._ask("predict_minimum_risk", X)

    def expected_counts(self, X: Any) -> Any:
        """How many parts have each of the `classes_` on average: a row per input."""
        return self._ask("expected_counts", X)[:, self._order]


class AnsweringEstimator(Estimator[A]):
    """An estimator whose model also gives alternatives, confidence and constrained outputs (`tasks.answers`)."""

    def predict(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The best output for every input, among those that meet the `constraints`."""
        return self._ask("predict", X, constraints=constraints)

    def predict_best(self, X: Any, k: int, constraints: Constraints | None = None) -> list[list[Ranked]]:
        """The `k` best outputs for every input with their scores, best first; fewer if fewer exist."""
        return self._ask("predict_best", X, k, constraints=constraints)

    def confidence(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The probability that each prediction is right; the model must be calibrated."""
        return self._ask("confidence", X, constraints=constraints)

    def max_marginals(self, X: Any) -> Any:
        """For each position of every sequence, the best score with each of the `classes_` there."""
        order = self._order
        return [best[..., order] for best in self._ask("max_marginals", X)]

    def calibrate(self, X: Any, y: Any) -> CalibrationReport:
        """Learn to turn margins into probabilities, from labelled data not used for training.

        `save` keeps the calibration, `fit` discards it. The report says how well confidence and truth agree afterwards.
        """
        return self._ask("calibrate", X, y)


class TokenEstimator(AnsweringEstimator[A], ProbableEstimator[A]):
    """An estimator that labels tokens, and hence marks spans."""

    def predict_proba(self, X: Any, constraints: Constraints | None = None) -> list[FloatMatrix]:
        """For each token of every sequence, the probability of each of the `classes_`, under the `constraints`.

        The model must have been trained with `likelihood` or `softmax-margin`.
        """
        order = self._order
        return [each[:, order] for each in self._ask("predict_proba", X, constraints=constraints)]

    def predict_spans(self, X: Any, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The predicted spans of every sequence, each with the probability that it is right.

        The model must be calibrated, and its labels must mark spans.
        """
        return self._ask("predict_spans", X, constraints=constraints)


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed.

    A custom structure is code, which the file does not hold; pass it: ``load(path, structure=…)``.
    """
    return estimator_of(load_model(path), os.fspath(path), **given)


def estimator_of(model: Model, name: str, **given: Any) -> Any:
    """The fitted estimator around the model in the file `name`."""
    estimator = dict(kinds())[model.kind].load("estimator")
    for each in given.keys() - set(estimator._get_param_names()):
        raise WidemarginError(f"the model {name} is one of a {estimator.__name__}, which has no {each!r}")
    # Another program's model file need not tell.
    if "trained_by" not in model.summary and not {"parameters", "solution"} <= model.summary.keys():
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained")
    return estimator.from_model(model, **given)
