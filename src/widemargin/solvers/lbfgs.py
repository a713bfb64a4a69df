"""L-BFGS for smooth objectives (Nocedal & Wright 2006, Algorithms 7.4 and 7.5).

    d = −H ∇P(w);   w ← w + t d,   t by the strong Wolfe conditions

with H the inverse Hessian estimated from the last `memory` steps (`solvers.curvature`). One iteration is one epoch: a
pass over the data for every t tried, usually one. The tangents of a pass at w add up to R(v) ≥ β − ⟨v, s⟩ with
s = −∇R(w), β = R(w) + ⟨w, s⟩, so every point gives a lower bound on P (`core.penalty`) at no cost.

P = S + λ‖w‖₁ with S smooth has kinks (the penalties "l1" and "elastic-net"), but within an orthant ‖w‖₁ is linear. So
the search is that of OWL-QN (Andrew & Gao 2007). Let v be the shortest subgradient of P. The direction is d = −H v with
the H of S. Coordinates of it that would not descend, d_j v_j ≥ 0, are dropped, and the search stays in the orthant of
w, or of −v where w_j = 0:

    v_j = ∇_j + λ sign(w_j);   where w_j = 0:  sign(∇_j) · max(|∇_j| − λ, 0),   ∇ = ∇S(w)
    w ← π(w + t d),   π_j = 0 if the sign would change,   t by P(w') ≤ P(w) + γ ⟨v, w' − w⟩
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.penalty import PENALTIES, bound
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.curvature import Pairs, Point, direction, keep, no_pairs

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


CURVATURE = 0.9  # of the Wolfe conditions
STRONGLY_CONVEX = ("l2", "elastic-net")
LONGER = 4.0  # while no step is too long


@dataclass(slots=True)
class LBFGSState:
    """The point `w` with P and ∇S there, where S is P without λ‖w‖₁; the pairs; the best lower bound on P so far.

    `trials` and `step` belong to the last search; it was `stuck` if it found no lower P even along −∇P.
    """

    w: FloatVector
    gradient: FloatVector
    pairs: Pairs
    value: float = np.inf
    bound: float = 0.0
    trials: int = 0
    step: float = 0.0
    stuck: bool = False


class _Trial(NamedTuple):
    """P and its slope after a step `t`."""

    t: float
    value: float
    slope: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LBFGS(Solver):
    """L-BFGS with the last `memory` pairs, each as large as the weights, and at most `trials` evaluations a search."""

    memory: int = number(6, least=1)
    trials: int = number(12, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge",)
    penalties: ClassVar[tuple[Penalty, ...]] = PENALTIES
    kinds: ClassVar[tuple[Kind, ...]] = ("smooth",)
    descends: ClassVar[bool] = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> LBFGSState:
        """Weights zero, or a copy of `w`; the first epoch computes P there."""
        w = start_weights(problem, w, cuts)
        return LBFGSState(w, np.zeros(len(w)), no_pairs(self.memory, len(w)))

    def epoch(self, problem: Problem, state: LBFGSState, rng: np.random.Generator) -> None:
        """One iteration; the state is consistent whenever cuts are asked for."""
        if np.isinf(state.value):
            _arrive(problem, state, _point(problem, state.w))
        steepest = slope(problem, state.w, state.gradient)
        reached = self._search(problem, state, direction(state.pairs, steepest, problem.n_threads), steepest)
        if reached is not None:
            before = Point(state.w, state.value, state.gradient)
            _arrive(problem, state, reached)
            steepest = slope(problem, state.w, state.gradient)
            keep(state.pairs, before, reached, steepest, problem.penalty in STRONGLY_CONVEX, problem.n_threads)
        else:
            _point(problem, state.w)  # so that the problem remembers the slacks there
            state.stuck = not state.pairs.n
            state.pairs.n = 0  # the pairs may be at fault: start again from the gradient alone

    def _search(self, problem: Problem, state: LBFGSState, d: FloatVector, steepest: FloatVector) -> Point | None:
        """The next point along `d`; None if P is nowhere less."""
        begin = Point(state.w, state.value, steepest)
        search = search_orthant if l1_strength(problem) else _search
        reached, state.trials, state.step = search(partial(_point, problem), begin, d, self.trials)
        return reached

    def weights(self, state: LBFGSState) -> FloatVector:
        """The last point."""
        return state.w

    def dual(self, problem: Problem, state: LBFGSState) -> float | None:
        """The largest lower bound so far, at first 0; None if P is not convex or has no penalty."""
        return state.bound if problem.convex and problem.penalty != "none" else None

    def ended(self, problem: Problem, state: LBFGSState) -> str:
        """The word ``precision`` if rounding hides any further decrease of P."""
        return "precision" if state.stuck else ""


def _point(problem: Problem, w: FloatVector) -> Point:
    """P and ∇S at `w`, by a pass over the data in a fixed order; the problem then remembers the slacks there."""
    loss, a = problem.risk(w)
    gradient = np.subtract(w if problem.penalty in STRONGLY_CONVEX else 0.0, a, out=a)
    return Point(w, problem.regulariser(w) + loss, gradient)


def _arrive(problem: Problem, state: LBFGSState, point: Point) -> None:
    state.w, state.value, state.gradient = point
    state.stuck = False
    strong = problem.penalty in STRONGLY_CONVEX
    s = np.subtract(point.w, point.gradient) if strong else -point.gradient
    beta = point.value - problem.regulariser(point.w) + inner(point.w, s)
    state.bound = max(state.bound, bound(problem.penalty, problem.l1, beta, s))


def _search(evaluate: Evaluate, begin: Point, d: FloatVector, most_trials: int) -> tuple[Point | None, int, float]:
    """A point along `d` that fulfils the Wolfe conditions, or else the best one tried; None if P is nowhere less.

    Also returns the number of trials and the last step. The minimum is enclosed by a step that is too short and one
    that is too long (Algorithm 3.5). Near the optimum rounding may break the conditions while P still decreases; then
    any decrease is accepted.
    """
    start = short = _Trial(0.0, begin.value, inner(begin.gradient, d))
    long, best, t, step = None, None, 1.0, 0.0
    if start.slope >= 0:
        return None, 0, 0.0
    for number_of_trial in range(1, most_trials + 1):
        ahead = t * d
        ahead += begin.w
        reached = evaluate(ahead)
        trial = _Trial(t, reached.value, inner(reached.gradient, d))
        if reached.value < (begin.value if best is None else best.value):
            best, step = reached, t
        if trial.value > start.value + DECREASE * t * start.slope or trial.value > short.value:
            long = trial
        elif abs(trial.slope) <= -CURVATURE * start.slope:
            return reached, number_of_trial, t
        elif trial.slope > 0:
            long = trial
        else:
            short = trial
        t = LONGER * t if long is None else _between(short, long)
    return best, most_trials, step


def _between(short: _Trial, long: _Trial) -> float:
    """The minimum of the cubic through two trials (equation 3.59), well inside of the interval between them."""
    width = long.t - short.t
    one = short.slope + long.slope - 3.0 * (long.value - short.value) / width
    square = one * one - short.slope * long.slope
    share = 0.5
    if square >= 0.0:
        two = sqrt(square)
        share = 1.0 - (long.slope + two - one) / (long.slope - short.slope + 2.0 * two)
    return short.t + min(max(share, 0.1), 0.9) * width
