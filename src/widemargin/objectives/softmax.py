"""Likelihood and softmax-margin: the slack is −log p of the gold output.

    ξ_i(w) = log Σ_y exp(error_scale · Δ_i(y) − ⟨w, ψ_i(y)⟩)

With `error_scale` 0 this is the conditional likelihood (Lafferty et al. 2001: a CRF), with 1 the softmax-margin (Gimpel
& Smith 2010), where outputs with larger errors are pushed further away. Both are convex and smooth: their cuts are
tangents, a = −∇ξ_i(w) = φ(x_i, y_i) − E[φ(x_i, y)] and b = ξ_i(w) + ⟨w, a⟩, so that b − ⟨w, a⟩ at this w is ξ_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from widemargin._types import FloatVector, IntVector
from widemargin.core.checks import MemoryNeed
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Examples, Marginals, SummedMarginals, Totals
from widemargin.core.objective import Kind, Objective
from widemargin.core.sparse import dots


@dataclass(frozen=True, slots=True)
class Softmax(Objective):
    """−log p of the gold output, with errors weighted by `error_scale`."""

    error_scale: float = 1.0

    kind: ClassVar[Kind] = "smooth"
    requires: ClassVar[tuple[type, ...]] = (Marginals,)
    memory: ClassVar[MemoryNeed] = MemoryNeed(
        "expectation_bytes",
        "sums over all outputs, which keep the probabilities of all parts and their features",
        "Use the objective margin, or cut the example into shorter ones",
    )

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The tangent of each example's slack at `w`."""
        xi, a = cast("Marginals", examples).expectation(w, batch, error_scale=self.error_scale)
        return Cuts(batch, xi + dots(a, w), a)

    def totals(self, examples: Examples, batches: Sequence[IntVector]) -> Totals | None:
        """The sums over these batches, if the examples offer them."""
        return examples.totals(batches, self.error_scale) if isinstance(examples, SummedMarginals) else None
