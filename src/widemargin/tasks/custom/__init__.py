"""Custom structures: three methods in plain Python, or compiled examples."""

from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from widemargin.core.examples import Examples
    from widemargin.structures.custom import CustomStructure


@dataclass(kw_only=True, repr=False, eq=False)
class CustomParameters(LatentParameters):
    """Parameters of predictors for custom structures."""

    structure: "CustomStructure | Callable[[Any, Any], Examples]" = parameter(
        MISSING,
        "An object with the methods `features`, `error` and `decode`, and with `complete` if something is hidden "
        "(`structures.custom`); or a function (or class) that makes compiled "
        "examples from inputs and gold outputs, which are None for prediction.",
        kw_only=False,
    )


def _model() -> type[Any]:
    from widemargin.tasks.custom.estimator import CustomModel

    return CustomModel


def _estimator() -> type[Any]:
    from widemargin.tasks.custom.estimator import StructuredPredictor

    return StructuredPredictor


def _reporter() -> type[Any]:
    from widemargin.tasks.custom.estimator import CustomReporter

    return CustomReporter


TASK = Task({"custom": Kind("StructuredPredictor", CustomParameters, _model, _estimator)}, reporter=_reporter)
