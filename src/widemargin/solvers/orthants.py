"""The orthant-wise search of OWL-QN (Andrew & Gao 2007), for P = S + λ‖w‖₁ with S smooth.

Within an orthant ‖w‖₁ is linear. Let v be the shortest subgradient of P. Coordinates of the direction d that would not
descend, d_j v_j ≥ 0, are dropped, and the search stays in the orthant of w, or of −v where w_j = 0:

    v_j = ∇_j + λ sign(w_j);   where w_j = 0:  sign(∇_j) · max(|∇_j| − λ, 0),   ∇ = ∇S(w)
    w ← π(w + t d),   π_j = 0 if the sign would change,   t by P(w') ≤ P(w) + γ ⟨v, w' − w⟩
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.solvers.curvature import Point

DECREASE = 1e-4  # γ, also that of the Wolfe conditions
SHORTEST, LONGEST = 0.1, 0.5  # the next step relative to the last one

Evaluate: TypeAlias = Callable[[FloatVector], Point]


def l1_strength(problem: Problem) -> float:
    """λ; 0 if P is smooth."""
    return {"l1": 1.0, "elastic-net": problem.l1}.get(problem.penalty, 0.0)


def slope(problem: Problem, w: FloatVector, gradient: FloatVector) -> FloatVector:
    """v, from ∇S; the same array where P is smooth."""
    strength = l1_strength(problem)
    return _shortest(w, gradient, strength) if strength else gradient


@kernel
def _shortest(w: FloatVector, gradient: FloatVector, strength: float) -> FloatVector:
    v = np.empty(len(w))
    for j in range(len(w)):
        if w[j] > 0.0:
            v[j] = gradient[j] + strength
        elif w[j] < 0.0:
            v[j] = gradient[j] - strength
        else:
            v[j] = min(gradient[j] + strength, 0.0) + max(gradient[j] - strength, 0.0)
    return v


@kernel
def _ahead(w: FloatVector, v: FloatVector, d: FloatVector, t: float, out: FloatVector) -> float:
    """out = π(w + t d); return ⟨v, out − w⟩."""
    total = 0.0
    for j in range(len(w)):
        there = w[j]
        if d[j] * v[j] < 0.0:
            there += t * d[j]
            if there * w[j] < 0.0 or (w[j] == 0.0 and there * v[j] > 0.0):
                there = 0.0
        total += v[j] * (there - w[j])
        out[j] = there
    return total


def search_orthant(
    evaluate: Evaluate, begin: Point, d: FloatVector, most_trials: int
) -> tuple[Point | None, int, float]:
    """The first point along `d` with enough decrease, or else the best one tried; None if P is nowhere less.

    `begin.gradient` is v. Also returns the number of trials and the last step.
    """
    best, t, step = None, 1.0, 0.0
    for trial in range(1, most_trials + 1):
        ahead = np.empty(len(d))
        change = _ahead(begin.w, begin.gradient, d, t, ahead)
        if change >= 0.0:
            return best, trial - 1, step
        reached = evaluate(ahead)
        if reached.value <= begin.value + DECREASE * change:
            return reached, trial, t
        if reached.value < (begin.value if best is None else best.value):
            best, step = reached, t
        # The minimum of the parabola through both values with this slope at 0.
        share = -0.5 * change / max(reached.value - begin.value - change, 1e-300)
        t *= min(max(share, SHORTEST), LONGEST)
    return best, most_trials, step
