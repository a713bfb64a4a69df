"""Parameters of predictors for structures of the user's own."""

from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any

from widemargin.tasks.parameters import Parameters, parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from widemargin.core.examples import Examples
    from widemargin.structures.custom import CustomStructure


@dataclass(kw_only=True, repr=False, eq=False)
class CustomParameters(Parameters):
    """Parameters of predictors for structures of the user's own."""

    structure: "CustomStructure | Callable[[Any, Any], Examples]" = parameter(
        MISSING,
        "An object with the methods `features`, `error` and `decode`; or a function (or class) that makes compiled "
        "examples of inputs and gold outputs, the latter None for prediction.",
        kw_only=False,
    )
