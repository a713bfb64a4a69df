"""AdaDelta (Zeiler 2012, Algorithm 1), with a penalty.

    G ← ρG + (1 − ρ) g²;   d = −√(D + ε) / √(G + ε) · g;   D ← ρD + (1 − ρ) d²

for every weight, with g the gradient of a batch. Zeiler adds d to w; here it is the step of `adagrad` with the rate
√(D + ε) / √(G + ε), so that either penalty is applied exactly, and lazily. The averages G and D of a weight decay only
in steps with a gradient for it: otherwise those of a rare feature would be gone by its next occurrence.

Rates do not vanish, so w never comes to rest; it ends near the optimum rather than at it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.solvers.adagrad import AdaptiveSolver, AdaptiveState, Lagging, beginning, gradients, step
from widemargin.solvers.online import Gradient


@dataclass(slots=True, kw_only=True)
class AdaDeltaState(AdaptiveState):
    """The averages of the squares of gradients and of steps."""

    G: FloatVector
    D: FloatVector


@kernel
def _update(state: Lagging, G: FloatVector, D: FloatVector, rho: float, epsilon: float, gradient: Gradient) -> None:
    for k in range(len(gradient.indices)):
        j, g = np.uint64(gradient.indices[k]), gradient.values[k]
        G[j] = rho * G[j] + (1.0 - rho) * g * g
        rate = np.sqrt((D[j] + epsilon) / (G[j] + epsilon))
        D[j] = rho * D[j] + (1.0 - rho) * (rate * g) * (rate * g)
        step(state, j, g, rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaDelta(AdaptiveSolver):
    """AdaDelta with either penalty.

    Parameters
    ----------
    rho : ρ, the share of the averages that a step keeps
    epsilon : ε, keeps the rate from being 0 / 0 at first
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    rho: float = number(0.95, below=1.0)
    epsilon: float = number(1e-6, above=0.0)
    batch_size: int | None = number(None, least=1)
    lazy: bool = True

    usual_epochs: ClassVar[int | None] = 30

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> AdaDeltaState:
        """Weights zero, or a copy of `w`; G = D = 0."""
        return AdaDeltaState(
            **beginning(problem, w, cuts, 1.0), G=np.zeros(problem.n_weights), D=np.zeros(problem.n_weights)
        )

    def epoch(self, problem: Problem, state: AdaDeltaState, rng: np.random.Generator) -> None:
        """One pass, a step per batch."""
        for g in gradients(problem, state, rng, self.batch_size, self.lazy):
            _update(state.lagging, state.G, state.D, self.rho, self.epsilon, g)
