"""Pegasos, the primal estimated subgradient solver (Shalev-Shwartz et al. 2007).

    w ← (1 − ηλ) w − ηg,   η = 1 / λt;   perhaps   w ← w · min(1, √(2 P(0)) / ‖w‖)

for the gradient g of batch t, with λ as in `online`; lazily and with an average, as in `sgd`. The step t = 1
forgets the old w, so weights to start from count as the result of one epoch.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.solvers.online import small_batches, small_size, strength
from widemargin.solvers.sgd import DescentSolver, DescentState, descend, new_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Pegasos(DescentSolver):
    """Pegasos.

    Parameters
    ----------
    project : project w onto the ball that holds the optimum, ½‖w‖² ≤ P(0), at the cost of an oracle pass for P(0)
    average : return the average of w over all steps, with more weight on later ones, instead of the last w
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    project: bool = False
    average: bool = True
    batch_size: int | None = number(None, least=1)
    lazy: bool = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> DescentState:
        """Weights zero, or a copy of `w`."""
        state = new_state(problem, w, cuts)
        if state.w.any():
            state.t = len(problem.weighted_examples) // small_size(problem, self.batch_size) + 1
        return state

    def epoch(self, problem: Problem, state: DescentState, rng: np.random.Generator) -> None:
        """One pass, a step per batch."""
        if self.project:
            if state.radius == inf:
                state.radius = sqrt(2.0 * problem.primal(np.zeros(problem.n_weights)))
            state.square = float(np.sum(state.last() ** 2))
        batches = small_batches(problem, rng, self.batch_size)
        lam = strength(problem, batches)
        descend(problem, state, batches, lam, lambda t: 1.0 / (lam * (t + 1)), self.lazy)
