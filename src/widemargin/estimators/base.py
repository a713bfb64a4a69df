"""What all estimators share."""

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from widemargin.loop import Callback
from widemargin.predictors.base import Predictor
from widemargin.solution import Solution
from widemargin.training import ModelSettings, TrainingSettings

S = TypeVar("S", bound=TrainingSettings)
Model = TypeVar("Model", bound=Predictor)


class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the estimators, which are dataclasses: their parameters are those of training (`widemargin.training`)."""

    _online: Any = None

    def _settings(self, kind: type[S]) -> S:
        """The parameters as training settings."""
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")


class ModelEstimator(Estimator, Generic[Model]):
    """Base of the estimators that are views of a trained model, `model_`, which is free of scikit-learn."""

    _kind: ClassVar[type[ModelSettings[Any]]]

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train on inputs `X` with gold outputs `y`.

        Parameters
        ----------
        X, y : what the class says
        sample_weight : one weight per example
        dev : development data (X, y): scored after every epoch, and the best epoch's weights are kept
        callbacks : hear of training as it goes on
        """
        self._online = None
        X, y, sample_weight = self._checked(X, y, sample_weight)
        return self._fitted(*self._settings(self._kind).train(X, y, sample_weight, dev, callbacks))

    def fit_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[Self]:
        """Train with every one of the `C`: fitted clones of this estimator, which stays as it is, in the order of `C`.

        Features are compiled once, and each training run starts from where the one with the next smaller C has ended.
        After Ctrl-C the points that were not reached are missing; each clone says its C.
        """
        path = self._settings(self._kind).train_path(X, y, C, sample_weight, dev)
        return [
            clone(self).set_params(C=model.summary["parameters"]["C"])._fitted(model, solution)
            for model, solution in path
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, to be read by `widemargin.load`."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """A fitted estimator around a trained model, with the parameters it was trained with as far as known."""
        names = cls._get_param_names()
        known = {name: value for name, value in model.summary["parameters"].items() if name in names}
        return cls(**known)._fitted(model, Solution.restored(model.w, model.summary["solution"]))

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """What `fit` was given, as training takes it."""
        return X, y, sample_weight

    def _fitted(self, model: Model, solution: Solution) -> Self:
        self.model_: Model = model
        self.solution_, self.classes_ = solution, np.sort(model.labels)
        return self
