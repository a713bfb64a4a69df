"""Margin scaling: ξ_i(w) = max_y Δ_i(y) − ⟨w, ψ_i(y)⟩ (Tsochantaridis et al. 2005).

The cut of an output y is a = ψ_i(y), b = Δ_i(y), one block per example; the most violated one comes from the
loss-augmented argmax of ⟨w, φ⟩ + Δ.
"""

from dataclasses import dataclass
from typing import Any

from widemargin._types import FloatVector, IntVector
from widemargin.cuts import Cuts
from widemargin.objectives.base import Objective
from widemargin.structures.base import Examples


@dataclass(frozen=True, slots=True)
class Margin(Objective):
    """Margin scaling; with `error_scale` 0 the cut of the plain prediction, which mistake-driven solvers consume."""

    error_scale: float = 1.0

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut ψ, Δ of each example's loss-augmented argmax."""
        outputs = examples.decode(w, batch, error_scale=self.error_scale)
        errors, psi = examples.difference(batch, outputs)
        return Cuts(batch, errors, psi)

    def best_cuts(self, k: int, examples: Any, w: FloatVector, batch: IntVector) -> Cuts:
        """The cuts of the `k` best outputs of each example, best first; the examples offer `KBest`."""
        repeated, outputs = examples.decode_best(w, batch, k, error_scale=self.error_scale)
        errors, psi = examples.difference(repeated, outputs)
        return Cuts(repeated, errors, psi)
