"""Parameters of tasks whose gold outputs have a hidden side."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks.parameters import Parameters, parameter


@dataclass(kw_only=True, repr=False, eq=False)
class LatentParameters(Parameters):
    """How the hidden side of gold outputs is filled in (`core.latent`); `hidden` is its name in the descriptions."""

    hidden: ClassVar[str] = "what is hidden"

    completion: Literal["cccp", "online"] = parameter(
        "cccp",
        "When to fill in {hidden}: in rounds, each a convex problem with a certificate, or at every visit of an "
        "example, which only solvers without a dual can do.",
    )
    init: Literal["rule", "random"] | Any = parameter(
        "rule",
        "What to fill in for {hidden} at first: by the task's own rule, or at random.",
        in_python="Completions, or a trained model whose weights choose them, work, too.",
    )
    n_restarts: int = parameter(
        1,
        "Fill in {hidden} from this many different beginnings and keep the best objective.",
        option="--restarts",
    )
    max_rounds: int = parameter(
        50, "Stop after filling in {hidden} this many times; --epochs is for each.", option="--rounds"
    )
    round_tol: float = parameter(0.001, "Stop when a round lowers the objective by less than this share.")
    self_paced: Literal["slack", "uncertainty"] | None = parameter(
        None, "Let easy examples take part first, by their slack or by how uncertain their completion is."
    )
