"""CoCoA+ (Ma et al. 2015): every part improves its share of the dual from the common w, and the changes of w are added.

D is quadratic along the line from the old α to the new α:

    D(t) = D(0) + t (Σ_k [Σ bΔα − mass₁] − ⟨w, Δw⟩) − t² (½‖Δw‖² + Σ_k mass₂),   Δw = Σ_k Δw_k

The whole step is kept if it gains at least half as much as the best t ∈ [0, 1]; otherwise that t is taken. So the dual
never falls. σ′ = K, the number of parts, is always safe: the whole step then gains at least the sum of the gains that
the parts expect. The parts of a corpus are alike, so they move alike where they share a feature: by measurement, steps
become too long at about K / 2, and `CAUTION` · K is the fastest.

Rounds are accelerated like Nesterov's (1983) gradient method: each starts from w + βΔ, with Δ the last change of w, and
β = (θ_r − 1) / θ_{r+1}, θ_{r+1} = ½ + √(¼ + θ_r²); θ starts anew when the whole step is not kept.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Loss
from widemargin.core.penalty import best_bound
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number
from widemargin.errors import UnsupportedError
from widemargin.parts.messages import Change, Hold, Order, Report, Settled
from widemargin.parts.problem import PartedProblem, together
from widemargin.parts.team import Team

CAUTION = 0.8
GOOD = 0.5  # the share of the best gain that the whole step must reach
LARGEST_SEED = 2**62


@dataclass(slots=True)
class CocoaState:
    """The common w, the best D so far, the number of settled rounds, θ, and the momentum β of the next round."""

    w: FloatVector
    dual: float = 0.0
    rounds: int = 0
    theta: float = 1.0
    beta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cocoa(Solver):
    """CoCoA+ over a dual solver.

    Parameters
    ----------
    local : the solver of the parts, by its representation; for the record
    caution : σ′ as a share of the number of parts
    momentum : the largest β; 0 is CoCoA+ as it was published
    epochs : local epochs in a round
    """

    local: str
    caution: float = number(CAUTION, above=0.0)
    momentum: float = number(0.95, below=1.0)
    epochs: int = number(1, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge", "hinge")

    def start(self, problem: PartedProblem, w: FloatVector | None = None, cuts: Any = None) -> CocoaState:
        """α = 0."""
        return CocoaState(zero(problem, w, cuts))

    def epoch(self, problem: PartedProblem, state: CocoaState, rng: np.random.Generator) -> None:
        """One round."""
        team = ready_team(problem, state, state.w)
        sigma = max(self.caution * team.n_parts, 1.0)
        order = Order(sigma, self.epochs, state.beta, int(rng.integers(LARGEST_SEED)))
        change = np.zeros(problem.n_weights)
        linear = linear_after = 0.0
        mass = np.zeros(3)
        for k, report in team.ask(order, problem.may_end):
            report.change.added(change)
            linear, linear_after, mass = linear + report.linear, linear_after + report.linear_after, mass + report.mass
            note(problem, k, report, team.n_parts)
        slope = linear_after - linear - inner(state.w, change) - float(mass[1])
        step = best_share(slope, 0.5 * inner(change, change) + float(mass[2]))
        if step < 1.0:
            change *= step
        settled = Settled(Change.between(np.zeros(len(change)), change), step)
        linear += step * (linear_after - linear)
        of_mass = float(mass[0] + step * mass[1] + step**2 * mass[2])
        if team.strangers:
            settled, linear, of_mass = held_by_all(problem, order, state.w)
            step = 0.0  # no momentum
        settled.change.added(state.w)
        state.dual = max(state.dual, bound_of(problem, linear, state.w, of_mass))
        self._accelerate(state, step)
        state.rounds += 1
        team.settle(order, settled)
        team.save(problem.may_end)

    def _accelerate(self, state: CocoaState, step: float) -> None:
        """Choose β for the next round."""
        following = 0.5 + sqrt(0.25 + state.theta**2)
        state.beta = min((state.theta - 1.0) / following, self.momentum) if step == 1.0 else 0.0
        state.theta = following if step == 1.0 else 1.0

    def weights(self, state: CocoaState) -> FloatVector:
        """The common w."""
        return state.w

    def dual(self, problem: PartedProblem, state: CocoaState) -> float:
        """The best D(tα) so far."""
        return state.dual


def best_share(slope: float, curvature: float) -> float:
    """The share t of a step to keep, if D rises by t·slope − t²·curvature: 1 if good enough, else the best t."""
    if curvature <= 0.0:
        return 1.0
    best = min(slope / (2.0 * curvature), 1.0)
    gain = slope - curvature
    return 1.0 if gain >= GOOD * (best * slope - best**2 * curvature) else max(best, 0.0)


def zero(problem: PartedProblem, w: FloatVector | None, cuts: Any) -> FloatVector:
    """The weights that all parts start from."""
    if not isinstance(problem, PartedProblem):
        raise UnsupportedError("this solver works on several parts of the data; take the local one itself")
    if w is not None or cuts is not None:
        raise UnsupportedError("a solver on several parts starts from zero, not from weights or cuts")
    return np.zeros(problem.n_weights)


def ready_team(problem: PartedProblem, state: Any, common: FloatVector) -> Team:
    """The team of a problem, at the round of the state and its common weights."""
    if problem.team.rounds != state.rounds:
        problem.team.start(problem.may_end, state.rounds)
    problem.common = common
    return problem.team


def bound_of(problem: PartedProblem, linear: float, w: FloatVector, mass: float) -> float:
    """The best D(tα), t ≥ 0, by the reports of the parts; a certificate uses their actual α (`PartedProblem`)."""
    return best_bound("l2", 1.0, linear, w, mass, np.inf if problem.loss == "squared_hinge" else 1.0)


def held_by_all(problem: PartedProblem, order: Order, w: FloatVector) -> tuple[Settled, float, float]:
    """The end of a round at w = Σ_k v_k by the actual α of all parts, if `w` differs; with Σ bα and the mass term."""
    held = [each.sums for _, each in problem.team.ask(Hold(order), problem.may_end)]
    evidence = together(held, problem.n_weights)
    return Settled(Change.between(w, evidence.s)), evidence.linear, evidence.quadratic


def note(problem: PartedProblem, k: int, report: Report, n_parts: int) -> None:
    """Record the loss, calls and seconds of the oracle of part k."""
    problem.slacks[k] = np.nan if report.loss is None else report.loss
    problem.meter.count(report.calls, report.seconds / n_parts)
