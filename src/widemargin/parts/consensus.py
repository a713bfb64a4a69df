"""Consensus rounds (ADMM; Boyd et al. 2011, §7.2): every part trains from common weights z, and z follows their sum.

The dual variables of part k add up to v_k = Σ αa, and w = Σ_k v_k. In a round each part improves

    min_u  ‖u − z + σv_k‖² / (2σ) + C L_k(u),   u_k = z + σΔv_k

by steps of an ordinary dual solver (`part`). Then, for each weight by itself,

    z ← (ρū + w) / (1 + ρ),   ρ = n / σ,   ū = z + Δw / ρ                             (Boyd et al., eq. 7.10)

where n is the number of parts that changed this weight in this round, and ū the mean of their u_k. Parts without a
feature do not influence its weights, which makes this fast on text, where most features are rare.

Rounds are accelerated as by Goldstein et al. (2014), with a constant β: v_k + βΔv_k takes the place of v_k in the next
round, so it starts from u_k = z − σβΔv_k; w + βΔw takes the place of w, and ū + βΔū that of ū.

CoCoA+ (`cocoa`) is the same round with z = w. It needs σ of about the number of parts, or the parts together overshoot
where they move alike. Here z moves slowly where many parts pull, so σ may be much smaller and the parts may move much
further. σ shrinks further when the changes of the parts cancel each other, ‖Σ Δv_k‖² < ½ Σ ‖Δv_k‖²: the parts then only
shift shares of w among themselves, which is faster with a smaller σ.

D may fall on the way, but every tα proves a bound, with 0 ≤ t ≤ 1 for the hinge and any t ≥ 0 for the squared one, so
the best bound so far is the dual. P is measured at z.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core import Loss
from widemargin.core.products import inner
from widemargin.core.solver import Solver, number
from widemargin.parts.messages import LARGEST_SEED, NOTHING, Change, Common, Order, Outcome, Pulls
from widemargin.parts.problem import PartedProblem, zero

LENGTH, MOMENTUM = 1.5, 0.3  # by measurement on tags, names and addresses (benchmarks/scale.py)
FADING = 0.9
AGREEMENT, SHORTER = 0.5, 0.9
TINY = 1e-9


@dataclass(slots=True)
class ConsensusState:
    """w, z and ū; σ, the best D so far, the number of settled rounds, and Σ_k L_k as the parts last saw it.

    In the last round w moved at the indices `moved` by `by`. If `anew`, z starts from w again, without momentum.
    """

    w: FloatVector
    z: FloatVector
    u: FloatVector
    moved: IntVector
    by: FloatVector
    sigma: float = 0.0  # not chosen yet
    best: float = 0.0
    rounds: int = 0
    seen: float = 0.0
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus(Solver):
    """ADMM over a dual solver.

    Parameters
    ----------
    local : the solver of the parts, by its representation; for the record
    sigma : how far parts may move away from the common weights; None chooses less, the larger C Σ c_i is and the less
        the parts agree
    momentum : β
    epochs : local epochs in a round
    """

    local: str
    sigma: float | None = number(None, above=0.0)
    momentum: float = number(MOMENTUM, below=1.0)
    epochs: int = number(1, least=1)

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge", "hinge")

    def start(self, problem: PartedProblem, w: FloatVector | None = None, cuts: Any = None) -> ConsensusState:
        """α = 0."""
        w = zero(problem, w, cuts)
        return ConsensusState(w, w.copy(), w.copy(), *NOTHING)

    def epoch(self, problem: PartedProblem, state: ConsensusState, rng: np.random.Generator) -> None:
        """One round."""
        problem.go_to(state.rounds, state.z)
        optimism = _optimism(problem, state)
        sigma = self.sigma or state.sigma or usual_sigma(problem)
        momentum = 0.0 if state.anew else self.momentum
        order = Order(sigma, self.epochs, momentum, int(rng.integers(LARGEST_SEED)), whole=True)
        change, pulls = np.zeros(problem.n_weights), Pulls(problem.n_weights)
        linear = mass = apart = 0.0
        for _, report in problem.reports(order):
            report.change.add_to(change)
            pulls.add(report.change.indices)
            linear, mass = linear + report.linear_after, mass + sum(report.mass)
            apart += inner(report.change.values, report.change.values)
        if inner(change, change) < AGREEMENT * apart:  # the changes of the parts cancel each other
            state.sigma = SHORTER * sigma
        indices, counts = pulls.counts()
        state.anew = bool(problem.team.strangers)
        if state.anew:
            settled, linear, mass = problem.end_of_held(order, state.w)
            settled.change.add_to(state.w)
            state.z[:] = state.u[:] = state.w
        else:
            settled = Outcome(Change.of(change, indices), pulls=counts)
            before = Change(state.moved, state.by)
            Common(state.w, state.z, state.u).follow(settled.change, counts, before, sigma, momentum)
        state.moved, state.by = settled.change
        state.best = max(state.best, problem.reported_bound(linear, state.w, mass))
        state.seen = float(np.nansum(problem.slacks))
        problem.slacks *= optimism
        state.rounds += 1
        problem.end(order, settled)

    def weights(self, state: ConsensusState) -> FloatVector:
        """The common weights."""
        return state.z

    def dual(self, problem: PartedProblem, state: ConsensusState) -> float:
        """The best D so far."""
        return state.best


def usual_sigma(problem: PartedProblem) -> float:
    """The σ to begin with, whatever the number of parts: the best one falls with the cube root of C Σ c_i."""
    return float(LENGTH / max(problem.C * float(problem.example_weight.sum()), TINY) ** (1 / 3))


def _optimism(problem: PartedProblem, state: ConsensusState) -> float:
    """The factor between the losses at z, by the last full pass, and those that the parts see at their own weights.

    A full pass at z replaces the losses that the parts saw by the true ones (`PartedProblem`). The losses of later
    rounds are scaled by the same factor, or each of them would look good enough for another full pass. The factor
    fades, since it may be wrong.
    """
    known = float(np.nansum(problem.slacks))
    return 1.0 + FADING * (known / state.seen - 1.0) if state.seen > 0.0 else 1.0
