"""Objectives, which turn decoded outputs into cuts, and the simplest of them, margin scaling.

    ξ_i(w) = max_y Δ_i(y) − ⟨w, ψ_i(y)⟩   (Tsochantaridis et al. 2005)

The cut of an output y under margin scaling is a = ψ_i(y), b = Δ_i(y), one block per example; the most violated one
comes from the loss-augmented argmax of ⟨w, φ⟩ + Δ. The other objectives are in `widemargin.objectives`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.checks import MemoryNeed, check_memory
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Examples, Totals

Kind = Literal["maximum", "smooth"]


class Objective(Protocol):
    """Turns decoded outputs into cuts.

    A slack is either the ``"maximum"`` of one cut per output, or ``"smooth"``, with infinitely many tangents as cuts.
    `requires` names the protocols (`core.examples`) that the examples must offer beyond decoding. `exact` is False if
    the cuts may not be the most violated ones even with exact decoding; then no gap is proven. If `times_error`, the a
    of a cut is b ψ instead of ψ. `memory` names what takes much memory for an example, if anything does.
    """

    kind: ClassVar[Kind] = "maximum"
    requires: ClassVar[tuple[type, ...]] = ()
    exact: ClassVar[bool] = True
    times_error: ClassVar[bool] = False
    memory: ClassVar[MemoryNeed | None] = None

    def is_exact(self, examples: Examples) -> bool:
        """Whether the cuts of these examples are the most violated ones, provided that decoding is exact."""
        return self.exact

    def check(self, examples: Examples) -> None:
        """Raise if an example is too large for this objective."""
        needed = None if self.memory is None else getattr(examples, self.memory.method, None)
        if self.memory is not None and needed is not None:
            check_memory(needed(), self.memory.what, self.memory.instead)

    def blocks(self, examples: Examples) -> IntVector:
        """The example that each block belongs to, in ascending order; by default one block per example."""
        return np.arange(examples.n_examples, dtype=np.int32)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The most violated cut at `w` of every block of the batch's examples."""

    def totals(self, examples: Examples, batches: Sequence[IntVector]) -> Totals | None:
        """Sums all slacks and all cuts without making a cut per example; None, the default, if that is impossible."""
        return None


@runtime_checkable
class BestCuts(Protocol):
    """Objectives that can return the cuts of the k best outputs; solvers that need them require this protocol."""

    def best_cuts(self, k: int, examples: Any, w: FloatVector, batch: IntVector) -> Cuts:
        """The cuts of the `k` best outputs of each example, best first; the examples offer `KBest`."""


@runtime_checkable
class Beyond(Protocol):
    """Objectives that look for cuts beyond the slack that each block is already known to have."""

    def cuts_beyond(self, xi: FloatVector, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """A cut of every block of the batch's examples, given the slacks `xi` ≥ 0 of all blocks."""


@dataclass(frozen=True, slots=True)
class Margin(Objective):
    """Margin scaling; with `error_scale` 0 the cuts are those of plain predictions, for mistake-driven solvers."""

    error_scale: float = 1.0

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut ψ, Δ of each example's loss-augmented argmax."""
        outputs = examples.decode(w, batch, error_scale=self.error_scale)
        errors, psi = examples.difference(batch, outputs)
        excess = getattr(examples, "excess", None)  # `Bounded`; asking its protocol takes longer than some oracles
        return Cuts(batch, errors, psi) if excess is None else Cuts(batch, errors, psi, excess(batch, outputs))

    def best_cuts(self, k: int, examples: Any, w: FloatVector, batch: IntVector) -> Cuts:
        """The cuts of the `k` best outputs of each example, best first; the examples offer `KBest`."""
        repeated, outputs = examples.decode_best(w, batch, k, error_scale=self.error_scale)
        errors, psi = examples.difference(repeated, outputs)
        return Cuts(repeated, errors, psi)
