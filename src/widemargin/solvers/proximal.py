"""The proximal point method for ‖w‖₁ (Rockafellar 1976), with block-wise dual ascent inside.

Round after round it minimises P plus a term that holds w near the last point, the centre ŵ:

    min_w  ‖w‖₁ + ‖w − ŵ‖² / 2ρ + C Σ c_i ℓ(ξ_i(w))

That term makes the dual smooth: with α on cuts and s = Σ αa, the inner optimum is w = S(z), z = ŵ + ρs, where S is the
soft threshold that moves every weight towards 0 by ρ. S never changes a weight by more than z has changed, so the steps
of `blocks`, made as if w were z with all products times ρ, raise the dual at least as much as they promise. Then w
becomes the centre. At the optimum |s_j| ≤ 1 for every weight, and on the way

    P* ≥ max_t  t Σ bα − t² Σ A_i² / (4 C c_i)   over t‖s‖_∞ ≤ 1        (t ≤ 1 and no last term for the hinge)

is a bound that converges to P*. A large ρ means fewer rounds, each harder to solve. With D = Σ bα − ½ Σ ridge_i A_i²,
ρ grows while the bound is further from D, because of ‖s‖_∞ > 1, than P is; otherwise it shrinks.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.evidence import Evidence
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.blocks import SLIGHT, absorb, sweep
from widemargin.solvers.dual import Dual, cached, flaw_of_limits, growing, largest_scale, limits, new_cuts

SLOWLY = 4  # epochs until there is one more sweep in each
CHANGE = 1.05  # of ρ from one epoch to the next
TIGHTEST, LOOSEST = 1e-4, 1e4  # bounds of ρ


@dataclass(slots=True)
class ProximalState:
    """z, w = S(z), ρ, the working sets with their caps and ridges, and the best bound."""

    w: FloatVector
    z: FloatVector
    rho: float
    store: CutStore
    cap: FloatVector
    ridge: FloatVector
    gap: FloatVector
    bound: float = 0.0
    epochs: int = 0

    def flaw(self, problem: Problem) -> str:
        """A complaint if α exceeds the caps or ρ its bounds."""
        known = TIGHTEST <= self.rho <= LOOSEST or self.epochs == 0
        return flaw_of_limits(problem, self.cap, self.ridge, self.store.sets) if known else "has an impossible rho"

    @property
    def view(self) -> Dual:
        """The state as kernels see it; ask for it again after the store has made room."""
        return Dual(self.w, self.store.sets, self.cap, self.ridge, self.gap, self.z, self.rho)

    def move(self, centre: FloatVector, s: FloatVector) -> None:
        """Make `centre` the centre, given s = Σ αa."""
        self.z = centre + self.rho * s
        self.w = np.sign(self.z) * np.maximum(np.abs(self.z) - self.rho, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProximalPoint(Solver):
    """The proximal point method, the default solver for the penalty l1.

    Parameters
    ----------
    rho : ρ at first
    sweeps : passes over the cached cuts before each oracle pass, at first; their number grows slowly
    steps : at most this many pair steps a visit
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    rho: float = number(0.1, above=0.0)
    sweeps: int = number(5)
    steps: int = number(5, least=1)
    batch_size: int | None = number(None, least=1)

    penalties: ClassVar[tuple[Penalty, ...]] = ("l1",)

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> ProximalState:
        """The centre at `w`, and α = 0 or that of `cuts`."""
        cap, ridge = limits(problem)
        if cuts is not None and not isinstance(cuts, CutStore):
            w, cuts = cuts.w, None
        store = CutStore(problem.n_blocks, problem.cut_memory, products=True)
        if cuts is not None:
            store.adopt(cuts, problem.c > 0)
            store.scale(min(1.0, largest_scale(store, cap)))  # the C of the previous run may have been larger
        centre = np.zeros(problem.n_weights) if cuts is not None else start_weights(problem, w, None)
        state = ProximalState(centre, centre, self.rho, store, cap, ridge, np.full(len(cap), np.inf))
        state.move(centre, store.combination(problem.n_weights))
        return state

    def epoch(self, problem: Problem, state: ProximalState, rng: np.random.Generator) -> None:
        """Sweeps over cached cuts, a pass of the oracle, then a new centre."""
        # The errors of all rounds add up: they must become ever smaller, or w never converges.
        sweeps = self.sweeps + state.epochs // SLOWLY
        for _ in range(sweeps if len(state.store) else 0):
            sweep(cached(state.store, rng), state.view, SLIGHT, SLIGHT, self.steps)
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.epochs)):
            absorb(cuts, state.view, SLIGHT, SLIGHT, self.steps)
        s = state.store.combination(problem.n_weights)
        linear, ridge = state.store.linear_term, 0.5 * inner(state.ridge, state.store.sets.mass**2)
        most = 1.0 / max(float(np.abs(s).max(initial=0.0)), 1e-300)
        t = min(most, linear / (2.0 * ridge) if ridge > 0 else 1.0)
        bound = t * linear - t * t * ridge
        state.bound = max(state.bound, bound)
        primal = problem.primal_estimate(state.w)
        if primal is not None and len(state.store):
            wanting = linear - ridge - bound > primal - (linear - ridge)
            state.rho = float(np.clip(state.rho * (CHANGE if wanting else 1.0 / CHANGE), TIGHTEST, LOOSEST))
        state.move(state.w, s)
        state.epochs += 1

    def weights(self, state: ProximalState) -> FloatVector:
        """The last point."""
        return state.w

    def carried(self, problem: Problem, state: ProximalState) -> CutStore:
        """The working sets."""
        return state.store

    def dual(self, problem: Problem, state: ProximalState) -> float:
        """The best bound so far."""
        return state.bound

    def evidence(self, problem: Problem, state: ProximalState) -> Evidence:
        """The working sets."""
        return problem.evidence(state.store)
