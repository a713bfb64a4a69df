"""PosLearn (Sarawagi & Gupta 2008, §4): a slack for every position that an output can be wrong at.

    ξ_ic(w) = max over y wrong at c of L_c(y) (1 − ⟨w, ψ_i(y)⟩),   Δ_i(y) = Σ_c L_c(y)

Gold must be separated from every output that is wrong anywhere, not only from the worst of all. Summed over c, the
slacks are at least the slack of slack scaling (Claim 4.1). The cut of y at c is a = L_c(y) ψ_i(y), b = L_c(y).

An example has a cut for each of its positions, and each may differ from gold everywhere, so memory grows at least with
the square of the length; an example that could need too much (`core.checks`) is refused.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.checks import MemoryNeed
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Examples, Positions
from widemargin.core.objective import Objective
from widemargin.core.sparse import scaled_rows


@dataclass(frozen=True, slots=True)
class PositionWise(Objective):
    """PosLearn: one slack per position."""

    requires: ClassVar[tuple[type, ...]] = (Positions,)
    times_error: ClassVar[bool] = True
    memory: ClassVar[MemoryNeed] = MemoryNeed(
        "violator_bytes",
        "position-wise slacks, which have a cut for each position",
        "Use the objective margin or approximate-slack, or cut the example into shorter ones",
    )

    def is_exact(self, examples: Examples) -> bool:
        """True, unless the examples say that their violators may not be the worst (`structures.custom`)."""
        return bool(getattr(examples, "exact_violators", True))

    def blocks(self, examples: Examples) -> IntVector:
        """One block per position, those of an example side by side."""
        n_positions = cast("Positions", examples).n_positions
        return np.repeat(np.arange(examples.n_examples, dtype=np.int32), n_positions)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut L_c ψ, L_c of the worst output that is wrong at c, for every position c."""
        positional = cast("Positions", examples)
        errors, psi = positional.violators(w, batch)
        n_positions = positional.n_positions
        counts = n_positions[batch]
        # The block numbers of each example: consecutive, from its first block on.
        first = (np.cumsum(n_positions) - n_positions)[batch] - (np.cumsum(counts) - counts)
        blocks = np.repeat(first, counts) + np.arange(counts.sum())
        return Cuts(blocks.astype(np.int32), errors, scaled_rows(psi, errors))
