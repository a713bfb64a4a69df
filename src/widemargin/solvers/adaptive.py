"""Steps with a separate rate for every weight and a lazily applied penalty.

A step with the gradient g and the rate r minimises ⟨g, w⟩ + λ r(w) + ‖w − w_old‖² / 2r, weight by weight:

    ½‖w‖²    w ← (w − rg) / (1 + λr)
    ‖w‖₁     w ← sign(w − rg) · max(0, |w − rg| − λr)

The rate changes only where g is not zero, so t steps without a gradient combine into one (Kummerfeld et al. 2015,
Algorithm 1, UPDATE-CATCHUP): w / (1 + λr)ᵗ, or sign(w) · max(0, |w| − λrt). The penalty of a step with a gradient is
the first of these t.

Weights are brought up to date in blocks of `BLOCK` neighbours, which fit into a line of the processor's cache: `u` is
the number of steps that a block has seen. Blocks of zeros are `UNTOUCHED` until one of their weights moves: without a
gradient, zero stays zero. Most weights that a tree with hashed features reads are in such blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.examples import BLOCK
from widemargin.core.problem import Problem
from widemargin.core.solver import DERIVED
from widemargin.solvers.subgradient import Gradient, everything, gradient, small_size, strength, tangents

UNTOUCHED = -1
"""The `u` of blocks of zeros."""

SHORT = 6
"""Most numbers of steps have at most this many bits."""


class Lagging(NamedTuple):
    """The state as kernels see it."""

    w: FloatVector
    rate: FloatVector
    u: IntVector
    n: int
    strength: float
    l1: bool


@dataclass(slots=True)
class AdaptiveState:
    """Weights, the `rate` of each, the number `u` of steps each block has seen of the `n` made, and the penalty's λ."""

    w: FloatVector
    rate: FloatVector
    u: IntVector = DERIVED
    n: int = 0
    strength: float = 0.0
    l1: bool = False

    @property
    def lagging(self) -> Lagging:
        """The state as kernels see it."""
        return Lagging(self.w, self.rate, self.u, self.n, self.strength, self.l1)

    def flaw(self, problem: Problem) -> str:
        """A complaint if a block has seen more steps than were made."""
        known = self.n >= 0 and (self.u >= UNTOUCHED).all() and (self.u <= self.n).all()
        return "" if known else "has counted steps that were not made"

    def catch_up(self, runs: LongMatrix) -> None:
        """Bring the weights of the runs [begin, end) up to date."""
        _catch_up(self.lagging, runs)

    def last(self) -> FloatVector:
        """w after the last step."""
        return current_weights(self)

    def move(self, w: FloatVector) -> None:
        """Go on from `w`; the rates stay."""
        self.w[:] = w
        self.u[:] = touched(w, self.n)


def beginning(problem: Problem, w: FloatVector, rate: float) -> dict[str, Any]:
    """The fields of a state at `w`, with one `rate` for all."""
    return {"w": w, "rate": np.full(len(w), rate), "u": touched(w, 0), "l1": problem.penalty == "l1"}


def touched(w: FloatVector, n: int) -> IntVector:
    """The `u` of blocks that are up to date after `n` steps."""
    first = np.arange(0, len(w), BLOCK)
    u: IntVector = np.where(np.logical_or.reduceat(w != 0.0, first), n, UNTOUCHED).astype(np.int32)
    return u


def gradients(
    problem: Problem, state: AdaptiveState, rng: np.random.Generator, size: int | None, lazy: bool
) -> Iterator[Gradient]:
    """The gradients of an epoch, each at the weights after all earlier steps; the caller makes a step after each."""
    batches = problem.batches(rng, small_size(problem, size))
    current_weights(state)  # steps that a weight has missed so far must use the old λ
    state.u[:] = touched(state.w, state.n)
    state.strength = strength(problem, batches)
    for cuts, alpha in tangents(problem, state, batches, lazy):
        yield gradient(alpha, cuts.a)
        state.n += 1


def current_weights(state: AdaptiveState) -> FloatVector:
    """The weights, all brought up to date."""
    state.catch_up(everything(state.w))
    return state.w


@kernel
def _catch_up(state: Lagging, runs: LongMatrix) -> None:
    # Local names: taking an array out of a tuple inside the loop costs more than the arithmetic.
    w, rate, u, n, strength = state.w, state.rate, state.u, state.n, state.strength
    for block in _lagging(u, n, runs):
        begin = int(block) * BLOCK
        end, steps = min(begin + BLOCK, len(w)), n - u[np.uint64(block)]
        u[np.uint64(block)] = n
        if state.l1:
            for k in range(begin, end):
                j = np.uint64(k)
                size = max(abs(w[j]) - strength * rate[j] * steps, 0.0)
                w[j] = size if w[j] > 0.0 else -size
            left = 0.0
            for k in range(begin, end):
                left += abs(w[np.uint64(k)])
            if left == 0.0:
                u[np.uint64(block)] = UNTOUCHED
        elif steps < 1 << SHORT:
            for k in range(begin, end):
                j = np.uint64(k)
                w[j] *= _short_power(1.0 / (1.0 + strength * rate[j]), steps)
        else:
            for k in range(begin, end):
                j = np.uint64(k)
                if w[j] != 0.0:
                    w[j] *= _power(1.0 / (1.0 + strength * rate[j]), steps)


@kernel
def _lagging(u: IntVector, n: int, runs: LongMatrix) -> IntVector:
    """The blocks of the runs that are not up to date."""
    room = 1
    for run in range(len(runs)):
        room += (runs[run, 1] + BLOCK - 1) // BLOCK - runs[run, 0] // BLOCK
    behind = np.empty(room, dtype=np.int32)
    count = 0
    for run in range(len(runs)):
        for block in range(runs[run, 0] // BLOCK, (runs[run, 1] + BLOCK - 1) // BLOCK):
            behind[np.uint64(count)] = block
            seen = u[np.uint64(block)]
            count += 1 if (seen != UNTOUCHED) & (seen != n) else 0
    return behind[:count]


@kernel
def _short_power(base: float, exponent: int) -> float:
    """base^exponent by repeated squaring, always `SHORT` times, so that a loop around it can be vectorised."""
    result = 1.0
    for bit in range(SHORT):
        result *= base if (exponent >> bit) & 1 else 1.0
        base *= base
    return result


@kernel
def _power(base: float, exponent: int) -> float:
    result = 1.0
    while exponent:
        result *= base if exponent & 1 else 1.0
        base *= base
        exponent >>= 1
    return result


@kernel
def step(state: Lagging, j: np.uint64, g: float, rate: float) -> None:
    """Move the up-to-date weight j by its gradient; the penalty follows when it is next brought up to date."""
    state.w[j] -= rate * g
    state.rate[j] = rate
    state.u[j // np.uint64(BLOCK)] = state.n
