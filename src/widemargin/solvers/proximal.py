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

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.core import Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts, drop_idle, largest
from widemargin.core.evidence import Evidence
from widemargin.core.problem import Problem
from widemargin.core.products import inner, lookup_for
from widemargin.core.solver import Solver, number, start_weights
from widemargin.solvers.blocks import SLIGHT, SPREAD, Room, gather, look, meet, new_room, room_for
from widemargin.solvers.dual import Dual, cached_blocks, flaw_of_limits, growing, largest_scale, limits, new_cuts
from widemargin.solvers.qp import pair_steps

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
        return Dual(self.w, self.store.sets, self.cap, self.ridge, self.gap)

    def move(self, centre: FloatVector, s: FloatVector) -> None:
        """Make `centre` the centre, given s = Σ αa."""
        self.z = centre + self.rho * s
        self.w = np.sign(self.z) * np.maximum(np.abs(self.z) - self.rho, 0.0)


@kernel
def _solve_block(i: int, dual: Dual, z: FloatVector, rho: float, room: Room, n: int, max_steps: int) -> None:
    """Make pair steps on the `n` cuts laid out, and apply the change to z and w."""
    # Beside `blocks.solve_block`: with ρ as a case of that, all other solvers took an eighth longer.
    sets = dual.sets
    for k in range(n):
        for other in range(n):
            room.K[k, other] *= rho
    for k in range(n + 1):
        room.K[n, k] = room.K[k, n] = 0.0
    room.F[n], room.alpha[n] = 0.0, max(dual.cap[i] - sets.mass[i], 0.0)
    pair_steps(room.K, room.F, room.alpha, n, dual.ridge[i], SLIGHT, max_steps)
    mass, idle = 0.0, False
    for k in range(n):
        slot = room.order[k]
        step = rho * (room.alpha[k] - sets.alpha[slot])
        if step != 0.0:
            # w = S(z) changes only where z does, so it is updated in the same loop.
            for entry in range(sets.begin[slot], sets.end[slot]):
                j = sets.indices[entry]
                z[j] += step * sets.values[entry]
                size = max(abs(z[j]) - rho, 0.0)
                dual.w[j] = size if z[j] > 0.0 else -size
            sets.alpha[slot] = room.alpha[k]
        mass += room.alpha[k]
        idle = idle or room.alpha[k] == 0.0
    sets.mass[i] = mass
    if idle:
        drop_idle(sets, i)


@kernel
def _absorb(cuts: Cuts, dual: Dual, z: FloatVector, rho: float, max_steps: int) -> None:
    """Visit the block of every new cut; admit the cut if it is violated, and solve the block."""
    lookup = lookup_for(cuts.a)
    room = new_room(largest(dual.sets))
    for k in range(len(cuts.b)):
        room = room_for(cuts.block[k], dual, room)
        n = meet(k, cuts, dual, SLIGHT, room, lookup)
        if n >= 0:
            _solve_block(cuts.block[k], dual, z, rho, room, n, max_steps)


@kernel
def _sweep(blocks: IntVector, dual: Dual, z: FloatVector, rho: float, max_steps: int) -> None:
    """Visit `blocks` with their cached cuts only."""
    room = new_room(largest(dual.sets))
    for i in blocks:
        n = gather(i, dual, room)
        look(i, dual, room, n, -np.inf)
        if room.found[SPREAD] > SLIGHT:
            _solve_block(i, dual, z, rho, room, n, max_steps)


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
            _sweep(cached_blocks(state.store, rng), state.view, state.z, state.rho, self.steps)
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.epochs)):
            _absorb(cuts, state.view, state.z, state.rho, self.steps)
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

    def warm_start(self, problem: Problem, state: ProximalState) -> CutStore:
        """The working sets."""
        return state.store

    def dual(self, problem: Problem, state: ProximalState) -> float:
        """The best bound so far."""
        return state.bound

    def evidence(self, problem: Problem, state: ProximalState) -> Evidence:
        """The working sets."""
        return problem.evidence(state.store)
