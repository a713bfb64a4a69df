"""The proximal bundle method (Kiwiel 1990), which Yu & Joachims 2009 use for their convex subproblems.

The same planes as in the 1-slack method, but the next point is held near the best one so far, the centre ŵ:

    v = argmin  ½‖v‖² + ½μ‖v − ŵ‖² + max_k (b_k − ⟨v, a_k⟩)_+

If P(v) is below P(ŵ) by a fair share of the fall that the model promised, v becomes the centre (a *serious* step), and
μ falls to allow longer steps. Otherwise only the new plane improves the model (a *null* step), and μ rises.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.problem import Problem
from widemargin.core.solver import number, start_weights
from widemargin.solvers.planes import FLOOR, PRECISION, Planes, PlaneSolver, PlaneState, plane_at

SERIOUS = 0.1  # the share of the promised fall that makes a step serious
WIDEST, TIGHTEST = 1e-3, 1e3  # bounds of μ


@dataclass(slots=True)
class BundleState(PlaneState):
    """Planes, the centre and P there, μ, and the fall of P at w that the model promised."""

    centre: FloatVector = field(default_factory=lambda: np.empty(0))
    value: float = np.inf
    mu: float = 1.0
    promised: float = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle(PlaneSolver):
    """Proximal bundle method.

    Parameters
    ----------
    mu : the first μ: how strongly the next point is held near the best one
    """

    mu: float = number(1.0, above=0.0)

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> BundleState:
        """The centre at `w`, or at that of the planes in `cuts`."""
        point = start_weights(problem, w, cuts)
        state = BundleState(point, CutStore(1, problem.cut_memory, products=True), centre=point.copy(), mu=self.mu)
        if isinstance(cuts, Planes):
            state.adopt(cuts, problem)
        return state

    def epoch(self, problem: Problem, state: BundleState, rng: np.random.Generator) -> None:
        """Ask the oracle at w, make a serious or a null step, and solve the model for the next w."""
        plane = plane_at(problem, state.w)
        value = problem.regulariser(state.w) + plane.value
        state.add(plane)
        if state.value - value >= SERIOUS * min(state.promised, state.value):
            state.centre, state.value = state.w, value
            state.mu = max(state.mu / 2, WIDEST)
        else:
            state.mu = min(state.mu * 1.5, TIGHTEST)
        gap = max(state.value - state.bound, 0.0)
        model = state.solve(max(PRECISION * gap, FLOOR * state.value), state.mu, state.centre)
        state.promised = state.value - problem.regulariser(state.w) - model

    def weights(self, state: BundleState) -> FloatVector:
        """The centre, whose P never rises."""
        return state.centre

    def warm_start(self, problem: Problem, state: BundleState) -> Planes:
        """The centre and the planes."""
        return state.warm_start(problem, state.centre)
