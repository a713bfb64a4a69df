"""Cutting planes with a slack per example, whose programme an interior-point method solves (`programme`).

Each round asks the oracle for all examples at one point, adds the violated cuts, and moves the point to the optimum of
the programme over all cuts. Every round computes P at its point, so the best point so far is known and returned. Where
blocks share all their weights this takes some ten passes of the oracle whatever C is; ascent on one block at a time may
need thousands. Solving the programme loosely saves steps and costs no rounds: its points then lie well inside the
region of possible optima.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, later, number
from widemargin.core.visits import PASS_BATCH
from widemargin.solvers.blocks import SLIGHT, absorb
from widemargin.solvers.dual import DualSolver, DualState, value
from widemargin.solvers.programme import solve_at_once

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
        examples = problem.weighted
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
