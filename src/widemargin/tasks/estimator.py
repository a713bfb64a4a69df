"""scikit-learn estimators: the library behind `fit`, `predict` and `score`.

An estimator is the dataclass of its parameters, and a view of the trained model, `model_`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from widemargin._threads import count_threads
from widemargin.core.loop import Callback
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.tasks import kinds
from widemargin.tasks.answers import Answers, Ranked, SureSpan
from widemargin.tasks.base import Model, load_model
from widemargin.tasks.calibration import CalibrationReport
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.training import Compiled, Data, Pieces, compare_solvers, train, train_path, train_piece

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison

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
        dev : development data (X, y): scored after every epoch, and the best epoch's weights are kept
        callbacks : hear of training as it goes on
        checkpoint : a file that the run is kept in as it goes on
        resume : go on from the checkpoint, if there is one, exactly as the run in it would have
        """
        self._pieces = None
        data = Data(*self._checked(X, y, sample_weight), dev)
        options = {"checkpoint": checkpoint, "resume": resume}
        return self._fitted(*train(self._compile, self._parameters, data, callbacks, **options))

    def fit_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[Self]:
        """Train with every one of the `C`: fitted clones of this estimator, which stays as it is, in the order of `C`.

        Features are compiled once, and each training run starts from where the one with the next smaller C has ended.
        After Ctrl-C the points that were not reached are missing; each clone says its C.
        """
        path = train_path(self._compile, self._parameters, Data(*self._checked(X, y, sample_weight), dev), C)
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
        """Train with each of the solvers, on the same features: which of them gets how far how fast.

        The estimator stays as it is. The result has tables, and `save` writes them with pictures into a folder.
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
        """A fitted estimator around a trained model, with the parameters it was trained with as far as known."""
        names = cls._get_param_names()
        known = {name: value for name, value in model.summary["parameters"].items() if name in names}
        return cls(**known, **given)._fitted(model)

    @property
    def solution_(self) -> Solution:
        """Weights, trace, primal, dual, gap, whether it is certified, and why training stopped."""
        model = self.model_
        if self._solution is None:
            # The weights of a model that was loaded are put together only when they are asked for.
            self._solution = model.solution
        return self._solution

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _parameters(self) -> Any:
        """The parameters: an estimator is the dataclass of its own."""
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """What `fit` was given, as training takes it."""
        return X, y, sample_weight

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")

    def _inputs(self, X: Any) -> Any:
        """Inputs that the model is asked about, checked."""
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
        """One epoch over a piece of the data."""
        pieces = self._pieces = train_piece(self._compile, self._parameters, self._pieces, data, classes)
        return self._fitted(pieces.model, pieces.solution)


class AnsweringEstimator(Estimator[A]):
    """An estimator whose trained model can be asked more than what to predict (`tasks.answers`)."""

    def predict(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The best output for every input; of those that comply with the `constraints` if there are any."""
        return self._ask("predict", X, constraints=constraints)

    def predict_best(self, X: Any, k: int, constraints: Constraints | None = None) -> list[list[Ranked]]:
        """The `k` best outputs for every input with their scores, best first; fewer where there are no more."""
        return self._ask("predict_best", X, k, constraints=constraints)

    def confidence(self, X: Any, constraints: Constraints | None = None) -> Any:
        """For everything that is predicted, the probability that it is right; the model must have been calibrated."""
        return self._ask("confidence", X, constraints=constraints)

    def max_marginals(self, X: Any) -> Any:
        """For each position of every sequence, the best score with each of the `classes_` there."""
        self._check_fitted()
        order = [self.model_.labels.index(label) for label in self.classes_.tolist()]
        return [best[..., order] for best in self._ask("max_marginals", X)]

    def calibrate(self, X: Any, y: Any) -> CalibrationReport:
        """Learn what a margin means as a probability, from labelled data that were not trained on.

        `fit` forgets it; `save` keeps it. The report says how well confidence and truth agree afterwards.
        """
        return self._ask("calibrate", X, y)


class TokenEstimator(AnsweringEstimator[A]):
    """An estimator of what tokens are, and so of spans."""

    def predict_spans(self, X: Any, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The spans that are predicted for every sequence, each with the probability that it is right.

        The model must have been calibrated, and its labels must mark spans.
        """
        return self._ask("predict_spans", X, constraints=constraints)


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed.

    A structure of your own is code, which the file does not hold: name it, ``load(path, structure=…)``.
    """
    return estimator_of(load_model(path), os.fspath(path), **given)


def estimator_of(model: Model, name: str, **given: Any) -> Any:
    """The fitted estimator around the model in the file `name`."""
    estimator = dict(kinds())[model.kind].load("estimator")
    for each in given.keys() - set(estimator._get_param_names()):
        raise WidemarginError(f"the model {name} is one of a {estimator.__name__}, which has no {each!r}")
    try:
        Solution.restored(np.empty(0), model.summary["solution"])
        return estimator.from_model(model, **given)
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained") from None
