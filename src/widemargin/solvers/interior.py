"""Cutting planes with a slack per example, whose programme an interior-point method solves (Mehrotra 1992).

Each round asks the oracle for all examples at one point, adds the violated cuts, and moves the point to the optimum of
the programme over all cuts. Every round computes P at its point, so the best point so far is known and returned. Where
blocks share all their weights, as with few dense features, this takes some ten passes of the oracle whatever C is;
ascent on one block at a time may need thousands, because its steps undo each other. Solving the programme loosely saves
steps and costs no rounds: its points then lie well inside the region of possible optima.

    min_w,ξ  ½‖w‖² + Σ_i ℓ_i(ξ_i)   with   s_k = ⟨w, a_k⟩ + ξ_i − b_k ≥ 0 for every cut k of block i, and ξ_i ≥ 0

where ℓ_i is κ_i ξ_i or κ_i ξ_i², κ_i = C c_i. A Newton step on all blocks solves

    (I + Σ_k d_k (a_k − ā_i)(a_k − ā_i)ᵀ + Σ_i r_i ā_i ā_iᵀ) Δw = …,   d_k = α_k / s_k,   ā_i = Σ_k d_k a_k / Σ_k d_k

in which ξ has been eliminated. A block also has a zero cut, a = 0, b = 0: it counts in Σ_k d_k, and with the curvature
2κ_i of ξ_i² it makes r_i = d_0 + 2κ_i Σ_k d_k / (2κ_i + Σ_k d_k), without the last term for κ_i ξ_i. The programme is
dense: if there are fewer cuts than weights, they are first rotated into their own span, which changes no product.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.oracle import PASS_BATCH
from widemargin.core.problem import Problem
from widemargin.core.products import inner, times, weighted_sum
from widemargin.core.solver import Solver, later, number
from widemargin.core.sparse import Rows
from widemargin.solvers.blocks import SLIGHT, absorb
from widemargin.solvers.dual import DualSolver, DualState, value

MOST_STEPS = 60
TO_THE_WALL = 0.995  # the share of the way to the nearest wall that a step may go
LOOSEST = 0.01  # the programme is solved at least to this share of its own value, or its bound may be useless
ALIKE = 100.0
MOST_OPERATIONS = 3e9  # a programme with more multiplications a step than this is not solved at once


class _Programme(NamedTuple):
    """The cuts, sorted by block: dense rows A, their b, block and where each block begins; κ of every block."""

    A: FloatMatrix
    b: FloatVector
    block: LongVector
    begin: LongVector
    kappa: FloatVector
    squared: bool

    def per_block(self, of_cuts: AnyArray) -> AnyArray:
        """The sums over the cuts of each block."""
        sums: AnyArray = np.add.reduceat(of_cuts, self.begin, axis=0)
        return sums

    def per_block_with_zero(self, of_all: FloatVector) -> FloatVector:
        """The sums over the cuts of each block and its zero cut, which come after all others."""
        n = len(self.b)
        return self.per_block(of_all[:n]) + of_all[n:]

    def to_all(self, of_blocks: FloatVector) -> FloatVector:
        """The value of its block for each cut, then for each zero cut."""
        return np.concatenate([of_blocks[self.block], of_blocks])

    @property
    def b_of_all(self) -> FloatVector:
        """b of each cut, then 0 for each zero cut."""
        return np.concatenate([self.b, np.zeros(len(self.begin))])

    def margins(self, w: FloatVector) -> FloatVector:
        """⟨w, a⟩ of each cut, then 0 for each zero cut."""
        return np.concatenate([times(self.A, w), np.zeros(len(self.begin))])

    def primal(self, w: FloatVector) -> float:
        """The objective at w, with the least ξ."""
        slack = np.maximum(np.maximum.reduceat(self.b - times(self.A, w), self.begin), 0.0)
        return 0.5 * inner(w, w) + inner(self.kappa, slack**2 if self.squared else slack)

    def dual(self, alpha: FloatVector) -> float:
        """A lower bound on the objective, given any α ≥ 0 within the caps."""
        w, mass = weighted_sum(alpha, self.A), self.per_block(alpha)
        ridge = float(np.sum(mass**2 / self.kappa)) / 4.0 if self.squared else 0.0
        return inner(self.b, alpha) - 0.5 * inner(w, w) - ridge

    def within_caps(self, alpha: FloatVector) -> FloatVector:
        """`alpha` scaled down where a block exceeds its cap κ; the squared hinge has none."""
        if self.squared:
            return alpha
        over: FloatVector = np.minimum(1.0, self.kappa / np.maximum(self.per_block(alpha), 1e-300))
        return alpha * over[self.block]


def n_operations(problem: Problem, state: DualState) -> float:
    """About how many multiplications a step on the programme over the cuts of `state` takes."""
    n = len(state.store)
    return float(n * min(n, problem.n_weights) ** 2)


def solve_at_once(problem: Problem, state: DualState, tolerance: float) -> FloatVector:
    """Move all α of `state` to the optimum of its programme, up to `tolerance`; return the optimal w.

    This w is not summed from the α, which may be so large that rounding would show. D never falls: if it would by
    rounding, the old α are kept.
    """
    sets = state.store.sets
    slots, cuts = state.store.everything()
    if not len(slots):
        return state.w.copy()
    begin = np.flatnonzero(np.diff(cuts.block, prepend=-1))
    blocks = cuts.block[begin]
    block = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(slots)))
    kappa = problem.C * problem.c[blocks]
    with one_blas_thread("scipy.linalg"):
        span = _Span(cuts.a, problem.n_weights)
        programme = _Programme(span.rows, cuts.b, block, begin, kappa, problem.loss == "squared_hinge")
        w, alpha = _optimum(programme, tolerance, problem.meter.may_end)
    before, w_before, reached = sets.alpha[slots], state.w, value(state)
    _take(state, slots, blocks, alpha, programme.per_block(alpha))
    if not value(state) >= reached:
        _take(state, slots, blocks, before, programme.per_block(before))
        state.w = w_before
    return span.lift(w)


def _take(state: DualState, slots: LongVector, blocks: IntVector, alpha: FloatVector, mass: FloatVector) -> None:
    """Set the α of the cuts, and w = Σ αa."""
    sets = state.store.sets
    sets.alpha[slots], sets.mass[blocks] = alpha, mass
    state.w = state.store.combination(len(state.w))


class _Span:
    """Sparse rows as dense ones: without empty columns, or rotated into their span where that is narrower.

    A rotation mixes columns, and rounding then hides small ones behind large ones. So columns of similar sizes are
    rotated together, and those of other sizes apart.
    """

    def __init__(self, rows: Rows, n_weights: int) -> None:
        from scipy.sparse import csc_array, csr_array

        columns, places = np.unique(rows.indices, return_inverse=True)
        shape = (len(rows.indptr) - 1, len(columns))
        whole = csc_array(csr_array((rows.values, places, rows.indptr), shape=shape))
        self.n_weights = n_weights
        self.groups = [_Group(columns[each], whole[:, each]) for each in _alike(np.sqrt((whole * whole).sum(axis=0)))]
        self.rows = cast("FloatMatrix", np.hstack([np.empty((shape[0], 0)), *(each.rows for each in self.groups)]))

    def lift(self, w: FloatVector) -> FloatVector:
        """The weight vector for `w` in the coordinates of the dense rows."""
        out, begin = np.zeros(self.n_weights), 0
        for each in self.groups:
            end = begin + each.rows.shape[1]
            out[each.columns] = each.lift(w[begin:end])
            begin = end
        return out


def _alike(sizes: FloatVector) -> list[LongVector]:
    """Columns in groups, the largest first; the largest of a group is at most `ALIKE` times as large as the others."""
    order, groups = np.argsort(-sizes, kind="stable"), []
    while len(order):
        n = int(np.searchsorted(-sizes[order], -sizes[order[0]] / ALIKE, side="right"))
        groups.append(np.sort(order[:n]))
        order = order[n:]
    return groups


class _Group:
    """Some columns of the rows, rotated into their span if there are more of them than rows."""

    def __init__(self, columns: IntVector, sparse: Any) -> None:
        self.columns, self.sparse = columns, sparse
        self.back: AnyArray | None = None  # from the span to coefficients of the rows
        if sparse.shape[1] <= sparse.shape[0]:
            self.rows = cast("FloatMatrix", sparse.toarray())
        else:
            values, vectors = np.linalg.eigh((sparse @ sparse.T).toarray())
            kept = values > 1e-14 * values[-1]
            root = np.sqrt(values[kept])
            self.rows, self.back = cast("FloatMatrix", vectors[:, kept] * root), vectors[:, kept] / root

    def lift(self, w: FloatVector) -> FloatVector:
        """The weights of these columns for `w` in the coordinates of the dense rows."""
        found: FloatVector = w if self.back is None else self.sparse.T @ times(self.back, w)
        return found


def _optimum(programme: _Programme, tolerance: float, may_end: Callable[[], None]) -> tuple[FloatVector, FloatVector]:
    """The w and α at which the duality gap of the programme is at most `tolerance`, or as far as rounding allows."""
    n = len(programme.b)
    highest = float(programme.b.max())
    # Begin at w = 0, with every ξ a little above the least that is allowed.
    w, best = np.zeros(programme.A.shape[1]), np.zeros(n)
    if highest <= 0.0:
        return w, best
    xi = np.maximum(np.maximum.reduceat(programme.b, programme.begin), 0.0) + 0.1 * highest
    s = programme.to_all(xi) - programme.b_of_all
    n_cuts = programme.per_block_with_zero(np.ones(len(s)))
    alpha = programme.to_all(_slope(programme, xi) / n_cuts)
    bound = 0.0
    for _ in range(MOST_STEPS):
        may_end()
        feasible = programme.within_caps(alpha[:n])
        reached = programme.dual(feasible)
        if reached > bound:
            best, bound = feasible, reached
        primal = programme.primal(w)
        if primal - bound <= min(tolerance, LOOSEST * primal):
            break
        try:
            step = _Newton(programme, w, xi, s, alpha)
        except np.linalg.LinAlgError:
            break
        # First aim at the optimum itself; the length of that step tells how far to stay off the walls.
        mean = inner(alpha, s) / len(s)
        _, _, ds, dalpha = step.to(-alpha * s)
        t = min(_reach(s, ds), _reach(alpha, dalpha))
        aimed = inner(alpha + t * dalpha, s + t * ds) / len(s)
        dw, dxi, ds, dalpha = step.to((aimed / mean) ** 3 * mean - alpha * s - ds * dalpha)
        t = min(_reach(s, ds), _reach(alpha, dalpha))
        w, xi, s, alpha = w + t * dw, xi + t * dxi, s + t * ds, alpha + t * dalpha
    return w, best


def _slope(programme: _Programme, xi: FloatVector) -> FloatVector:
    """ℓ' at ξ."""
    return 2.0 * programme.kappa * xi if programme.squared else programme.kappa


def _reach(value: FloatVector, change: FloatVector) -> float:
    """The largest step ≤ 1 that keeps every value positive."""
    falling = change < 0
    return min(1.0, TO_THE_WALL * float(np.min(-value[falling] / change[falling], initial=np.inf)))


class _Newton:
    """Newton steps from one point, for any right-hand side of the condition α s = …."""

    def __init__(
        self, programme: _Programme, w: FloatVector, xi: FloatVector, s: FloatVector, alpha: FloatVector
    ) -> None:
        A, n, curvature = programme.A, len(programme.b), 2.0 * programme.kappa * programme.squared
        self.programme, self.s, self.alpha = programme, s, alpha
        self.off_w = w - weighted_sum(alpha[:n], A)
        self.off_xi = _slope(programme, xi) - programme.per_block_with_zero(alpha)
        self.off_s = programme.margins(w) + programme.to_all(xi) - programme.b_of_all - s
        self.d = d = alpha / s
        total = programme.per_block_with_zero(d)
        self.pull, self.stiff = programme.per_block(A * d[:n, None]), total + curvature
        mean = self.pull / total[:, None]
        around = (A - mean[programme.block]) * np.sqrt(d[:n, None])
        means = mean * np.sqrt(d[n:] + total * curvature / self.stiff)[:, None]
        H = around.T @ around + means.T @ means
        H[np.diag_indices_from(H)] += 1.0
        # Columns of very different sizes are scaled to one size, or rounding would hide the small ones.
        self.sizes = 1.0 / np.sqrt(H.diagonal())
        H *= self.sizes[:, None] * self.sizes
        H[np.diag_indices_from(H)] += 1e-13
        self.factor = cast("FloatMatrix", np.linalg.cholesky(H))

    def to(self, products: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector, FloatVector]:
        """The changes of w, ξ, s and α that solve the conditions to first order, with α s changed by `products`."""
        programme, n = self.programme, len(self.programme.b)
        q = products / self.s - self.d * self.off_s
        of_w = weighted_sum(q[:n], programme.A) - self.off_w
        of_xi = programme.per_block_with_zero(q) - self.off_xi
        dw = self.sizes * _solve(self.factor, self.sizes * (of_w - weighted_sum(of_xi / self.stiff, self.pull)))
        dxi = (of_xi - times(self.pull, dw)) / self.stiff
        ds = programme.margins(dw) + programme.to_all(dxi) + self.off_s
        return dw, dxi, ds, (products - self.alpha * ds) / self.s


def _solve(factor: FloatMatrix, right: FloatVector) -> FloatVector:
    """x with L Lᵀ x = `right`."""
    from scipy.linalg import solve_triangular

    half = solve_triangular(factor, right, lower=True, check_finite=False)
    solved: FloatVector = solve_triangular(factor, half, lower=True, trans="T", check_finite=False)
    return solved


WARM = 0.01  # the programme of the previous run's cuts is solved to this share of the dual


@dataclass(slots=True)
class InteriorState(DualState):
    """The dual state, the point to ask the oracle at next, and the best point so far with P there."""

    point: FloatVector = later("n_weights")
    best: FloatVector = later("n_weights")
    least: float = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Interior(DualSolver):
    """Cutting planes by interior points.

    Parameters
    ----------
    precision : the programme is solved to this share of the gap that the oracle showed
    """

    precision: float = number(0.1, above=0.0, below=1.0)

    state: ClassVar[type[DualState]] = InteriorState

    def epoch(self, problem: Problem, state: Any, rng: np.random.Generator) -> None:
        """One round: the oracle for all examples at one point, then the programme over all cuts."""
        if not state.epochs and len(state.store):  # cuts of a previous run give a better point than its weights
            state.point = solve_at_once(problem, state, WARM * value(state))
        at = state.point if len(state.point) else state.w
        examples = problem.weighted_examples
        for begin in range(0, len(examples), PASS_BATCH):
            cuts = state.store.reserve(problem.cuts(at, examples[begin : begin + PASS_BATCH]))
            absorb(cuts, state.view._replace(w=at), SLIGHT, SLIGHT, 0)
        seen = np.flatnonzero(problem.c)
        primal = problem.regulariser(at) + problem.C * problem.losses(seen, problem.slacks[seen])
        if primal < state.least:
            state.best, state.least = at.copy(), primal
        gap = max(state.least - self.dual(problem, state), 0.0)
        state.point = solve_at_once(problem, state, self.precision * gap)
        state.epochs += 1

    def on_a_part(self) -> Solver | None:
        """None: all blocks are solved at once, and w is computed from their α."""
        return None

    def weights(self, state: Any) -> FloatVector:
        """The best point so far, which is never worse than the start."""
        return state.best if state.least < np.inf else state.w
