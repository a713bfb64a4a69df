"""The averaged structured perceptron (Collins 2002; Chang & Yih 2013, §2.1).

    ŷ = argmax_y ⟨w, φ(x_i, y)⟩;   w ← w + ψ_i(ŷ);   return the average of w over all steps

The average is kept lazily: with u = Σ t·ψ_t over the updates, each with the number t of examples seen before it,
the mean of w over T examples is w − u / T. Examples of a batch are decoded at one w.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.cut_store import CutStore
from widemargin.problem import Problem
from widemargin.solvers.base import Solver, start_weights
from widemargin.sparse import Rows, add_scaled


@dataclass(slots=True)
class PerceptronState:
    """The current weights `w`, the lazy part `u` of their average, and the number `t` of examples seen."""

    w: FloatVector
    u: FloatVector
    t: int = 0


@kernel
def _update(w: FloatVector, u: FloatVector, t: int, weight: FloatVector, psi: Rows) -> None:
    for k in range(len(weight)):
        begin, end = psi.indptr[k], psi.indptr[k + 1]
        add_scaled(weight[k], psi.indices, psi.values, begin, end, w)
        add_scaled(weight[k] * (t + k), psi.indices, psi.values, begin, end, u)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron(Solver):
    """Averaged perceptron; `batch_size` examples are decoded at one w (None: a small part of the problem's choice)."""

    batch_size: int | None = None

    online: ClassVar[bool] = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> PerceptronState:
        """Weights zero, or a copy of `w`."""
        return PerceptronState(start_weights(problem, w, cuts), np.zeros(problem.n_weights))

    def epoch(self, problem: Problem, state: PerceptronState, rng: np.random.Generator) -> None:
        """One pass: w += ψ for every example that is predicted wrongly."""
        # A stale update is not mended by a line search, so batches are smaller than those of dual solvers.
        for batch in problem.batches(rng, self.batch_size or max(1, problem.batch_size // 48)):
            mistakes = problem.mistakes(state.w, batch)
            _update(state.w, state.u, state.t, problem.example_weight[batch], mistakes.a)
            state.t += len(batch)

    def weights(self, state: PerceptronState) -> FloatVector:
        """The average of w over all examples seen."""
        return state.w - state.u / max(state.t, 1)
