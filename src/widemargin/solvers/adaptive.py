"""Steps with a separate rate for every weight and a lazily applied penalty.

A step with the gradient g and the rate r minimises ⟨g, w⟩ + λ r(w) + ‖w − w_old‖² / 2r, weight by weight:

    ½‖w‖²    w ← (w − rg) / (1 + λr)
    ‖w‖₁     w ← sign(w − rg) · max(0, |w − rg| − λr)

The rate changes only where g is not zero, so t steps without a gradient combine into one (Kummerfeld et al. 2015,
Algorithm 1, UPDATE-CATCHUP): w / (1 + λr)ᵗ, or sign(w) · max(0, |w| − λrt). The penalty of a step with a gradient is
the first of these t. `u` is the number of steps that a weight has seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.problem import Problem
from widemargin.solvers.subgradient import Gradient, everything, gradient, small_size, strength, tangents

STRETCH = 256
"""How many weights are brought up to date side by side."""


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
    """Weights, the `rate` of each, the number `u` of steps it has seen out of the `n` made, and the penalty's λ."""

    w: FloatVector
    rate: FloatVector
    u: IntVector
    n: int = 0
    strength: float = 0.0
    l1: bool = False

    @property
    def lagging(self) -> Lagging:
        """The state as kernels see it."""
        return Lagging(self.w, self.rate, self.u, self.n, self.strength, self.l1)

    def catch_up(self, runs: LongMatrix) -> None:
        """Bring the weights of the runs [begin, end) up to date."""
        _catch_up(self.lagging, runs)


def beginning(problem: Problem, w: FloatVector, rate: float) -> dict[str, Any]:
    """The fields of a state at `w`, with one `rate` for all."""
    n = problem.n_weights
    return {"w": w, "rate": np.full(n, rate), "u": np.zeros(n, dtype=np.int32), "l1": problem.penalty == "l1"}


def gradients(
    problem: Problem, state: AdaptiveState, rng: np.random.Generator, size: int | None, lazy: bool
) -> Iterator[Gradient]:
    """The gradients of an epoch, each at the weights after all earlier steps; the caller makes a step after each."""
    batches = problem.batches(rng, small_size(problem, size))
    current_weights(state)  # steps that a weight still lags behind belong to the old λ
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
    factor = np.empty(STRETCH)
    for run in range(len(runs)):
        for begin in range(runs[run, 0], runs[run, 1], STRETCH):
            end = min(begin + STRETCH, runs[run, 1])
            square = 0.0
            for k in range(begin, end):
                square += state.w[np.uint64(k)] * state.w[np.uint64(k)]
            if square == 0.0:
                pass  # most features have no weight yet, and zero stays zero
            elif state.l1:
                _soft_threshold(state, begin, end)
            else:
                _shrink(state, begin, end, factor)
            for k in range(begin, end):
                state.u[np.uint64(k)] = state.n


@kernel
def _shrink(state: Lagging, begin: int, end: int, factor: FloatVector) -> None:
    """w / (1 + λr)ᵗ, by repeated squaring side by side: weights that are read together mostly have the same t."""
    w, u, longest = state.w, state.u, state.n - state.n
    for k in range(begin, end):
        longest = max(longest, state.n - u[np.uint64(k)])
        factor[np.uint64(k - begin)] = 1.0 / (1.0 + state.strength * state.rate[np.uint64(k)])
    bit = 1
    while bit <= longest:
        for k in range(begin, end):
            f = factor[np.uint64(k - begin)]
            w[np.uint64(k)] *= f if (state.n - u[np.uint64(k)]) & bit else 1.0
            factor[np.uint64(k - begin)] = f * f
        bit *= 2


@kernel
def _soft_threshold(state: Lagging, begin: int, end: int) -> None:
    """sign(w) · max(0, |w| − λrt)."""
    for k in range(begin, end):
        j = np.uint64(k)
        size = max(abs(state.w[j]) - state.strength * state.rate[j] * (state.n - state.u[j]), 0.0)
        state.w[j] = size if state.w[j] > 0.0 else -size


@kernel
def step(state: Lagging, j: np.uint64, g: float, rate: float) -> None:
    """Move the up-to-date weight j by its gradient; the penalty follows when it is next brought up to date."""
    state.w[j] -= rate * g
    state.rate[j] = rate
