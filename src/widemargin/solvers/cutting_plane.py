"""Cutting planes with a slack per example: n-slack (Tsochantaridis et al. 2005) and CPD (Chang & Yih 2013).

Each round asks the oracle for all examples at one w, adds the violated cuts, and solves the quadratic programme over
all working sets by sweeps over the blocks. The sweeps end when the programme's gap is a small share of the gap that the
oracle showed: more precision would be wasted on cuts that the next round outdates. With the hinge this is the n-slack
method, with the squared hinge CPD.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.core import Loss
from widemargin.core.problem import Problem
from widemargin.core.solver import number
from widemargin.solvers.blocks import SLIGHT, absorb, sweep
from widemargin.solvers.dual import DualSolver, DualState, cached_blocks, new_cuts

MOST_STEPS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CuttingPlane(DualSolver):
    """The n-slack method.

    Parameters
    ----------
    share : the cached problem is solved to this share of the gap that the oracle showed
    most_sweeps : at most this many sweeps a round
    """

    share: float = number(0.1, above=0.0, most=1.0)
    most_sweeps: int = number(200)

    losses: ClassVar[tuple[Loss, ...]] = ("hinge", "squared_hinge")

    def epoch(self, problem: Problem, state: DualState, rng: np.random.Generator) -> None:
        """One round: the oracle for all examples at one w, then the quadratic programme."""
        for cuts in new_cuts(problem, state, rng, problem.batch_size):
            absorb(cuts, state.view, SLIGHT, SLIGHT, 0)
        enough = self.share * float(state.gap[problem.c > 0].sum())
        for _ in range(self.most_sweeps):
            blocks = cached_blocks(state.store, rng)
            sweep(blocks, state.view, SLIGHT, SLIGHT, MOST_STEPS)
            if float(state.gap[blocks].sum()) <= enough:
                break
        state.epochs += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CuttingPlaneDual(CuttingPlane):
    """CPD: the same method for the squared hinge."""

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge",)
