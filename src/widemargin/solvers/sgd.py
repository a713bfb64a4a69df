"""Stochastic subgradient descent with Bottou's schedule (Bottou 2004; Chang & Yih 2013, §4.3).

    w ← (1 − ηλ) w − ηg,   η = η₀ / (1 + η₀λt)^¾

for the gradient g of batch t, with λ as in `subgradient`; lazily and with an average, as in `descent`. Candidates for
η₀ are ½, ¼, … 1/32, and smaller ones as long as they are better still. The one with the least objective on 1,000
examples, after a pass over them, is used. All of these numbers are parameters.

As *printed* in the paper, λ = 1/C, which leaves out the number of batches: w shrinks that many times more, though never
past 0. No η₀ below 1/32 is tried then, and the objective is that of the 1,000 examples only, not of all.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number
from widemargin.solvers.descent import DescentState, descend, new_state
from widemargin.solvers.subgradient import small_size, strength


@dataclass(frozen=True, slots=True, kw_only=True)
class SGD(Solver):
    """Stochastic subgradient descent.

    Parameters
    ----------
    eta0 : η₀; None finds one when training begins, at the cost of ten oracle calls for each of 1,000 examples
    average : return the average of w over all steps, with more weight on later ones, instead of the last w
    printed : λ = 1/C and the choice of η₀ as the paper prints them; for comparisons with it
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    first, factor : the first η₀ to try, and the divisor that leads to the next
    samples : how many examples each η₀ is tried on
    least_trials, most_trials : how many η₀ to try
    lazy : update only the weights that a batch reads, instead of all; the result is the same
    """

    eta0: float | None = number(None, above=0.0)
    average: bool = True
    printed: bool = False
    batch_size: int | None = number(None, least=1)
    first: float = number(0.5, above=0.0)
    factor: float = number(2.0, above=1.0)
    samples: int = number(1000, least=1)
    least_trials: int = number(5, least=1)
    most_trials: int = number(30, least=1)
    lazy: bool = True

    kinds: ClassVar[tuple[Kind, ...]] = ("maximum", "smooth")
    online: ClassVar[bool] = True
    mixes: ClassVar[bool] = True
    usual_epochs: ClassVar[int | None] = 20

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> DescentState:
        """Weights zero, or a copy of `w`."""
        return new_state(problem, w, cuts)

    def seasoned(self, problem: Problem, state: DescentState, examples: int) -> None:
        """Treat the weights as the result of an epoch, in the average and in the length of the next step."""
        state.count(examples // small_size(problem, self.batch_size))

    def epoch(self, problem: Problem, state: DescentState, rng: np.random.Generator) -> None:
        """One pass, a step per batch; before the first one, find η₀."""
        batches = problem.batches(rng, small_size(problem, self.batch_size))
        if batches and not state.eta0:
            state.eta0 = self.eta0 or self._best_eta0(problem, state.last(), batches)
        self._pass(problem, state, batches, self._strength(problem, batches), state.eta0)

    def _strength(self, problem: Problem, batches: list[IntVector]) -> float:
        return 1.0 / problem.C if self.printed else strength(problem, batches)

    def _pass(self, problem: Problem, state: DescentState, batches: list[IntVector], lam: float, eta0: float) -> None:
        descend(problem, state, batches, lam, lambda t: eta0 / (1.0 + eta0 * lam * t) ** 0.75, self.lazy)

    def _best_eta0(self, problem: Problem, w: FloatVector, batches: list[IntVector]) -> float:
        """The η₀ with the least objective after a pass from `w` over the first batches, which were drawn at random."""
        sample = batches[: max(1, self.samples // len(batches[0]))]
        grid = self.first / self.factor ** np.arange(self.least_trials if self.printed else self.most_trials)
        values: list[float] = []
        try:
            for eta0 in grid.tolist():
                trial = new_state(problem, w, None)
                self._pass(problem, trial, sample, self._strength(problem, batches), eta0)
                values.append(self._objective(problem, self.weights(trial), sample))
                if len(values) >= self.least_trials and values[-1] > min(values):
                    break
        finally:
            problem.forget()  # slacks at the weights of trials say nothing about the epoch
        return float(grid[np.argmin(values)])

    def _objective(self, problem: Problem, w: FloatVector, sample: list[IntVector]) -> float:
        """P(w), estimated from the sample, or of the sample alone."""
        problem.forget()
        for batch in sample:
            problem.cuts(w, batch)
        if self.printed:
            seen = np.flatnonzero(~np.isnan(problem.slacks))
            return problem.regulariser(w) + problem.C * problem.losses(seen, problem.slacks[seen])
        return problem.primal_estimate(w) or 0.0

    def weights(self, state: DescentState) -> FloatVector:
        """The average of w, or the last."""
        return state.average() if self.average else state.last()
