"""Mixing: every part trains from the common w, and the results are averaged, each with the part's share of Σ c_i.

With one round this is one-shot averaging; with a round after every epoch and the perceptron it is iterative parameter
mixing (McDonald et al. 2010).

A part makes the solver's epochs on its own examples, and goes on from the mixture. A solver that minimises P uses
C / μ, where μ is the part's share of Σ c_i: the part's losses stand for those of all parts. Mistake-driven solvers,
such as the perceptron, use C itself.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Movable, Solver, number
from widemargin.parts.messages import LARGEST_SEED, Change, Look, Order, Outcome, Report, Seen
from widemargin.parts.part import Part, Saved
from widemargin.parts.problem import PartedProblem, zero
from widemargin.solvers.adagrad import AdaptiveState
from widemargin.solvers.sgd import DescentState


@dataclass(slots=True)
class MixingState:
    """The common w, the average that is returned, and the number of settled rounds."""

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

    def start(self, problem: PartedProblem, w: FloatVector | None = None, cuts: Any = None) -> MixingState:
        """Weights zero."""
        return MixingState(zero(problem, w, cuts))

    def epoch(self, problem: PartedProblem, state: MixingState, rng: np.random.Generator) -> None:
        """One round."""
        problem.go_to(state.rounds, state.w)
        total = float(problem.example_weight.sum())
        order = Order(total, self.epochs, 0.0, int(rng.integers(LARGEST_SEED)), whole=True)
        change, mean = np.zeros(problem.n_weights), np.zeros(problem.n_weights)
        for k, report in problem.reports(order):
            share = problem.example_weight[k] / max(total, 1e-300)
            report.change.add_to(change, share)
            if report.mean is not None:
                report.mean.add_to(mean, share)
        mean += state.w
        settled = Outcome(Change.of(change))
        settled.change.add_to(state.w)
        state.mean = mean
        state.rounds += 1
        problem.end(order, settled)

    def weights(self, state: MixingState) -> FloatVector:
        """The average of the weights that the parts return."""
        return state.mean if state.rounds else state.w


class MixedPart(Part):
    """A part of a run that mixes weights."""

    state: Movable

    def __init__(self, problem: Problem, solver: Solver, number: int) -> None:
        super().__init__(problem, solver, number)
        self.w: FloatVector = np.zeros(problem.n_weights)

    def settle(self, settled: Outcome) -> None:
        """Go on from the mixture."""
        settled.change.add_to(self.w)
        self.state.move(self.w)
        super().settle(settled)

    def load(self, path: str) -> Saved:
        """Read what `save` wrote."""
        saved = super().load(path)
        self.w = self.state.last().copy()
        return saved

    def _make_round(self, order: Order) -> Report:
        """Run the solver's epochs; `order.sigma` is Σ c_i of all parts."""
        problem, weight = self.problem, float(self.problem.example_weight.sum())
        if isinstance(self.state, DescentState | AdaptiveState) and weight > 0.0:
            problem.C = self.C * order.sigma / weight
        clock = self._run(order)
        last = Change.between(self.w, self.state.last())
        mean = Change.between(self.w, self.solver.weights(self.state))
        known = problem.loss_seen(), clock.calls, clock.seconds
        return Report(last, 0.0, 0.0, (0.0, 0.0, 0.0), *known, self.mark.after(last, mean), mean)

    def look(self, at: Look) -> Seen:
        """Make a full pass; a bound comes from the tangents at the weights."""
        w, problem = at.change.to(self.w), self.problem
        return self._see(lambda: problem.tangents(w) if at.proves else (problem.total_loss(w), None))
