"""The average of w over all steps of a mistake-driven solver, kept lazily.

With u = Σ t·δ_t over the updates w ← w + δ_t, each with the number t of steps before it, the mean of w over T steps is
w − u / T; so an update touches no more of u than of w.
"""

from dataclasses import dataclass

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import CutStore
from widemargin.core.problem import Problem
from widemargin.core.solver import start_weights
from widemargin.core.sparse import Rows, add_scaled


@dataclass(slots=True)
class AveragedState:
    """The current weights `w`, the lazy part `u` of their average, and the number `t` of steps made."""

    w: FloatVector
    u: FloatVector
    t: int = 0

    @property
    def mean(self) -> FloatVector:
        """The average of w over all steps."""
        return self.w - self.u / max(self.t, 1)

    def last(self) -> FloatVector:
        """w after the last step."""
        return self.w

    def move(self, w: FloatVector) -> None:
        """Go on from `w`: an update like any other."""
        self.u += self.t * (w - self.w)
        self.w[:] = w


def start(problem: Problem, w: FloatVector | None, cuts: CutStore | None) -> AveragedState:
    """The state before the first step: weights zero, a copy of `w`, or the combination of `cuts`."""
    return AveragedState(start_weights(problem, w, cuts), np.zeros(problem.n_weights))


def batches(problem: Problem, rng: np.random.Generator, size: int | None) -> list[IntVector]:
    """Batches of `size`; by default smaller than those of dual solvers, since no line search corrects stale updates."""
    return problem.batches(rng, size or max(1, problem.batch_size // 48))


@kernel
def add_averaged(step: float, rows: Rows, row: int, w: FloatVector, u: FloatVector, t: int) -> None:
    """w += step · a for a row a, after t steps."""
    begin, end = rows.indptr[row], rows.indptr[row + 1]
    add_scaled(step, rows.indices, rows.values, begin, end, w)
    add_scaled(step * t, rows.indices, rows.values, begin, end, u)
