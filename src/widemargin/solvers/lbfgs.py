"""L-BFGS for smooth objectives (Nocedal & Wright 2006, Algorithms 7.4 and 7.5).

    d = −H ∇P(w);   w ← w + t d,   t by the strong Wolfe conditions

with H the inverse Hessian estimated from the last `memory` steps (`solvers.curvature`). One iteration is one epoch: a
pass over the data for every t tried, usually one. ½‖w‖² makes P 1-strongly convex, hence

    P* ≥ P(w) − ½‖∇P(w)‖²

at every w: the certificate costs nothing.
"""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.choices import Loss
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.curvature import Pairs, Point, direction, keep, no_pairs
from widemargin.solvers.planes import risk

MOST_TRIALS = 12
DECREASE, CURVATURE = 1e-4, 0.9  # the Wolfe conditions
LONGER = 4.0  # while no step is too long


@dataclass(slots=True)
class LBFGSState:
    """The point `w` with P and ∇P there, the pairs, and the best lower bound on P so far."""

    w: FloatVector
    gradient: FloatVector
    pairs: Pairs
    value: float = np.inf
    bound: float = 0.0


class _Trial(NamedTuple):
    """P and its slope after a step `t`."""

    t: float
    value: float
    slope: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LBFGS(Solver):
    """L-BFGS with the last `memory` pairs, each of which takes as much memory as the weights."""

    memory: int = number(6, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge",)
    kinds: ClassVar[tuple[Kind, ...]] = ("smooth",)
    descends: ClassVar[bool] = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> LBFGSState:
        """Weights zero, or a copy of `w`; the first epoch computes P there."""
        w = start_weights(problem, w, cuts)
        return LBFGSState(w, np.zeros(len(w)), no_pairs(self.memory, len(w)))

    def epoch(self, problem: Problem, state: LBFGSState, rng: np.random.Generator) -> None:
        """One iteration; the state is consistent whenever cuts are asked for."""
        if np.isinf(state.value):
            _arrive(state, _point(problem, state.w))
        reached = _search(problem, state, direction(state.pairs, state.gradient, problem.n_threads))
        if reached is not None:
            keep(state.pairs, Point(state.w, state.value, state.gradient), reached, problem.n_threads)
            _arrive(state, reached)
        else:
            _point(problem, state.w)  # so that the problem remembers the slacks there
            state.pairs.n = 0  # the pairs may be at fault: start again from the gradient alone

    def weights(self, state: LBFGSState) -> FloatVector:
        """The last point."""
        return state.w

    def dual(self, problem: Problem, state: LBFGSState) -> float | None:
        """The largest P(w) − ½‖∇P(w)‖² so far; 0 at first, since P is never less. None if P is not convex."""
        return state.bound if problem.convex else None


def _point(problem: Problem, w: FloatVector) -> Point:
    """P and ∇P at `w`, by a pass over the data in a fixed order; the problem then remembers the slacks there."""
    loss, a = risk(problem, w)[:2] if problem.summed is None else problem.summed.risk(problem, w)
    return Point(w, problem.regulariser(w) + loss, np.subtract(w, a, out=a))


def _arrive(state: LBFGSState, point: Point) -> None:
    state.w, state.value, state.gradient = point
    state.bound = max(state.bound, point.value - 0.5 * float(point.gradient @ point.gradient))


def _search(problem: Problem, state: LBFGSState, d: FloatVector) -> Point | None:
    """A point along `d` that fulfils the Wolfe conditions, or else the best one tried; None if P is nowhere less.

    The minimum is enclosed by a step that is too short and one that is too long (Algorithm 3.5). Near the optimum
    rounding defeats the conditions before it hides the decrease of P; then any decrease will do.
    """
    start = short = _Trial(0.0, state.value, float(state.gradient @ d))
    long, best, t = None, None, 1.0
    if start.slope >= 0:
        return None
    for _ in range(MOST_TRIALS):
        ahead = t * d
        ahead += state.w
        reached = _point(problem, ahead)
        trial = _Trial(t, reached.value, float(reached.gradient @ d))
        if reached.value < (state.value if best is None else best.value):
            best = reached
        if trial.value > start.value + DECREASE * t * start.slope or trial.value > short.value:
            long = trial
        elif abs(trial.slope) <= -CURVATURE * start.slope:
            return reached
        elif trial.slope > 0:
            long = trial
        else:
            short = trial
        t = LONGER * t if long is None else _between(short, long)
    return best


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
