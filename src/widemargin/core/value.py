"""The value of a problem: P as a function of slacks.

    hinge            P = r(w) + C Σ c_i ξ_i
    squared hinge    P = r(w) + C Σ c_i ξ_i²

with ξ_i the slack of block i and c_i its weight; r(w) is the penalty, ½‖w‖² unless said otherwise (`core.penalty`). C
multiplies the *sum* of the losses. Nothing here decodes.
"""

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector
from widemargin.core import penalty as penalties
from widemargin.core.checks import is_number
from widemargin.core.choices import Loss, Penalty
from widemargin.core.cuts import Cuts
from widemargin.core.dense import inner
from widemargin.core.evidence import Evidence
from widemargin.core.sparse import dots
from widemargin.errors import WidemarginError


class Value:
    """Penalty and losses. Who derives from this has the attributes below."""

    C: float
    loss: Loss
    penalty: Penalty
    l1: float
    c: FloatVector

    def check_value(self) -> None:
        """Raise about the first attribute that is no such thing."""
        if not is_number(self.C) or self.C <= 0:
            raise WidemarginError(f"C must be a positive number, not {self.C!r}")
        if self.loss not in ("squared_hinge", "hinge"):
            raise WidemarginError(f"loss must be 'squared_hinge' or 'hinge', not {self.loss!r}")
        if self.penalty not in penalties.PENALTIES:
            raise WidemarginError(f"penalty must be one of {', '.join(penalties.PENALTIES)}, not {self.penalty!r}")
        if not is_number(self.l1) or self.l1 < 0:
            raise WidemarginError(f"l1 must be a number of at least 0, not {self.l1!r}")

    @property
    def n_blocks(self) -> int:
        """The number of slacks that the objective sums."""
        return len(self.c)

    def regulariser(self, w: FloatVector) -> float:
        """r(w), the penalty."""
        return penalties.value(self.penalty, self.l1, w)

    def losses(self, blocks: AnyArray, slacks: FloatVector) -> float:
        """Σ c_i ℓ(ξ_i) of blocks with these slacks."""
        slacks = np.maximum(slacks, 0.0)
        return inner(self.c[blocks], slacks if self.loss == "hinge" else slacks**2)

    def slopes(self, blocks: IntVector, slacks: FloatVector) -> FloatVector:
        """C c_i ℓ'(ξ_i) of blocks with these slacks; negative slacks count as 0."""
        c = self.C * self.c[blocks]
        return c * (slacks > 0) if self.loss == "hinge" else 2.0 * c * np.maximum(slacks, 0.0)

    def tangent(self, cuts: Cuts, w: FloatVector) -> FloatVector:
        """The α of each cut for which −Σ αa is a subgradient of the losses C Σ c_i ℓ(ξ_i) at `w`."""
        return self.slopes(cuts.block, cuts.b - dots(cuts.a, w))

    def bound(self, evidence: Evidence) -> float:
        """The lower bound on the least P that evidence proves."""
        return evidence.bound(self.penalty, self.l1)
