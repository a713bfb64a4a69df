"""L-BFGS for smooth objectives (Nocedal & Wright 2006, Algorithms 7.4 and 7.5).

    d = −H ∇P(w);   w ← w + t d,   t by the strong Wolfe conditions

with H the inverse Hessian estimated from the last `memory` steps (below). One iteration is one epoch: a
pass over the data for every t tried, usually one. The tangents of a pass at w add up to R(v) ≥ β − ⟨v, s⟩ with
s = −∇R(w), β = R(w) + ⟨w, s⟩, so every point gives a lower bound on P (`core.penalty`) at no cost.

P = S + λ‖w‖₁ with S smooth has kinks (the penalties "l1" and "elastic-net"), but within an orthant ‖w‖₁ is linear. So
the search is that of OWL-QN (Andrew & Gao 2007). Let v be the shortest subgradient of P. The direction is d = −H v with
the H of S. Coordinates of it that would not descend, d_j v_j ≥ 0, are dropped, and the search stays in the orthant of
w, or of −v where w_j = 0:

    v_j = ∇_j + λ sign(w_j);   where w_j = 0:  sign(∇_j) · max(|∇_j| − λ, 0),   ∇ = ∇S(w)
    w ← π(w + t d),   π_j = 0 if the sign would change,   t by P(w') ≤ P(w) + γ ⟨v, w' − w⟩

The memory holds pairs s = w' − w, y = ∇P(w') − ∇P(w), and −H ∇P is a combination of them (Chen et al. 2014). The
two-loop recursion of Nocedal & Wright (2006, Algorithm 7.4) only ever adds multiples of the pairs and of ∇P. So it
runs on coefficients, with products looked up in a table, and reads no vector at all. Pairs are read once to update the
table, and once to sum up the direction. Both are as slow as reading memory, so pairs are kept in single precision. H
then belongs to the rounded pairs: it is as good an estimate, and stays positive definite since the products are those
of the rounded pairs, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import run
from widemargin._types import AnyArray, FloatMatrix, FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.penalty import PENALTIES, bound
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number, start_weights

PIECE = 1 << 16  # sums run over pieces of this size, whatever the number of threads
FLATTEST = 1e-8  # the least cosine of the angle between s and y
BLOCK = 1 << 10  # this much of a piece stays in the cache while it is multiplied with all pairs


@dataclass(slots=True)
class StepPairs:
    """Pair number k is in the rows (k modulo the memory) of `s` and `y`; `n` counts the pairs since the start.

    `products` holds the products of all rows of `s`, `y` and then ∇P with each other, except ⟨∇P, ∇P⟩.
    """

    s: AnyArray
    y: AnyArray
    products: FloatMatrix
    n: int = 0


def no_pairs(memory: int, n_weights: int) -> StepPairs:
    """Room for `memory` pairs."""
    s, y = (np.zeros((memory, n_weights), dtype=np.float32) for _ in range(2))
    return StepPairs(s, y, np.zeros((2 * memory + 1, 2 * memory + 1)))


@kernel
def _add_products(vector: AnyArray, s: AnyArray, y: AnyArray, gradient: FloatVector, sums: FloatMatrix) -> None:
    """sums += ⟨vector, s⟩, ⟨vector, y⟩, ⟨vector, ∇P⟩."""
    with_s = with_y = with_gradient = 0.0
    for j in range(len(vector)):
        value = np.float64(vector[j])
        with_s += value * np.float64(s[j])
        with_y += value * np.float64(y[j])
        with_gradient += value * gradient[j]
    sums[0] += with_s
    sums[1] += with_y
    sums[2] += with_gradient


@kernel
def _products(s: AnyArray, y: AnyArray, k: int, gradient: FloatVector, begin: int, end: int, out: FloatMatrix) -> None:
    """Add the products of all rows with s[k], y[k] and ∇P to a table per piece."""
    memory = len(s)
    for first in range(begin, end, BLOCK):
        last, sums = min(first + BLOCK, end), out[first // PIECE]
        newest_s, newest_y, part = s[k, first:last], y[k, first:last], gradient[first:last]
        for row in range(memory):
            _add_products(s[row, first:last], newest_s, newest_y, part, sums[row])
            _add_products(y[row, first:last], newest_s, newest_y, part, sums[memory + row])


@kernel
def _combine(
    s: AnyArray, y: AnyArray, gradient: FloatVector, factors: FloatVector, begin: int, end: int, out: FloatVector
) -> None:
    """out = Σ of all rows and of ∇P times their factors, over a range."""
    memory = len(s)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        part, total = gradient[first:last], out[first:last]
        for j in range(len(total)):
            total[j] = factors[2 * memory] * part[j]
        for k in range(memory):
            of_s, of_y, row_s, row_y = factors[k], factors[memory + k], s[k, first:last], y[k, first:last]
            for j in range(len(total)):
                total[j] += of_s * row_s[j] + of_y * row_y[j]


class Point(NamedTuple):
    """P at `w`, and the gradient there: ∇P, or that of the smooth part of P (`solvers.lbfgs`)."""

    w: FloatVector
    value: float
    gradient: FloatVector


def keep(pairs: StepPairs, before: Point, after: Point, gradient: FloatVector, strong: bool, n_threads: int) -> None:
    """Keep the pair of a step; forget all pairs if P did not curve up on the way.

    `gradient` is the one that `direction` will be asked about next; `strong` says that P is 1-strongly convex.
    """
    memory, k, n = len(pairs.s), pairs.n % len(pairs.s), len(after.w)
    # Without a temporary vector: allocating fresh memory takes longer than filling it.
    np.subtract(after.w, before.w, out=pairs.s[k], casting="same_kind")
    np.subtract(after.gradient, before.gradient, out=pairs.y[k], casting="same_kind")
    tables = np.zeros((-(-n // PIECE), 2 * memory, 3))
    run([partial(_products, pairs.s, pairs.y, k, gradient, *each, tables) for each in _ranges(n, n_threads)])
    for row, found in zip((k, memory + k, 2 * memory), tables.sum(axis=0).T, strict=True):
        pairs.products[row, :-1] = pairs.products[:-1, row] = found
    # ⟨s, y⟩ ≥ ‖s‖² where P is 1-strongly convex; if it is clearly less, rounding is to blame or P is not convex there.
    along, square = pairs.products[k, memory + k], pairs.products[k, k]
    least = 0.5 * square if strong else FLATTEST * sqrt(square * pairs.products[memory + k, memory + k])
    pairs.n = pairs.n + 1 if along > least else 0


def direction(pairs: StepPairs, gradient: FloatVector, n_threads: int) -> FloatVector:
    """−H ∇P; without pairs −∇P, shortened to length 1 if it is longer."""
    d = np.empty(len(gradient))
    if not pairs.n:
        return np.divide(gradient, -max(sqrt(inner(gradient, gradient)), 1.0), out=d)
    factors = _two_loops(pairs)
    run([partial(_combine, pairs.s, pairs.y, gradient, factors, *each, d) for each in _ranges(len(d), n_threads)])
    return d


def _two_loops(pairs: StepPairs) -> FloatVector:
    """The factors of all s, all y and ∇P in −H ∇P."""
    memory, products = len(pairs.s), pairs.products
    kept = [k % memory for k in range(max(0, pairs.n - memory), pairs.n)]
    d, alpha = np.zeros(2 * memory + 1), np.zeros(memory)
    d[-1] = -1.0
    for k in reversed(kept):
        alpha[k] = inner(products[k], d) / products[k, memory + k]
        d[memory + k] -= alpha[k]
    newest = kept[-1]
    d *= products[newest, memory + newest] / products[memory + newest, memory + newest]
    for k in kept:
        beta = inner(products[memory + k], d) / products[k, memory + k]
        d[k] += alpha[k] - beta
    return d


def _ranges(n: int, n_threads: int) -> list[tuple[int, int]]:
    """0 … n − 1 in ranges of whole pieces, one for each thread."""
    n_pieces = -(-n // PIECE)
    ends = [min(n_pieces * each // n_threads * PIECE, n) for each in range(n_threads + 1)]
    return [(begin, end) for begin, end in pairwise(ends) if begin < end]


DECREASE = 1e-4  # γ, also that of the Wolfe conditions
SHORTEST, LONGEST = 0.1, 0.5  # the next step relative to the last one

Evaluate: TypeAlias = Callable[[FloatVector], Point]
Found: TypeAlias = tuple[Point | None, int, float]
"""The best point of a search, None if P is nowhere less; the number of trials; the last step."""


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


def search_orthant(evaluate: Evaluate, begin: Point, d: FloatVector, most_trials: int) -> Found:
    """The first point along `d` with enough decrease, or else the best one tried; `begin.gradient` is v."""
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
    pairs: StepPairs
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
        search = search_orthant if l1_strength(problem) else _search_wolfe
        reached, state.trials, state.step = search(partial(_point, problem), begin, d, self.trials)
        return reached

    def weights(self, state: LBFGSState) -> FloatVector:
        """The last point."""
        return state.w

    def dual(self, problem: Problem, state: LBFGSState) -> float | None:
        """The largest lower bound so far, at first 0; None if P is not convex or has no penalty."""
        return state.bound if problem.convex and problem.penalty != "none" else None

    def end_reason(self, problem: Problem, state: LBFGSState) -> str:
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


def _search_wolfe(evaluate: Evaluate, begin: Point, d: FloatVector, most_trials: int) -> Found:
    """A point along `d` that fulfils the Wolfe conditions, or else the best one tried.

    The minimum is enclosed by a step that is too short and one
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
