"""Steps with one rate for all weights, which decay lazily: w ← (1 − ηλ) w − ηg, with g the gradient of a batch.

All weights decay alike, so the state keeps the product of all decays, `scale`, and its value when a weight was last up
to date, `seen`: w = scale · v, where v = w / seen changes only with a gradient. The average of w, with weight t³ for
step t (a polynomial decay; Shamir & Zhang 2013), is lazy, too: Σ_t t³·scale_t·v_t = mass·v + past with
mass = Σ_t t³·scale_t. A change of v subtracts itself, times the mass before it, from `past`.

The gradient of the squared hinge grows with the slack, so long steps diverge. With L = 2 Σ c_i‖a_i‖², a bound on
the curvature of a batch, η is divided by 1 + ηL: for one cut, −ηg then leads to the minimum of its loss +
‖w − w_old‖² / 2η.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts
from widemargin.core.dense import inner
from widemargin.core.problem import Problem
from widemargin.core.solver import start_weights
from widemargin.solvers.subgradient import Gradient, gradient, tangents

SMALLEST_SCALE = 1e-6
"""The product of decays restarts below this, long before it underflows, since the average would lose digits."""


@dataclass(slots=True)
class DescentState:
    """Weights with their lazy decay and average, after `t` steps.

    `total` is the sum of t³ over all steps. `square` is ‖w‖², and ‖w‖ is kept within `radius`. `eta0` is the first rate
    of solvers that search for one.
    """

    w: FloatVector
    seen: FloatVector
    past: FloatVector
    scale: float = 1.0
    mass: float = 0.0
    total: float = 0.0
    t: int = 0
    square: float = 0.0
    radius: float = inf
    eta0: float = 0.0

    def flaw(self, problem: Problem) -> str:
        """A complaint if a decay or a rate is impossible."""
        known = self.scale > 0 and self.mass >= 0 and self.total >= 0 and self.t >= 0 and self.eta0 >= 0
        return "" if known and (self.seen > 0).all() else "has impossible decays or rates"

    def catch_up(self, runs: LongMatrix) -> None:
        """Bring the weights of the runs [begin, end) up to date."""
        _catch_up(self.w, self.seen, self.scale, runs)

    def step(self, decay: float, eta: float, g: Gradient) -> None:
        """w ← decay · w − ηg, then projected onto the ball of radius `radius`."""
        self._scale(decay)
        self.square += _add(self.w, self.seen, self.past, self.scale, self.mass, eta, g)
        if self.square > self.radius**2:
            self._scale(self.radius / sqrt(self.square))
        self.t += 1
        weight = float(self.t) ** 3
        self.mass += weight * self.scale
        self.total += weight

    def _scale(self, factor: float) -> None:
        self.scale *= factor
        self.square *= factor**2
        if self.scale < SMALLEST_SCALE:
            _rescale(self.w, self.seen, self.past, self.scale, self.mass)
            self.scale, self.mass = 1.0, 0.0

    def last(self) -> FloatVector:
        """w after the last step."""
        return self.w * (self.scale / self.seen)

    def move(self, w: FloatVector) -> None:
        """Go on from `w`; rates and the average so far stay."""
        self.past += self.mass * (self.w / self.seen - w / self.scale)
        self.w[:], self.seen[:], self.square = w, self.scale, inner(w, w)

    def count(self, steps: int) -> None:
        """Pretend that so many steps were made, with these weights after each."""
        self.t, self.total = steps, float(steps * (steps + 1) // 2) ** 2
        self.mass = self.total * self.scale

    def average(self) -> FloatVector:
        """The weighted average of w over all steps."""
        return (self.mass * (self.w / self.seen) + self.past) / self.total if self.total else self.w


def new_state(problem: Problem, w: FloatVector | None, cuts: CutStore | None) -> DescentState:
    """The state before the first step."""
    weights = start_weights(problem, w, cuts)
    return DescentState(weights, np.ones(problem.n_weights), np.zeros(problem.n_weights))


def descend(
    problem: Problem,
    state: DescentState,
    batches: list[IntVector],
    strength: float,
    eta: Callable[[int], float],
    lazy: bool,
) -> None:
    """Make a step for every batch, with the rate eta(t) after t steps."""
    for cuts, alpha in tangents(problem, state, batches, lazy):
        rate = eta(state.t)
        if problem.loss == "squared_hinge":
            rate /= 1.0 + rate * _curvature(alpha, problem.c, cuts)
        state.step(max(1.0 - rate * strength, 0.0), rate, gradient(alpha, cuts.a))


@kernel
def _catch_up(w: FloatVector, seen: FloatVector, scale: float, runs: LongMatrix) -> None:
    for run in range(len(runs)):
        for k in range(runs[run, 0], runs[run, 1]):
            j = np.uint64(k)
            w[j] *= scale / seen[j]
            seen[j] = scale


@kernel
def _rescale(w: FloatVector, seen: FloatVector, past: FloatVector, scale: float, mass: float) -> None:
    """Bring all weights and `past` up to date, so that scale and mass may restart at one and zero."""
    for j in range(len(w)):
        v = w[j] / seen[j]
        past[j] += mass * v
        w[j] = scale * v
        seen[j] = 1.0


@kernel
def _add(
    w: FloatVector, seen: FloatVector, past: FloatVector, scale: float, mass: float, eta: float, gradient: Gradient
) -> float:
    """w −= ηg; return by how much ‖w‖² has grown."""
    growth = 0.0
    for k in range(len(gradient.indices)):
        j, step = np.uint64(gradient.indices[k]), eta * gradient.values[k]
        before = w[j] * (scale / seen[j])
        w[j] = before - step
        seen[j] = scale
        past[j] += mass * (step / scale)
        growth += w[j] * w[j] - before * before
    return growth


@kernel
def _curvature(alpha: FloatVector, c: FloatVector, cuts: Cuts) -> float:
    """L of the cuts with α > 0."""
    total = 0.0
    for k in range(len(alpha)):
        if alpha[k] > 0.0:
            square = 0.0
            for entry in range(cuts.a.indptr[k], cuts.a.indptr[k + 1]):
                square += cuts.a.values[entry] * cuts.a.values[entry]
            total += 2.0 * c[cuts.block[k]] * square
    return total
