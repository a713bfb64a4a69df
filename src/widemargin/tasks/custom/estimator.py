"""Custom structures as an estimator (`widemargin.structures.custom`)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from widemargin.errors import ModelFileError
from widemargin.tasks.base import load_model
from widemargin.tasks.custom import CustomParameters
from widemargin.tasks.custom.model import CustomModel, compile_custom, is_factory, mean_error, survey_custom
from widemargin.tasks.estimator import Estimator, estimator_of
from widemargin.tasks.parameters import documented


@documented(CustomModel)
@dataclass(kw_only=True, repr=False, eq=False)
class StructuredPredictor(CustomParameters, Estimator[CustomModel]):
    """Large-margin learning for a custom structure: three methods in plain Python, or compiled examples.

    Notes
    -----
    `fit` takes a list of inputs and a list of gold outputs, of any type.

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

    _compile = staticmethod(compile_custom)
    _survey = staticmethod(survey_custom)

    def partial_fit(self, X: Sequence[Any], y: Sequence[Any], classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on these data, starting from the current model; for solvers that learn piece by piece.

        The first call fixes the number of weights: the structure's `n_weights`, or else as many as its data need.
        `classes` is ignored.
        """
        return self._learn(self._data(X, y, sample_weight), None)

    def predict_latent(self, X: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The best pair (y, h) for every input, for structures with a method `complete`."""
        pairs: list[tuple[Any, Any]] = self._ask("predict_latent", X)
        return pairs

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Minus the mean error: the higher the better, 0 at best."""
        self._check_fitted()
        return -mean_error(self.structure, X, y)(self.model_.w)

    @classmethod
    def load(cls, path: str | os.PathLike[str], structure: Any) -> Self:
        """A fitted predictor for `structure` with the weights that `save` wrote."""
        model, name = load_model(path), os.fspath(path)
        if not isinstance(model, CustomModel):
            raise ModelFileError(f"the model {name} is not one of a structure of your own; use widemargin.load")
        predictor: Self = estimator_of(model, name, structure=structure)
        return predictor

    @classmethod
    def from_model(cls, model: CustomModel, **given: Any) -> Self:
        """Wrap a trained model in a fitted predictor for the given `structure`."""
        if "structure" not in given:
            raise ModelFileError(
                "the model is of a structure of your own, which is not in the file: name it on loading"
            )
        structure = given["structure"]
        needed = None if is_factory(structure) else getattr(structure, "n_weights", None)
        if needed is not None and needed != len(model.weights):
            raise ModelFileError(f"the model has {len(model.weights)} weights, but the structure needs {needed}")
        model.structure = structure
        return super().from_model(model, **given)
