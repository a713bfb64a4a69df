"""Slack scaling: ξ_i(w) = max_y Δ_i(y) (1 − ⟨w, ψ_i(y)⟩) (Tsochantaridis et al. 2005).

Every output should be at a distance of at least 1, and a shortfall is multiplied by the output's error: outputs that
are far enough away do not matter, however wrong they are. The cut of y is a = Δ_i(y) ψ_i(y), b = Δ_i(y), one block per
example. The most violated cut does not maximise a sum over parts, so structures need a search of their own.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

from widemargin._types import FloatVector, IntVector
from widemargin.core.cuts import Cuts
from widemargin.core.examples import ErrorCounts, Examples
from widemargin.core.objective import Objective
from widemargin.core.sparse import scaled


@dataclass(frozen=True, slots=True)
class Slack(Objective):
    """Slack scaling with the exact argmax."""

    requires: ClassVar[tuple[type, ...]] = (ErrorCounts,)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of each example's worst output."""
        outputs = cast("ErrorCounts", examples).decode_slack(w, batch)
        errors, psi = examples.difference(batch, outputs)
        return Cuts(batch, errors, scaled(psi, errors))
