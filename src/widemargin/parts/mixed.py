"""One part in a run of a primal solver whose weights are mixed: averaged over all parts after every round.

The solver makes its epochs on the part's own examples, and goes on from the mixture. One that minimises P does so with
C / μ, μ the part's share of Σ c_i: the part's losses stand for those of all. One that is driven by mistakes alone, such
as the perceptron (iterative parameter mixing; McDonald et al. 2010), takes C as it is.
"""

from time import perf_counter

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solver import Movable, Solver
from widemargin.parts.messages import Change, Look, Order, Report, Seen, Settled
from widemargin.parts.part import looked
from widemargin.parts.saved import Saved, about_part, mark_of, read_part, write_part
from widemargin.solvers.adaptive import AdaptiveState
from widemargin.solvers.descent import DescentState


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
            begin, calls = perf_counter(), problem.meter.calls
            with one_blas_thread():
                for _ in range(order.epochs):
                    self.solver.epoch(problem, self.state, rng)
            last = Change.between(self.w, self.state.last())
            mean = Change.between(self.w, self.solver.weights(self.state))
            known = problem.loss_seen(), problem.meter.calls - calls, perf_counter() - begin
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
        return looked(problem, self.C, lambda: problem.tangents(w) if at.proves else (problem.total_loss(w), None))

    def save(self, path: str) -> None:
        """Write the solver's state, which is at the common w."""
        write_part(path, self, Saved(self.state, self.problem.slacks, rounds=self.rounds, path=self.mark.path))

    def load(self, path: str) -> None:
        """Read what `save` wrote."""
        saved = read_part(path, self, Saved(self.state, self.problem.slacks))
        self.problem.slacks, self.rounds = saved.slacks, saved.rounds
        self.mark = self.mark._replace(path=saved.path)
        self.w = self.state.last().copy()
