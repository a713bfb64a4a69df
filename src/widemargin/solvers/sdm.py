"""The sequential dual method (Balamurugan et al. 2011, Algorithm 3), and the online cutting plane method beside it.

Each block is solved by pair steps over its working set V_i (Algorithm 2, `blocks`). *Type-I* passes ask the oracle and
solve a block where ψ_i = F_i(ŷ) − min_{V_i} F_i exceeds τ; *type-II* passes solve the cached blocks to τ̃. The first κ₁
passes are of type I; from then on type-I passes alternate with runs of at most κ₂ type-II passes, which end sooner when
the largest ψ̂_i has halved.

The paper stops when a type-I pass changes nothing. Here τ and τ̃ become smaller instead, since the training loop decides
when to stop. ψ̂_i is measured when block i is visited, so it needs no extra pass. Both losses are supported; the paper
only has the hinge.

The *online cutting plane* method (Kummerfeld et al. 2015) is the type-I pass alone, with any violated cut admitted:
DCD-Light's schedule with pair steps.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.core import Loss
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.solvers.blocks import SLIGHT, absorb, sweep
from widemargin.solvers.dual import DualSolver, DualState, cached_blocks, growing, new_cuts

MOST_STEPS = 1000


@dataclass(slots=True)
class SequentialState(DualState):
    """The dual state with the current τ, as a multiple of the solver's, and the largest ψ̂_i of the last pass."""

    sharpness: float = 1.0
    spread: float = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialDual(DualSolver):
    """SDM.

    Parameters
    ----------
    tau : a block is solved when its ψ exceeds this; the paper's τ
    inner_tau : blocks are solved to within this; the paper's τ̃
    first_passes : the number of type-I passes before the first of type II; the paper's κ₁
    most_sweeps : at most this many type-II passes in a row; the paper's κ₂
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    tau: float = number(0.25)
    inner_tau: float = number(0.15)
    first_passes: int = number(10)
    most_sweeps: int = number(5)
    batch_size: int | None = number(None, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge", "squared_hinge")
    state: ClassVar[type[DualState]] = SequentialState

    def epoch(self, problem: Problem, state: SequentialState, rng: np.random.Generator) -> None:
        """Lines 37–39, the type-II passes before the next type-I pass, and lines 7–24 for that one."""
        tau, inner = self.tau * state.sharpness, self.inner_tau * state.sharpness
        if state.epochs >= self.first_passes and state.spread > tau:
            enough = state.spread / 2
            for _ in range(self.most_sweeps):
                _, spread = sweep(cached_blocks(state.store, rng), state.view, inner, inner, MOST_STEPS)
                if spread < enough:
                    break
        state.spread = 0.0
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.age)):
            _, spread = absorb(cuts, state.view, tau, inner, MOST_STEPS)
            state.spread = max(state.spread, spread)
        if state.spread <= tau:
            state.sharpness /= 4.0
        state.epochs += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineCuttingPlane(DualSolver):
    """Type-I passes alone: every block is updated by a few pair steps after each oracle call.

    Parameters
    ----------
    steps : at most this many pair steps a visit
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    steps: int = number(10, least=1)
    batch_size: int | None = number(None, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge", "squared_hinge")

    def epoch(self, problem: Problem, state: DualState, rng: np.random.Generator) -> None:
        """One pass over the examples."""
        for cuts in new_cuts(problem, state, rng, self.batch_size or growing(problem, state.age)):
            absorb(cuts, state.view, SLIGHT, SLIGHT, self.steps)
        state.epochs += 1
