"""Mixing: every part trains from the common w, and the results are averaged, each with the part's share of Σ c_i.

With one round this is one-shot averaging; with a round after every epoch and the perceptron it is iterative parameter
mixing (McDonald et al. 2010).

A part makes the solver's epochs on its own examples, and goes on from the mixture. A solver that minimises P does so
with C / μ, μ the part's share of Σ c_i: the part's losses stand for those of all. One that is driven by mistakes alone,
such as the perceptron, takes C as it is.
"""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.choices import Loss, Penalty
from widemargin.core.loop import Clock, epochs
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Movable, Solver, number
from widemargin.parts.cocoa import LARGEST_SEED, note, ready_team, zero
from widemargin.parts.messages import Change, Look, Order, Report, Seen, Settled
from widemargin.parts.part import Saved, about_part, look, mark_of, read_part, write_part
from widemargin.parts.problem import PartedProblem
from widemargin.solvers.adaptive import AdaptiveState
from widemargin.solvers.descent import DescentState


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

    def start(self, problem: PartedProblem, w: FloatVector | None = None, cuts: Any = None) -> MixingState:
        """Weights zero."""
        return MixingState(zero(problem, w, cuts))

    def epoch(self, problem: PartedProblem, state: MixingState, rng: np.random.Generator) -> None:
        """One round."""
        team = ready_team(problem, state, state.w)
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


class MixedPart:
    """A part of a run that mixes weights; parameters as in `part.DualPart`."""

    def __init__(self, problem: Problem, solver: Solver, number: int) -> None:
        self.problem, self.solver, self.number = problem, solver, number
        self.C, self.rounds = problem.C, 0
        self.about = about_part(problem, solver, number)
        self.mark = mark_of(self.about)
        self.w: FloatVector = np.zeros(problem.n_weights)
        self.state: Movable = solver.start(problem)
        self._report: Report | None = None

    def round(self, order: Order) -> Report:
        """Run the solver's epochs; `order.sigma` is Σ c_i of all parts."""
        if self._report is None:
            problem = self.problem
            weight = float(problem.example_weight.sum())
            if isinstance(self.state, DescentState | AdaptiveState) and weight > 0.0:
                problem.C = self.C * order.sigma / weight
            rng = np.random.default_rng([order.seed, self.number])
            clock = Clock(problem.meter)
            for _ in islice(epochs(problem, self.solver, self.state, rng), order.epochs):
                pass
            last = Change.between(self.w, self.state.last())
            mean = Change.between(self.w, self.solver.weights(self.state))
            known = problem.loss_seen(), clock.calls, clock.seconds
            self._report = Report(last, 0.0, 0.0, (0.0, 0.0, 0.0), *known, self.mark.after(last, mean), mean)
        return self._report

    def settle(self, settled: Settled) -> None:
        """Go on from the mixture."""
        settled.change.added(self.w)
        self.state.move(self.w)
        if self._report is not None:
            self.mark = self.mark._replace(path=self._report.path)
        self._report = None
        self.rounds += 1

    def look(self, at: Look) -> Seen:
        """Σ c_i ℓ(ξ_i) near the common w, by a full pass; a bound comes from the tangents there."""
        w, problem = at.change.to(self.w), self.problem
        return look(problem, self.C, lambda: problem.tangents(w) if at.proves else (problem.total_loss(w), None))

    def save(self, path: str) -> None:
        """Write the solver's state, which is at the common w."""
        write_part(path, self, Saved(self.state, self.problem.slacks, rounds=self.rounds, path=self.mark.path))

    def load(self, path: str) -> None:
        """Read what `save` wrote."""
        saved = read_part(path, self, Saved(self.state, self.problem.slacks))
        self.problem.slacks, self.rounds = saved.slacks, saved.rounds
        self.mark = self.mark._replace(path=saved.path)
        self.w = self.state.last().copy()
