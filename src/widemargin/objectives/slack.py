"""Slack scaling: ξ_i(w) = max_y Δ_i(y) (1 − ⟨w, ψ_i(y)⟩) (Tsochantaridis et al. 2005).

Every output should be at a distance of at least 1, and a shortfall is multiplied by the output's error: outputs that
are far enough away do not matter, however wrong they are. The cut of y is a = Δ_i(y) ψ_i(y), b = Δ_i(y), one block per
example. The most violated cut does not maximise a sum over parts, so structures need a search of their own. The memory
and time of that search grow with the square of an example's length; an example that would need too much memory
(`core.limits`) is refused.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

from widemargin._types import FloatVector, IntVector
from widemargin.core.cuts import Cuts
from widemargin.core.examples import ErrorCounts, Examples
from widemargin.core.limits import check_memory
from widemargin.core.objective import Objective
from widemargin.core.sparse import scaled


@dataclass(frozen=True, slots=True)
class Slack(Objective):
    """Slack scaling with the exact argmax."""

    requires: ClassVar[tuple[type, ...]] = (ErrorCounts,)
    times_error: ClassVar[bool] = True

    def check(self, examples: Examples) -> None:
        """Raise if the search would need too much memory for an example."""
        needed = getattr(examples, "slack_bytes", None)
        if needed is not None:
            check_memory(
                needed(),
                "exact slack scaling, which keeps a score for each token, label and number of errors",
                "Use the objective approximate-slack or margin, or cut the example into shorter ones",
            )

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of each example's worst output."""
        outputs = cast("ErrorCounts", examples).decode_slack(w, batch)
        errors, psi = examples.difference(batch, outputs)
        return Cuts(batch, errors, scaled(psi, errors))
