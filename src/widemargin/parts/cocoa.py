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
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number
from widemargin.parts.messages import LARGEST_SEED, Change, Order, Outcome
from widemargin.parts.problem import PartedProblem, zero

CAUTION = 0.8
GOOD = 0.5  # the share of the best gain that the whole step must reach


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
        problem.go_to(state.rounds, state.w)
        sigma = max(self.caution * problem.n_blocks, 1.0)
        order = Order(sigma, self.epochs, state.beta, int(rng.integers(LARGEST_SEED)))
        change = np.zeros(problem.n_weights)
        linear = linear_after = 0.0
        mass = np.zeros(3)
        for _, report in problem.reports(order):
            report.change.add_to(change)
            linear, linear_after, mass = linear + report.linear, linear_after + report.linear_after, mass + report.mass
        slope = linear_after - linear - inner(state.w, change) - float(mass[1])
        step = best_share(slope, 0.5 * inner(change, change) + float(mass[2]))
        if step < 1.0:
            change *= step
        settled = Outcome(Change.of(change), step)
        linear += step * (linear_after - linear)
        of_mass = float(mass[0] + step * mass[1] + step**2 * mass[2])
        if problem.team.strangers:
            settled, linear, of_mass = problem.end_of_held(order, state.w)
            step = 0.0  # no momentum
        settled.change.add_to(state.w)
        state.dual = max(state.dual, problem.reported_bound(linear, state.w, of_mass))
        self._accelerate(state, step)
        state.rounds += 1
        problem.end(order, settled)

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
