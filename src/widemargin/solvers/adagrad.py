"""AdaGrad, the online primal subgradient method (Kummerfeld et al. 2015, Algorithm 1; Duchi et al. 2011).

    q ← q + g²;   ½‖w‖²:  w ← (w√q − ηg) / (ηλ + √q);   ‖w‖₁:  w ← soft threshold of w − ηg/√q by ηλ/√q

for every weight, with g the gradient of a batch and q = δ at first. The paper calls λ C; here it follows from the C of
the problem, which weighs losses, not the penalty (`online`). The state holds the rate r = η/√q instead of q. In terms
of r a step minimises ⟨g, w⟩ + λ r(w) + ‖w − w_old‖² / 2r, weight by weight, as that of AdaDelta does with another r:

    ½‖w‖²    w ← (w − rg) / (1 + λr)
    ‖w‖₁     w ← sign(w − rg) · max(0, |w − rg| − λr)

The rate changes only where g is not zero, so t steps without a gradient combine into one (UPDATE-CATCHUP):
w / (1 + λr)ᵗ, or sign(w) · max(0, |w| − λrt). The penalty of a step with a gradient is the first of these t.

Weights are brought up to date in blocks of `BLOCK` neighbours, which fit into a line of the processor's cache: `u` is
the number of steps that a block has seen. Blocks of zeros are `UNTOUCHED` until one of their weights moves: without a
gradient, zero stays zero. Most weights that a tree with hashed features reads are in such blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core import Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.examples import BLOCK
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import DERIVED, Solver, number, start_weights
from widemargin.solvers.online import Gradient, everything, gradient, small_batches, strength, tangents

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
        """w after the last step, all of it brought up to date."""
        self.catch_up(everything(self.w))
        return self.w

    def move(self, w: FloatVector) -> None:
        """Go on from `w`; the rates stay."""
        self.w[:] = w
        self.u[:] = steps_seen(w, self.n)


def beginning(problem: Problem, w: FloatVector | None, cuts: CutStore | None, rate: float) -> dict[str, Any]:
    """The fields of a state at zero, a copy of `w`, or the combination of `cuts`, with one `rate` for all."""
    w = start_weights(problem, w, cuts)
    return {"w": w, "rate": np.full(len(w), rate), "u": steps_seen(w, 0), "l1": problem.penalty == "l1"}


def steps_seen(w: FloatVector, n: int) -> IntVector:
    """The `u` of blocks that are up to date after `n` steps."""
    first = np.arange(0, len(w), BLOCK)
    u: IntVector = np.where(np.logical_or.reduceat(w != 0.0, first), n, UNTOUCHED).astype(np.int32)
    return u


def gradients(
    problem: Problem, state: AdaptiveState, rng: np.random.Generator, size: int | None, lazy: bool
) -> Iterator[Gradient]:
    """The gradients of an epoch, each at the weights after all earlier steps; the caller makes a step after each."""
    batches = small_batches(problem, rng, size)
    state.last()  # steps that a weight has missed so far must use the old λ
    state.u[:] = steps_seen(state.w, state.n)
    state.strength = strength(problem, batches)
    for cuts, alpha in tangents(problem, state, batches, lazy):
        yield gradient(alpha, cuts.a)
        state.n += 1


@kernel
def _catch_up(state: Lagging, runs: LongMatrix) -> None:
    """Algorithm 1, UPDATE-CATCHUP, at the weights of the runs."""
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
            # ‖w‖₁ makes zeros; a block that has none but zeros needs no more visits until it gets a gradient.
            left = 0.0
            for k in range(begin, end):
                left += abs(w[np.uint64(k)])
            if left == 0.0:
                u[np.uint64(block)] = UNTOUCHED
        elif steps < 1 << SHORT:
            # The usual case: no branch inside, so that the loop is vectorised.
            for k in range(begin, end):
                j = np.uint64(k)
                w[j] *= _short_power(1.0 / (1.0 + strength * rate[j]), steps)
        else:
            for k in range(begin, end):
                j = np.uint64(k)
                if w[j] != 0.0:
                    w[j] *= (1.0 / (1.0 + strength * rate[j])) ** steps


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
def step(state: Lagging, j: np.uint64, g: float, rate: float) -> None:
    """Move the up-to-date weight j by its gradient; the penalty follows when it is next brought up to date."""
    state.w[j] -= rate * g
    state.rate[j] = rate
    state.u[j // np.uint64(BLOCK)] = state.n


@kernel
def _update(state: Lagging, eta: float, gradient: Gradient) -> None:
    """Algorithm 1, UPDATE-ACTIVE, at the weights with a gradient."""
    for k in range(len(gradient.indices)):
        j, g = np.uint64(gradient.indices[k]), gradient.values[k]
        root = eta / state.rate[j]
        step(state, j, g, eta / np.sqrt(root * root + g * g))


class AdaptiveSolver(Solver, Protocol):
    """A solver with a rate for every weight: it defines its own start and epochs, and inherits the rest."""

    penalties: ClassVar[tuple[Penalty, ...]] = ("l2", "l1")
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")
    online: ClassVar[bool] = True
    goes_on_from: ClassVar[Literal["weights", "own weights", "own state"]] = "own state"
    mixes: ClassVar[bool] = True

    def weights(self, state: Any) -> FloatVector:
        """The weights, all brought up to date."""
        w: FloatVector = state.last()
        return w


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaGrad(AdaptiveSolver):
    """AdaGrad with either penalty.

    Parameters
    ----------
    eta : η, about how far the first step moves a weight; of 0.01, 0.03, 0.1 and 0.3 the default led to the least
        objective on generated addresses, for small and large C
    delta : δ, where the sums q of squared gradients start
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    eta: float = number(0.03, above=0.0)
    delta: float = number(1e-6)
    batch_size: int | None = number(None, least=1)
    lazy: bool = True

    usual_epochs: ClassVar[int | None] = 20

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> AdaptiveState:
        """Weights zero, or a copy of `w`; q = δ."""
        rate = self.eta / np.sqrt(self.delta)
        return AdaptiveState(**beginning(problem, w, cuts, rate))

    def epoch(self, problem: Problem, state: AdaptiveState, rng: np.random.Generator) -> None:
        """Algorithm 1, one iteration."""
        for g in gradients(problem, state, rng, self.batch_size, self.lazy):
            _update(state.lagging, self.eta, g)
