"""What all estimators share."""

from collections.abc import Sequence
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from widemargin.training import TrainingSettings

S = TypeVar("S", bound=TrainingSettings)


class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the estimators: their parameters are training settings (`widemargin.training`), and no more."""

    def _settings(self, kind: type[S], without: Sequence[str] = ()) -> S:
        """The parameters as training settings, but for those named in `without`."""
        return kind(**{name: value for name, value in self.get_params(deep=False).items() if name not in without})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")
