"""The averaged structured perceptron (Collins 2002; Chang & Yih 2013, §2.1).

    ŷ = argmax_y ⟨w, φ(x_i, y)⟩;   w ← w + ψ_i(ŷ);   return the average of w over all steps

Examples of a batch are decoded at one w. `online` keeps the average; every example counts as a step.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.core.sparse import Rows
from widemargin.solvers.online import AveragedSolver, AveragedState, add_averaged, small_batches


@kernel
def _update(w: FloatVector, u: FloatVector, t: int, weight: FloatVector, psi: Rows) -> None:
    for k in range(len(weight)):
        add_averaged(weight[k], psi, k, w, u, t + k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron(AveragedSolver):
    """Averaged perceptron; `batch_size` examples are decoded at one w (None: a small part of the problem's choice)."""

    batch_size: int | None = number(None, least=1)

    average: ClassVar[bool] = True  # type: ignore[misc]  # of the protocol, where it is a parameter
    goes_on_from: ClassVar[Literal["weights", "own weights", "own state"]] = "own weights"

    @property
    def heeds_errors(self) -> bool:
        """False: all mistakes are equal."""
        return False

    def epoch(self, problem: Problem, state: AveragedState, rng: np.random.Generator) -> None:
        """One pass: w += ψ for every example with a wrong prediction."""
        for batch in small_batches(problem, rng, self.batch_size):
            mistakes = problem.mistakes(state.w, batch)
            _update(state.w, state.u, state.t, problem.example_weight[batch], mistakes.a)
            state.t += len(batch)
