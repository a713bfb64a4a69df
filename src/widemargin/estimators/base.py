"""What all estimators share."""

from dataclasses import fields
from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from widemargin.training import TrainingSettings

S = TypeVar("S", bound=TrainingSettings)


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
