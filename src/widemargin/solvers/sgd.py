"""Stochastic subgradient descent with Bottou's schedule (Bottou 2004; Chang & Yih 2013, §4.3).

    w ← (1 − ηλ) w − ηg,   η = η₀ / (1 + η₀λt)^¾

for the gradient g of batch t, with λ as in `online`. Candidates for η₀ are ½, ¼, … 1/32, and smaller ones as long as
they are better still. The one with the least objective on 1,000 examples, after a pass over them, is used. All of these
numbers are parameters.

As *printed* in the paper, λ = 1/C, which leaves out the number of batches: w shrinks that many times more, though never
past 0. No η₀ below 1/32 is tried then, and the objective is that of the 1,000 examples only, not of all.

**Steps are lazy.** All weights decay alike, so the state keeps the product of all decays, `scale`, and its value when a
weight was last up to date, `seen`: w = scale · v, where v = w / seen changes only with a gradient. The average of w,
with weight t³ for step t (a polynomial decay; Shamir & Zhang 2013), is lazy, too: Σ_t t³·scale_t·v_t = mass·v + past
with mass = Σ_t t³·scale_t. A change of v subtracts itself, times the mass before it, from `past`.

The gradient of the squared hinge grows with the slack, so long steps diverge. With L = 2 Σ c_i‖a_i‖², a bound on
the curvature of a batch, η is divided by 1 + ηL: for one cut, −ηg then leads to the minimum of its loss +
‖w − w_old‖² / 2η.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.online import Gradient, gradient, small_batches, small_size, strength, tangents

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
            # All weights and `past` are brought up to date; then scale and mass restart.
            self.w /= self.seen
            self.past += self.mass * self.w
            self.w *= self.scale
            self.seen[:], self.scale, self.mass = 1.0, 1.0, 0.0

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


class DescentSolver(Solver, Protocol):
    """A solver that makes lazy steps: it defines its own epochs and inherits the rest."""

    average: bool
    batch_size: int | None

    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")
    online: ClassVar[bool] = True
    mixes: ClassVar[bool] = True
    usual_epochs: ClassVar[int | None] = 20

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> DescentState:
        """Weights zero, or a copy of `w`."""
        return new_state(problem, w, cuts)

    def count_as_epoch(self, problem: Problem, state: DescentState, examples: int) -> None:
        """Treat the weights as the result of an epoch, in the average and in the length of the next step."""
        state.count(examples // small_size(problem, self.batch_size))

    def weights(self, state: DescentState) -> FloatVector:
        """The average of w, or the last."""
        return state.average() if self.average else state.last()


@dataclass(frozen=True, slots=True, kw_only=True)
class SGD(DescentSolver):
    """Stochastic subgradient descent.

    Parameters
    ----------
    eta0 : η₀; None finds one when training begins, at the cost of ten oracle calls for each of 1,000 examples
    average : return the average of w over all steps, with more weight on later ones, instead of the last w
    printed : λ = 1/C and the choice of η₀ as the paper prints them; for comparisons with it
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    first, factor : the first η₀ to try, and the divisor that leads to the next
    samples : how many examples each η₀ is tried on
    least_trials, most_trials : how many η₀ to try
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    eta0: float | None = number(None, above=0.0)
    average: bool = True
    printed: bool = False
    batch_size: int | None = number(None, least=1)
    first: float = number(0.5, above=0.0)
    factor: float = number(2.0, above=1.0)
    samples: int = number(1000, least=1)
    least_trials: int = number(5, least=1)
    most_trials: int = number(30, least=1)
    lazy: bool = True

    def epoch(self, problem: Problem, state: DescentState, rng: np.random.Generator) -> None:
        """One pass, a step per batch; before the first one, find η₀."""
        batches = small_batches(problem, rng, self.batch_size)
        if batches and not state.eta0:
            state.eta0 = self.eta0 or self._best_eta0(problem, state.last(), batches)
        self._pass(problem, state, batches, self._strength(problem, batches), state.eta0)

    def _strength(self, problem: Problem, batches: list[IntVector]) -> float:
        return 1.0 / problem.C if self.printed else strength(problem, batches)

    def _pass(self, problem: Problem, state: DescentState, batches: list[IntVector], lam: float, eta0: float) -> None:
        descend(problem, state, batches, lam, lambda t: eta0 / (1.0 + eta0 * lam * t) ** 0.75, self.lazy)

    def _best_eta0(self, problem: Problem, w: FloatVector, batches: list[IntVector]) -> float:
        """The η₀ with the least objective after a pass from `w` over the first batches, which were drawn at random."""
        sample = batches[: max(1, self.samples // len(batches[0]))]
        grid = self.first / self.factor ** np.arange(self.least_trials if self.printed else self.most_trials)
        values: list[float] = []
        try:
            for eta0 in grid.tolist():
                trial = new_state(problem, w, None)
                self._pass(problem, trial, sample, self._strength(problem, batches), eta0)
                values.append(self._objective(problem, self.weights(trial), sample))
                if len(values) >= self.least_trials and values[-1] > min(values):
                    break
        finally:
            problem.forget()  # slacks at the weights of trials say nothing about the epoch
        return float(grid[np.argmin(values)])

    def _objective(self, problem: Problem, w: FloatVector, sample: list[IntVector]) -> float:
        """P(w), estimated from the sample, or of the sample alone."""
        problem.forget()
        for batch in sample:
            problem.cuts(w, batch)
        if self.printed:
            seen = np.flatnonzero(~np.isnan(problem.slacks))
            return problem.regulariser(w) + problem.C * problem.losses(seen, problem.slacks[seen])
        return problem.primal_estimate(w) or 0.0
