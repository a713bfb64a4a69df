"""Shared by solvers with a working set of cuts per block: their state, its dual value, and warm starts.

    D(α) = Σ bα − ½‖Σ αa‖² − ½ Σ_i ridge_i A_i²,   A_i = Σ_y α_i(y) ≤ cap_i,   α ≥ 0,   w = Σ αa

covers both losses: the hinge has cap = C c_i and ridge = 0, the squared hinge cap = ∞ and ridge = 1 / (2 C c_i).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts, WorkingSets, violation
from widemargin.core.evidence import Evidence
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError

DRIFT, TINY = 1e-8, 1e-12  # how far sums that are updated step by step may differ from sums computed afresh
MATURE = 4  # epochs after which w changes slowly enough for the largest batches


class Dual(NamedTuple):
    """The state as kernels see it."""

    w: FloatVector
    sets: WorkingSets
    cap: FloatVector
    ridge: FloatVector
    gap: FloatVector


@dataclass(slots=True)
class DualState:
    """The weights w = Σ αa and the working sets that hold the α; cap, ridge and last known gap of every block.

    `warm` says that the state began with the cuts of another run.
    """

    w: FloatVector
    store: CutStore
    cap: FloatVector
    ridge: FloatVector
    gap: FloatVector
    epochs: int = 0
    warm: bool = False

    def flaw(self, problem: Problem) -> str:
        """A complaint if α exceeds the caps or w is not Σ αa; both would make D too large."""
        return flaw_of_limits(problem, self.cap, self.ridge, self.store.sets) or flaw_of_sum(self.w, self.store)

    @property
    def age(self) -> int:
        """The number of epochs; a warm state counts as `MATURE` epochs older."""
        return self.epochs + (MATURE if self.warm else 0)

    @property
    def view(self) -> Dual:
        """The state as kernels see it; ask for it again after the store has made room."""
        return Dual(self.w, self.store.sets, self.cap, self.ridge, self.gap)


def _best_scale(problem: Problem, state: DualState) -> float:
    """The t with the largest D(tα): the given α may not suit the C of this problem."""
    w, mass = state.store.combination(problem.n_weights), state.store.sets.mass
    linear, quadratic = state.store.linear_term, inner(w, w) + inner(state.ridge, mass**2)
    most = largest_scale(state.store, state.cap)
    return float(np.clip(linear / quadratic if quadratic > 0 else most, 0.0, most))


def largest_scale(store: CutStore, cap: FloatVector) -> float:
    """The largest t for which tα exceeds no cap."""
    mass = store.sets.mass
    return float(np.min(cap[mass > 0] / mass[mass > 0], initial=np.inf))


def _gaps(problem: Problem, state: DualState) -> FloatVector:
    """The gap of every block (`blocks`) with the slacks that the oracle last saw; ∞ where it has seen none."""
    loss = np.maximum(problem.slacks, 0.0) ** (1 if problem.loss == "hinge" else 2)
    inner, mass = _inner(state.view), state.store.sets.mass
    gap = problem.C * problem.c * loss - inner + 0.5 * state.ridge * mass**2
    return np.where(np.isnan(gap), np.inf, gap)


@kernel
def _inner(dual: Dual) -> FloatVector:
    """Σ α (b − ⟨w, a⟩) of every block."""
    inner = np.zeros(len(dual.cap))
    for block in range(len(inner)):
        slot = dual.sets.first[block]
        while slot >= 0:
            inner[block] += dual.sets.alpha[slot] * violation(dual.sets, slot, dual.w)
            slot = dual.sets.after[slot]
    return inner


def value(state: DualState) -> float:
    """D(α)."""
    mass = state.store.sets.mass
    return state.store.linear_term - 0.5 * inner(state.w, state.w) - 0.5 * inner(state.ridge, mass**2)


def limits(problem: Problem) -> tuple[FloatVector, FloatVector]:
    """Cap and ridge of every block."""
    c = problem.C * problem.c
    if problem.loss == "hinge":
        return c, np.zeros(len(c))
    return np.full(len(c), np.inf), 1.0 / np.maximum(2.0 * c, 1e-300)


def flaw_of_limits(problem: Problem, cap: FloatVector, ridge: FloatVector, sets: WorkingSets) -> str:
    """A complaint if these are not the limits of the problem or α exceeds them, or ""."""
    if not all(map(np.array_equal, (cap, ridge), limits(problem))):
        return "has limits of α that are not those of the problem"
    return "" if (sets.mass <= cap * (1.0 + DRIFT)).all() else "has more α than is allowed"


def flaw_of_sum(w: FloatVector, store: CutStore) -> str:
    """A complaint if w differs from Σ αa by more than rounding, or ""."""
    live = store.live()
    most = DRIFT * inner(store.sets.alpha[live], np.sqrt(store.sets.norm[live])) + TINY
    close = (np.abs(w - store.combination(len(w))) <= most).all()
    return "" if close else "has weights that are not those of its cuts"


def growing(problem: Problem, epochs: int) -> int:
    """A batch size: small at first, since the first cuts change w the most and so go stale soonest."""
    return max(1, problem.batch_size // (48, 12, 4, 2, 1)[min(epochs, MATURE)])


def new_cuts(problem: Problem, state: Any, rng: np.random.Generator, size: int) -> Iterator[Cuts]:
    """The oracle's cuts of one batch after another, each at the w of that moment; the store has room for them."""
    for batch in problem.batches(rng, size):
        yield state.store.reserve(problem.cuts(state.w, batch))


def cached_blocks(store: CutStore, rng: np.random.Generator) -> IntVector:
    """The blocks that have cuts, shuffled."""
    return rng.permutation(np.flatnonzero(store.sets.size).astype(np.int32))


class DualSolver(Solver, Protocol):
    """A solver with working sets: it defines its own epochs and inherits the rest."""

    state: ClassVar[type[DualState]] = DualState
    products: ClassVar[bool] = True

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> Any:
        """The state at α = 0; at the dual point of `cuts`; or at the tangents that the oracle finds at `w`."""
        cap, ridge = limits(problem)
        if cuts is not None and not isinstance(cuts, CutStore):  # planes have no α of single blocks
            w, cuts = cuts.w, None
        if cuts is not None and len(cuts.sets.first) != problem.n_blocks:
            raise WidemarginError(
                f"the cuts to start from are of {len(cuts.sets.first)} blocks, but there are {problem.n_blocks} now"
            )
        store = problem.cut_store(products=self.products)
        state = self.state(np.zeros(problem.n_weights), store, cap, ridge, np.full(len(cap), np.inf))
        if cuts is not None:
            store.adopt(cuts, problem.c > 0)
            state.warm = len(store) > 0
        elif w is not None:
            for found in problem.full_pass(w):
                store.insert(found, problem.tangent(found, w))
        if len(store):
            store.scale(_best_scale(problem, state))
            state.w = store.combination(problem.n_weights)
        if cuts is not None and cuts.seen is not None and np.isfinite(cuts.seen).any():
            problem.slacks[:] = cuts.seen
            self.inform(problem, state)
        return state

    def inform(self, problem: Problem, state: Any) -> None:
        """Set the gap of every block at w."""
        state.gap = _gaps(problem, state)

    def weights(self, state: Any) -> FloatVector:
        """w = Σ αa, which every step updates."""
        w: FloatVector = state.w
        return w

    def dual(self, problem: Problem, state: Any) -> float:
        """D(α)."""
        return value(state)

    def evidence(self, problem: Problem, state: Any) -> Evidence:
        """The working sets."""
        return problem.evidence(state.store)

    def warm_start(self, problem: Problem, state: Any) -> CutStore:
        """The working sets."""
        store: CutStore = state.store
        return store

    def kept_cuts(self, state: Any) -> CutStore | None:
        """The working sets."""
        store: CutStore = state.store
        return store

    def on_a_part(self) -> Solver | None:
        """Itself: every step on a block changes w by the change of its α."""
        return self
