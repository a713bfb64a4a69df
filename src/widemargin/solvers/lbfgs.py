"""L-BFGS for smooth objectives (Nocedal & Wright 2006, Algorithms 7.4 and 7.5).

    d = −H ∇P(w);   w ← w + t d,   t by the strong Wolfe conditions

with H the inverse Hessian estimated from the last `memory` pairs s = w' − w, y = ∇P(w') − ∇P(w). One iteration is one
epoch: a pass over the data for every t tried, usually one. ½‖w‖² makes P 1-strongly convex, hence

    P* ≥ P(w) − ½‖∇P(w)‖²

at every w: the certificate costs nothing.
"""

import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatMatrix, FloatVector
from widemargin.core.choices import Loss
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.planes import risk

MAX_TRIALS = 10


@dataclass(slots=True)
class LBFGSState:
    """The point `w` with P and ∇P there, the pairs, and the best lower bound on P so far.

    Pair number k is in row (k modulo the memory) of `s` and `y`, with ⟨s, y⟩ in `curvature`; `n_pairs` counts all pairs
    ever kept.
    """

    w: FloatVector
    gradient: FloatVector
    s: FloatMatrix
    y: FloatMatrix
    curvature: FloatVector
    value: float = np.inf
    n_pairs: int = 0
    bound: float = 0.0


class _Point(NamedTuple):
    """P and ∇P at `w`."""

    w: FloatVector
    value: float
    gradient: FloatVector


class _Evaluation:
    """P and ∇P as functions; they remember the last point, since SciPy asks for one, then for the other."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.last: _Point | None = None

    def __call__(self, w: FloatVector) -> _Point:
        """Make a pass over the data in a fixed order; the problem then remembers the slacks at `w`."""
        if self.last is None or not np.array_equal(w, self.last.w):
            loss, a, _ = risk(self.problem, w)
            self.last = _Point(w, self.problem.regulariser(w) + loss, w - a)
        return self.last

    def value(self, w: FloatVector) -> float:
        """P(w)."""
        return self(w).value

    def gradient(self, w: FloatVector) -> FloatVector:
        """∇P(w)."""
        return self(w).gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class LBFGS(Solver):
    """L-BFGS with the last `memory` pairs; each takes twice the memory of the weights."""

    memory: int = number(5, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge",)
    kinds: ClassVar[tuple[Kind, ...]] = ("smooth",)
    descends: ClassVar[bool] = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> LBFGSState:
        """Weights zero, or a copy of `w`; the first epoch computes P there."""
        w, shape = start_weights(problem, w, cuts), (self.memory, problem.n_weights)
        return LBFGSState(w, np.zeros(len(w)), np.zeros(shape), np.zeros(shape), np.zeros(self.memory))

    def epoch(self, problem: Problem, state: LBFGSState, rng: np.random.Generator) -> None:
        """One iteration; the state is consistent whenever cuts are asked for."""
        evaluate = _Evaluation(problem)
        if np.isinf(state.value):
            _arrive(state, evaluate(state.w))
        reached = _search(evaluate, state, self._direction(state))
        if reached is not None:
            self._remember(state, reached)
            _arrive(state, reached)
        else:
            evaluate(state.w)
            state.n_pairs = 0  # the pairs may be at fault: start again from the gradient alone

    def weights(self, state: LBFGSState) -> FloatVector:
        """The last point."""
        return state.w

    def dual(self, problem: Problem, state: LBFGSState) -> float | None:
        """The largest P(w) − ½‖∇P(w)‖² so far; 0 at first, since P is never less. None if P is not convex."""
        return state.bound if problem.convex else None

    def _direction(self, state: LBFGSState) -> FloatVector:
        """−H ∇P by the two-loop recursion; before any pair −∇P, no longer than 1."""
        with one_blas_thread("scipy.linalg.blas"):
            return self._two_loops(state)

    def _two_loops(self, state: LBFGSState) -> FloatVector:
        from scipy.linalg.blas import daxpy  # slow to import

        d = -state.gradient
        if not state.n_pairs:
            return d / max(float(np.linalg.norm(d)), 1.0)
        kept = [k % self.memory for k in range(max(0, state.n_pairs - self.memory), state.n_pairs)]
        alpha = np.zeros(self.memory)
        for k in reversed(kept):
            alpha[k] = (state.s[k] @ d) / state.curvature[k]
            d = daxpy(state.y[k], d, a=-alpha[k])
        newest = state.y[kept[-1]]
        d *= state.curvature[kept[-1]] / (newest @ newest)
        for k in kept:
            beta = (state.y[k] @ d) / state.curvature[k]
            d = daxpy(state.s[k], d, a=alpha[k] - beta)
        return d

    def _remember(self, state: LBFGSState, reached: _Point) -> None:
        """Keep the pair of the step from the state to the point reached."""
        k = state.n_pairs % self.memory
        np.subtract(reached.w, state.w, out=state.s[k])
        np.subtract(reached.gradient, state.gradient, out=state.y[k])
        state.curvature[k] = state.s[k] @ state.y[k]
        # ⟨s, y⟩ ≥ ‖s‖² where P is 1-strongly convex; clearly less is rounding, or P is not convex there.
        if state.curvature[k] > 0.5 * (state.s[k] @ state.s[k]):
            state.n_pairs += 1


def _arrive(state: LBFGSState, point: _Point) -> None:
    state.w, state.value, state.gradient = point
    state.bound = max(state.bound, point.value - 0.5 * float(point.gradient @ point.gradient))


def _search(evaluate: _Evaluation, state: LBFGSState, d: FloatVector) -> _Point | None:
    """A point along `d` where P is less; None if none is found."""
    from scipy.optimize import line_search

    if state.gradient @ d >= 0:
        return None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*line search", RuntimeWarning)  # failures are handled below
        step, *_, slope = line_search(
            evaluate.value, evaluate.gradient, state.w, d, gfk=state.gradient, old_fval=state.value
        )
    # Near the optimum rounding defeats the curvature condition before it hides the decrease of P, and a search that
    # runs out of trials returns a step that it has not evaluated. Then any decrease will do.
    trials = [0.5**k for k in range(MAX_TRIALS)]
    if step is not None and slope is not None:
        trials.insert(0, step)
    for t in trials:
        reached = evaluate(state.w + t * d)
        if reached.value < state.value:
            return reached
    return None
