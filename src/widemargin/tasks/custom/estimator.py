"""Custom structures (`widemargin.structures.custom`): model, compilation and estimator.

A trained model holds weights. The structure itself is code, and stays with the user. Model files call it ``custom``.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Examples, Listed
from widemargin.core.problem import ask_all, predict
from widemargin.errors import DataError, ModelFileError, UnsupportedError, WidemarginError
from widemargin.report.evaluation import Evaluation
from widemargin.structures.custom import custom_examples, pair
from widemargin.structures.examples import PartExamples
from widemargin.tasks.base import load_model
from widemargin.tasks.custom import CustomParameters
from widemargin.tasks.estimator import Estimator, estimator_of
from widemargin.tasks.files import time_call
from widemargin.tasks.parameters import documented
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data
from widemargin.tasks.weights import WeightsModel, WeightsReporter


@dataclass
class CustomModel(WeightsModel):
    """Weights, and the user's structure (`tasks.custom`), or None if it is missing."""

    kind = "custom"
    predicts = "outputs of a structure of the user's own"

    structure: Any = None

    def predict(self, X: Sequence[Any], n_threads: int = 1) -> list[Any]:
        """The best output for every input; for latent structures, the y of each pair (y, h)."""
        structure = self.checked_structure
        if is_latent(structure):
            return [y for y, _ in self.predict_latent(X, n_threads)]
        if not is_factory(structure):
            return _decoded(structure, X, self.weights, n_threads)
        examples = examples_of(structure, X, None, len(self.weights))
        parts = predict(examples, self.weights, n_threads)
        if isinstance(examples, PartExamples):
            return np.split(np.concatenate(parts), np.cumsum(examples.lengths)[:-1]) if len(X) else []
        outputs = [
            output for part in parts for output in (examples.listed(part) if isinstance(examples, Listed) else part)
        ]
        if len(outputs) != examples.n_examples:
            raise WidemarginError(
                f"{type(examples).__name__}.decode gives {len(outputs)} outputs for {examples.n_examples} examples; "
                "give it a method listed(outputs) that makes a list of them, one per example"
            )
        return outputs

    def predict_latent(self, X: Sequence[Any], n_threads: int = 1) -> list[tuple[Any, Any]]:
        """The best pair (y, h) for every input, for latent structures."""
        structure = self.checked_structure
        if not is_latent(structure):
            raise UnsupportedError("nothing is hidden in the outputs of this structure; it has no method complete")
        return [pair(each) for each in _decoded(structure, X, self.weights, n_threads)]

    @property
    def checked_structure(self) -> Any:
        """The structure, which must be there."""
        if self.structure is None:
            raise WidemarginError("the model does not hold the structure that it was trained for; pass it on loading")
        return self.structure


class CustomReporter(WeightsReporter):
    """Reports on models of custom structures."""

    model: CustomModel

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """The mean error."""
        error, seconds = time_call(
            "decoding", mean_error(self.model.checked_structure, X, y, n_threads), self.model.weights
        )
        return Evaluation({"mean_error": error}, "mean_error", [("mean error", f"{error:.6g}")], [], seconds)


def is_factory(structure: Any) -> bool:
    """Whether `structure` is a function that makes compiled examples, not an object with the three methods."""
    return callable(structure) and not all(hasattr(structure, name) for name in ("features", "error", "decode"))


def is_latent(structure: Any) -> bool:
    """Whether outputs of this structure are pairs (y, h) whose h is hidden."""
    return not is_factory(structure) and hasattr(structure, "complete")


def examples_of(structure: Any, X: Any, y: Any, n_weights: int | None = None) -> Any:
    """Inputs and gold outputs (or None) as examples of either kind of structure."""
    if not is_factory(structure):
        return custom_examples(structure, X, y, n_weights)
    examples: Examples = structure(X, y)
    if n_weights is not None and examples.n_weights != n_weights:
        raise DataError(f"these examples have {examples.n_weights} weights, but there were {n_weights} before")
    return examples


class Inputs:
    """Inputs of a plain structure, with the gold outputs if there are any, to be decoded in parts (`core.asking`)."""

    work = None

    def __init__(self, structure: Any, X: Sequence[Any], y: Sequence[Any] | None = None) -> None:
        self.structure, self.X, self.y = structure, list(X), None if y is None else list(y)
        self.n_examples = len(self.X)
        self.releases_gil = bool(getattr(structure, "releases_gil", False))

    def decode(self, w: FloatVector, batch: IntVector) -> list[Any]:
        """The best outputs of some inputs."""
        return [self.structure.decode(self.X[i], w) for i in batch.tolist()]

    def errors(self, w: FloatVector, batch: IntVector) -> list[float]:
        """The errors of these outputs."""
        assert self.y is not None, "without gold outputs nothing is wrong"
        parts = (pair(each) if is_latent(self.structure) else (each,) for each in self.decode(w, batch))
        return [self.structure.error(self.y[i], *each) for i, each in zip(batch.tolist(), parts, strict=True)]


def _decoded(structure: Any, X: Sequence[Any], w: FloatVector, n_threads: int) -> list[Any]:
    return [each for part in ask_all(Inputs.decode, Inputs(structure, X), w, n_threads) for each in part]


def mean_error(
    structure: Any, X: Sequence[Any], y: Sequence[Any], n_threads: int = 1
) -> Callable[[FloatVector], float]:
    """The mean error of the best outputs as a function of the weights; 0 without examples."""
    if len(X) != len(y):
        raise DataError(f"there are {len(X)} inputs, but {len(y)} outputs")
    if not is_factory(structure):
        inputs = Inputs(structure, X, y)

        def of_decoded(w: FloatVector) -> float:
            errors = [each for part in ask_all(Inputs.errors, inputs, w, n_threads) for each in part]
            return float(np.mean(errors)) if errors else 0.0

        return of_decoded

    def of_compiled(w: FloatVector) -> float:
        examples = examples_of(structure, X, y, len(w))
        batch = np.arange(examples.n_examples, dtype=np.int32)
        return float(np.mean(examples.difference(batch, examples.decode(w, batch)).errors)) if len(batch) else 0.0

    return of_compiled


def survey_custom(parameters: CustomParameters, data: Data) -> Survey:
    """How many weights a piece of the data needs."""
    structure = parameters.structure
    if is_latent(structure):
        refuse_latent("the structure has a method complete")
    _check_outputs(data.y)
    return Survey(facts={"size": {"n_weights": examples_of(structure, data.X, data.y).n_weights}})


def compile_custom(
    parameters: CustomParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    after: CustomModel | None = None,
    survey: Survey | None = None,
) -> Compiled[CustomModel]:
    """Compile inputs and outputs to examples; `after` is the model trained so far, `survey` covers all pieces.

    Outputs need not be listed, so `labels` is ignored.
    """
    _check_outputs(data.y)
    structure = parameters.structure
    n_weights = None if after is None else len(after.weights)
    if survey is not None:
        n_weights = survey.facts["size"]["n_weights"]
    examples = examples_of(structure, data.X, data.y, n_weights)
    error = None if data.dev is None else mean_error(structure, *data.dev, count_threads(parameters.n_jobs))
    return Compiled(
        examples,
        lambda solution, summary: CustomModel([], solution.w, structure, summary=summary),
        score=None if error is None else lambda w: -error(w),
        metric="minus the mean error",
        sample_weight=data.sample_weight,
        piecewise=True,
        completions=lambda given: list(zip(data.y, given, strict=True)),
    )


def _check_outputs(y: Any) -> None:
    if y is None or not len(y):
        raise DataError("there are no gold outputs to learn from")


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
        return -mean_error(self.structure, X, y, count_threads(self.n_jobs))(self.model_.w)

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
