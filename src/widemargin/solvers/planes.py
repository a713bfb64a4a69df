"""Planes: cuts of the whole risk. 1-slack and bundle methods build their model of the risk from them.

With R(w) = C Σ c_i ℓ(ξ_i(w)) the risk, ℓ the hinge or its square, one pass of the oracle at w gives the plane

    R(v) ≥ b − ⟨v, a⟩ for every v,   a = Σ α_i a_i,   b = R(w) + ⟨w, a⟩

with the cuts a_i of the pass and α_i the slope of their loss (`Problem.risk`). Planes are cuts of one block with
cap 1, so they live in a `CutStore` of one block. The model of P that they form,

    min_v  ½‖v‖² + ½μ‖v − ŵ‖² + max_k (b_k − ⟨v, a_k⟩)_+

has the dual  max_α Σ bα − ‖μŵ + Σ αa‖² / (2 (1 + μ)) + const,  Σ α ≤ 1,  and its optimum at
v = (μŵ + Σ αa) / (1 + μ). μ = 0 is the 1-slack method; μ > 0 holds v near the centre ŵ.

When φ(gold) of block i moves by s_i, its cuts move by κ_i s_i (`CutStore.rebase`), and a plane by Σ α_i κ_i s_i. So
planes that remember the *parts* α_i κ_i of their blocks can be rebased.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector
from widemargin.core import Loss
from widemargin.core.cut_store import CutStore, Renumbering
from widemargin.core.cuts import Cuts, WorkingSets, add, keep_products, product, remove, take_place
from widemargin.core.evidence import Evidence, evidence_of, smooth_doubt
from widemargin.core.objective import Kind
from widemargin.core.oracle import CutVisit
from widemargin.core.problem import Problem
from widemargin.core.products import inner, times
from widemargin.core.solver import Solver
from widemargin.core.sparse import Rows, add_rows, compressed, dot, expanded, take_rows
from widemargin.errors import WidemarginError
from widemargin.solvers.qp import pair_steps

MOST_STEPS = 100_000
PRECISION = 1e-3  # the programme is solved to this share of the gap
FLOOR = 1e-13  # but not beyond this share of the objective, where rounding begins
ROUNDING = 1e-9
MOST_IDLE = 50  # rounds after which an idle plane is removed


@kernel
def _add_plane(sets: WorkingSets, plane: Cuts, dense: FloatVector) -> None:
    """Add a plane and its products with the others; `dense` is its a as a dense vector."""
    a = plane.a
    slot = add(sets, plane.block[0], plane.b[0], a, a.indptr[0], a.indptr[1])
    take_place(sets, slot)
    other = sets.after[slot]
    while other >= 0:
        value = dot(sets.indices, sets.values, sets.begin[other], sets.end[other], dense)
        sets.values[sets.end[slot] + sets.place[other]] = value
        other = sets.after[other]
    keep_products(sets, slot)


@kernel
def _lay_out(sets: WorkingSets, order: IntVector, K: FloatMatrix) -> None:
    """Write the slots of all planes to `order` and their products to `K`."""
    n = 0
    slot = sets.first[0]
    while slot >= 0:
        order[n] = slot
        K[n, n] = sets.norm[slot]
        for k in range(n):
            K[n, k] = K[k, n] = product(sets, order[k], slot)
        n += 1
        slot = sets.after[slot]


@kernel
def _products(sets: WorkingSets, order: IntVector, w: FloatVector) -> FloatVector:
    out = np.empty(len(order))
    for k in range(len(order)):
        out[k] = dot(sets.indices, sets.values, sets.begin[order[k]], sets.end[order[k]], w)
    return out


class Plane(NamedTuple):
    """The risk at a point, the b and a of its plane there, and the parts of the blocks, empty unless wanted.

    b is not computed as R(w) + ⟨w, a⟩, where the two may cancel: it is Σ α_i b_i, minus R(w) for the squared hinge.
    """

    value: float
    b: float
    a: FloatVector
    parts: FloatVector


@dataclass(slots=True)
class Planes:
    """The weights and planes at the end of a run, with α and parts, for the next run to start from.

    `weights` are the C c_i of the problem that the planes belong to; `cache` holds cuts of single blocks, if any.
    """

    w: FloatVector
    weights: FloatVector
    store: CutStore
    parts: FloatMatrix
    cache: CutStore | None = None
    origin: Any = None

    def rebase(self, shifts: Rows, *, times_error: bool) -> "Planes":
        """The planes after φ(gold) of every block has moved by its row of `shifts`."""
        if len(self.store) and not self.parts.size:
            raise WidemarginError("planes without parts cannot be rebased; set keep_parts of the problem")
        slots, planes = self.store.everything()
        parts = self.parts[slots]
        a = expanded(planes.a, len(self.w))
        for k in range(len(a)):
            add_rows(parts[k], shifts, a[k])
        store = CutStore(1, self.store.memory)
        store.insert(planes._replace(a=compressed(a)), self.store.sets.alpha[slots], idle=True)
        cache = None if self.cache is None else self.cache.rebase(shifts, times_error=times_error)
        return replace(self, store=store, parts=parts, cache=cache, origin=None)

    def renumber(self, new: Renumbering) -> "Planes":
        """The weights and the cuts of single blocks, renumbered; planes, being sums over all blocks, are dropped."""
        w, kept = np.zeros(new.n_weights), new.weights >= 0
        w[new.weights[kept]] = self.w[kept]
        cache = None if self.cache is None else self.cache.renumber(new)
        return Planes(w, np.empty(0), CutStore(1, self.store.memory), np.empty((0, 0)), cache)


@dataclass(slots=True)
class PlaneState:
    """The point `w` where the oracle is asked next, the planes, how long each was idle, and the best dual value.

    `parts` holds a row per slot of the store if the problem wants them to be kept.
    """

    w: FloatVector
    store: CutStore
    idle: IntVector = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    bound: float = 0.0
    parts: FloatMatrix = field(default_factory=lambda: np.empty((0, 0)))

    def flaw(self, problem: Problem) -> str:
        """A complaint if α exceeds its cap or the parts do not fit the planes."""
        fits = self.parts.shape[1] == problem.n_blocks and len(self.parts) >= len(self.store.sets.b)
        if self.parts.size and not (problem.keep_parts and fits):
            return "has parts that are not those of its planes"
        return "" if self.store.sets.mass[0] <= 1.0 + ROUNDING else "has more α than is allowed"

    def add(self, plane: Plane) -> None:
        """Add a plane."""
        self._add(plane.b, plane.a, plane.parts)

    def _add(self, b: float, a: FloatVector, parts: FloatVector) -> None:
        indices = np.flatnonzero(a).astype(np.int32)
        rows = Rows(np.array([0, len(indices)], dtype=np.int64), indices, a[indices])
        plane = Cuts(np.zeros(1, dtype=np.int32), np.array([b]), rows)
        if not len(self.store.reserve(plane).b):
            return
        _add_plane(self.store.sets, plane, a)
        if len(parts):
            slot = int(self.store.sets.first[0])
            if slot >= len(self.parts):
                more = np.zeros((2 * (slot + 1), len(parts)))
                if self.parts.size:
                    more[: len(self.parts)] = self.parts
                self.parts = more
            self.parts[slot] = parts

    def adopt(self, planes: Planes, problem: Problem) -> bool:
        """Take over planes of blocks with the same weights C c_i; False if the weights differ."""
        if not np.array_equal(planes.weights, problem.C * problem.c):
            return False
        slots, found = planes.store.everything()
        for k, slot in enumerate(slots.tolist()):
            a = expanded(take_rows(found.a, np.array([k])), problem.n_weights)[0]
            before = len(self.store)
            self._add(float(found.b[k]), a, planes.parts[slot] if planes.parts.size else np.empty(0))
            if len(self.store) > before:
                self.store.sets.alpha[self.store.sets.first[0]] = planes.store.sets.alpha[slot]
                self.store.sets.mass[0] += planes.store.sets.alpha[slot]
        return True

    @property
    def evidence(self) -> Evidence:
        """The planes: cuts of the one block of a store, with cap 1."""
        return evidence_of(self.store, len(self.w), np.ones(1))

    def warm_start(self, problem: Problem, w: FloatVector, cache: CutStore | None = None) -> Planes:
        """The planes of this state and its weights `w`, for the next run to start from."""
        return Planes(w.copy(), problem.C * problem.c, self.store, self.parts, cache)

    def solve(self, tolerance: float, mu: float = 0.0, centre: FloatVector | None = None) -> float:
        """Solve the model, move w to its optimum, remove idle planes; return max_k (b_k − ⟨w, a_k⟩)_+ there."""
        sets = self.store.sets
        n = len(self.store)
        order, K = np.empty(n, dtype=np.int32), np.zeros((n + 1, n + 1))
        _lay_out(sets, order, K)
        b, alpha = sets.b[order], np.append(sets.alpha[order], 0.0)
        alpha[n] = max(1.0 - alpha[:n].sum(), 0.0)
        known = alpha.copy()
        offset = np.zeros(n) if centre is None else _products(sets, order, centre)

        def optimise(alpha: FloatVector, mu: float) -> FloatVector:
            F = np.append(b - (mu * offset + times(K, alpha)[:n]) / (1.0 + mu), 0.0)
            pair_steps(K / (1.0 + mu), F, alpha, n, 0.0, tolerance, MOST_STEPS)
            return F

        F = optimise(alpha, mu)
        sets.alpha[order] = alpha[:n]
        combination = self.store.combination(len(self.w))
        self.w = combination if centre is None else (mu * centre + combination) / (1.0 + mu)
        active = alpha[:n] > 0
        if mu:  # keep the best α without the proximity term: it is the evidence, and a start for the next model
            optimise(known, 0.0)
            sets.alpha[order] = known[:n]
            active, alpha = active | (known[:n] > 0), known
        sets.mass[0] = alpha[:n].sum()
        self.bound = max(self.bound, inner(b, alpha[:n]) - 0.5 * inner(alpha, times(K, alpha)))
        self._age(order, active)
        return float(F.max())

    def _age(self, order: IntVector, active: BoolVector) -> None:
        """Remove planes that have been idle for long."""
        sets = self.store.sets
        if len(self.idle) < len(sets.b):
            self.idle = np.append(self.idle, np.zeros(len(sets.b) - len(self.idle), dtype=np.int32))
        self.idle[order] = np.where(active, 0, self.idle[order] + 1)
        for slot in order[self.idle[order] > MOST_IDLE].tolist():
            remove(sets, 0, slot)
            self.idle[slot] = 0


def plane_at(problem: Problem, w: FloatVector, keep: Callable[[Cuts], None] = lambda cuts: None) -> Plane:
    """The plane at `w`, by a pass of the oracle; `keep` is called with the cuts of every batch.

    It needs each cut, not only their sum: the rounding error of smooth cuts depends on the scores of every example.
    """
    b, parts = 0.0, np.zeros(problem.n_blocks if problem.keep_parts else 0)

    def each(visit: CutVisit, slopes: FloatVector) -> None:
        nonlocal b
        b += inner(slopes, visit.cuts.b)
        if problem.objective.kind == "smooth":
            b -= smooth_doubt(slopes, visit.slacks + visit.sizes(slopes, w))
        if problem.keep_parts:
            parts[visit.block] = slopes * visit.cuts.b if problem.objective.times_error else slopes
        keep(visit.cuts)

    value, a = problem.risk(w, each)
    return Plane(value, b - value if problem.loss == "squared_hinge" else b, a, parts)


class PlaneSolver(Solver, Protocol):
    """A solver with planes: it defines its own start and epochs, and inherits the rest."""

    losses: ClassVar[tuple[Loss, ...]] = ("hinge", "squared_hinge")
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")

    def dual(self, problem: Problem, state: Any) -> float:
        """The best optimum so far of the model without its proximity term, below P everywhere."""
        bound: float = state.bound
        return bound

    def evidence(self, problem: Problem, state: Any) -> Evidence | None:
        """The planes; None for smooth objectives, where b may be mere rounding: a full pass certifies these."""
        return None if problem.objective.kind == "smooth" else state.evidence
