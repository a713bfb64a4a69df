"""AdaGrad, the online primal subgradient method (Kummerfeld et al. 2015, Algorithm 1; Duchi et al. 2011).

    q ← q + g²;   ½‖w‖²:  w ← (w√q − ηg) / (ηλ + √q);   ‖w‖₁:  w ← soft threshold of w − ηg/√q by ηλ/√q

for every weight, with g the gradient of a batch and q = δ at first. The paper calls λ C; here it follows from the C of
the problem, which weighs losses, not the penalty (`subgradient`). These are the steps of `adaptive` with the rate η/√q,
which the state holds instead of q.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.choices import Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers import adaptive
from widemargin.solvers.adaptive import AdaptiveState, Lagging, step
from widemargin.solvers.subgradient import Gradient


@kernel
def _update(state: Lagging, eta: float, gradient: Gradient) -> None:
    """Algorithm 1, UPDATE-ACTIVE, at the weights with a gradient."""
    for k in range(len(gradient.indices)):
        j, g = np.uint64(gradient.indices[k]), gradient.values[k]
        root = eta / state.rate[j]
        step(state, j, g, eta / np.sqrt(root * root + g * g))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaGrad(Solver):
    """AdaGrad with either penalty.

    Parameters
    ----------
    eta : η, about how far the first step moves a weight; of 0.01, 0.03, 0.1 and 0.3 the default led to the least
        objective on generated addresses, for small and large C
    delta : δ, where the sums q of squared gradients start
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    eta: float = number(0.03, above=0.0)
    delta: float = number(1e-6)
    batch_size: int | None = number(None, least=1)
    lazy: bool = True

    penalties: ClassVar[tuple[Penalty, ...]] = ("l2", "l1")
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")
    online: ClassVar[bool] = True
    goes_on_from: ClassVar[Literal["weights", "own weights", "own state"]] = "own state"
    mixes: ClassVar[bool] = True
    usual_epochs: ClassVar[int | None] = 20

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> AdaptiveState:
        """Weights zero, or a copy of `w`; q = δ."""
        rate = self.eta / np.sqrt(self.delta)
        return AdaptiveState(**adaptive.beginning(problem, start_weights(problem, w, cuts), rate))

    def epoch(self, problem: Problem, state: AdaptiveState, rng: np.random.Generator) -> None:
        """Algorithm 1, one iteration."""
        for gradient in adaptive.gradients(problem, state, rng, self.batch_size, self.lazy):
            _update(state.lagging, self.eta, gradient)

    def weights(self, state: AdaptiveState) -> FloatVector:
        """The weights, all brought up to date."""
        return adaptive.current_weights(state)
