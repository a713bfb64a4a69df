"""Mixing: every part trains from the common w, and the results are averaged, each with the part's share of Σ c_i.

With one round this is one-shot averaging; with a round after every epoch and the perceptron it is iterative parameter
mixing (McDonald et al. 2010).
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.choices import Loss, Penalty
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number
from widemargin.parts.cocoa import LARGEST_SEED, note, ready, zero
from widemargin.parts.messages import Change, Order, Settled


@dataclass(slots=True)
class MixingState:
    """The common w, the average that is returned, and the rounds settled."""

    w: FloatVector
    mean: FloatVector = field(default_factory=lambda: np.empty(0))
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing(Solver):
    """Averaging of a primal solver's weights over all parts.

    Parameters
    ----------
    local : the solver of the parts, by its representation; for the record
    epochs : local epochs in a round
    """

    local: str
    epochs: int = number(1, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge", "hinge")
    penalties: ClassVar[tuple[Penalty, ...]] = ("l2", "l1")
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> MixingState:
        """Weights zero."""
        return MixingState(zero(problem, w, cuts))

    def epoch(self, problem: Problem, state: MixingState, rng: np.random.Generator) -> None:
        """One round."""
        team = ready(problem, state, state.w)
        total = float(problem.example_weight.sum())
        order = Order(total, self.epochs, 0.0, int(rng.integers(LARGEST_SEED)), whole=True)
        change, mean = np.zeros(problem.n_weights), np.zeros(problem.n_weights)
        for k, report in team.ask(order, problem.may_end):
            share = problem.example_weight[k] / max(total, 1e-300)
            report.change.added(change, share)
            if report.mean is not None:
                report.mean.added(mean, share)
            note(problem, k, report, team.n_parts)
        mean += state.w
        settled = Settled(Change.between(np.zeros(len(change)), change))
        settled.change.added(state.w)
        state.mean = mean
        state.rounds += 1
        team.settle(order, settled)
        team.save(problem.may_end)

    def weights(self, state: MixingState) -> FloatVector:
        """The average of what the parts return."""
        return state.mean if state.rounds else state.w
