"""From the user's inputs and outputs to examples."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from widemargin.core.solution import Solution
from widemargin.errors import DataError
from widemargin.tasks.custom.model import CustomModel, examples_of, is_latent, mean_error
from widemargin.tasks.custom.parameters import CustomParameters
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data


def survey_custom(parameters: CustomParameters, data: Data) -> Survey:
    """How many weights a part of the data needs."""
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
    """Compile inputs and outputs to examples; `after` is the model that they follow, `survey` that of all parts.

    Outputs need not be listed, so `labels` is ignored.
    """
    _check_outputs(data.y)
    structure = parameters.structure
    n_weights = None if after is None else len(after.weights)
    if survey is not None:
        n_weights = survey.facts["size"]["n_weights"]
    examples = examples_of(structure, data.X, data.y, n_weights)
    error = None if data.dev is None else mean_error(structure, *data.dev)
    return Compiled(
        examples,
        partial(_model, structure),
        score=None if error is None else lambda w: -error(w),
        metric="minus the mean error",
        sample_weight=data.sample_weight,
        piecewise=True,
        completions=lambda given: list(zip(data.y, given, strict=True)),
    )


def _check_outputs(y: Any) -> None:
    if y is None or not len(y):
        raise DataError("there are no gold outputs to learn from")


def _model(structure: Any, solution: Solution, summary: dict[str, Any]) -> CustomModel:
    return CustomModel([], solution.w, structure, summary=summary)
