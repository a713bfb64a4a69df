"""The sum over all parts, as the training loop sees it (`core.problem.Trainable`): its blocks are the parts.

    P(w) = ½‖w‖² + C Σ_k L_k(w),   L_k(w) = Σ c_i ℓ(ξ_i(w)) over the blocks of part k

L_k plays the role of the slack of block k in `Problem`. There are no cuts here: they stay with the examples.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core import penalty as penalties
from widemargin.core.cut_store import CutStore
from widemargin.core.evidence import UNIT, Evidence
from widemargin.core.objective import Objective
from widemargin.core.oracle import Meter
from widemargin.core.problem import Trainable
from widemargin.core.products import inner
from widemargin.errors import UnsupportedError
from widemargin.parts.messages import NOTHING, Change, Hold, Look, Order, Outcome, Report, Seen, SparseEvidence
from widemargin.parts.team import About, Team


class PartedExamples:
    """Facts about the examples of all parts, which themselves are elsewhere."""

    def __init__(self, about: Sequence[About]) -> None:
        self.n_examples, self.n_weights = len(about), about[0].n_weights
        self.exact = all(each.exact for each in about)
        self.contents = [each.mark.contents for each in about]  # for the digests of `core.contents`


class PartedProblem(Trainable):
    """The sum over the parts of a started team; C and the other settings are those of the parts' problems.

    `common` are the weights that the parts start from; parts know them, or learn them with their next task.
    """

    kept_cuts: CutStore | None = None
    convex = True

    def __init__(
        self, team: Team, objective: Objective, C: float, loss: Loss, penalty: Penalty = "l2", l1: float = 1.0
    ) -> None:
        about = [team.about[k] for k in range(team.n_parts)]
        self.team, self.objective, self.C, self.loss, self.penalty, self.l1 = team, objective, C, loss, penalty, l1
        self.meter, self.examples = Meter(), PartedExamples(about)
        self.n_weights, self.n_blocks = self.examples.n_weights, len(about)
        self.n_counted = sum(each.n_examples for each in about)
        self.example_weight: FloatVector = np.array([each.weight for each in about])
        self.common: FloatVector = np.zeros(self.n_weights)
        self.forget()

    @property
    def exact(self) -> bool:
        """Whether the oracles of all parts are exact."""
        return self.examples.exact

    def forget(self) -> None:
        """Forget all losses seen so far."""
        self.slacks: FloatVector = np.full(self.n_blocks, np.nan)
        self.misjudgement = ""

    def go_to(self, rounds: int, common: FloatVector) -> None:
        """Bring all parts to this round of the journal, from which they start at the common weights."""
        if self.team.rounds != rounds:
            self.team.start(self.meter.may_end, rounds)
        self.common = common

    def reports(self, order: Order) -> Iterator[tuple[int, Report]]:
        """The reports of all parts on a round; losses, oracle calls and seconds are noted."""
        for k, report in self.team.ask(order, self.meter.may_end):
            self.slacks[k] = np.nan if report.loss is None else report.loss
            self.meter.count(report.calls, report.seconds / self.n_blocks)
            yield k, report

    def end_of_held(self, order: Order, w: FloatVector) -> tuple[Outcome, float, float]:
        """The end of a round at w = Σ_k v_k by the actual α of all parts, if `w` differs; Σ bα and the mass term."""
        held = [each.sums for _, each in self.team.ask(Hold(order), self.meter.may_end)]
        evidence = together(held, self.n_weights)
        return Outcome(Change.between(w, evidence.s)), evidence.linear, evidence.quadratic

    def end(self, order: Order, settled: Outcome) -> None:
        """End a round, and save the parts if it is time to."""
        self.team.settle(order, settled)
        self.team.save(self.meter.may_end)

    def loss_seen(self) -> float | None:
        """Σ_k L_k as last seen; parts not seen yet are assumed to be like those seen."""
        seen = self.slacks[~np.isnan(self.slacks)]
        return float(seen.sum()) * float(self.n_blocks / len(seen)) if len(seen) else None

    def total_loss(self, w: FloatVector, found: FloatVector | None = None) -> float:
        """Σ_k L_k(w), by a full pass over the parts."""
        return sum((seen.loss for seen in self._look(w, found, proves=False)), 0.0)

    def tangents(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, Evidence]:
        """Σ_k L_k(w), and the evidence of all parts, by a full pass."""
        total, sums = 0.0, []
        for seen in self._look(w, found, proves=True):
            assert seen.sums is not None
            total += seen.loss
            sums.append(seen.sums)
        return total, together(sums, self.n_weights)

    def reported_bound(self, linear: float, w: FloatVector, mass: float) -> float:
        """The best D(tα), t ≥ 0, by the reports of the parts; a certificate uses their actual α."""
        return penalties.best_bound("l2", 1.0, linear, w, mass, np.inf if self.loss == "squared_hinge" else 1.0)

    def _look(self, w: FloatVector, found: FloatVector | None, *, proves: bool) -> Iterator[Seen]:
        """The losses of the parts at `w`; those at the common weights are kept, since rounds see L_k only near them."""
        begin, calls = perf_counter(), 0
        change = NOTHING if w is self.common else Change.between(self.common, w)
        for k, seen in self.team.ask(Look(change, proves), self.meter.may_end):
            calls += seen.calls
            if w is self.common:
                self.slacks[k] = seen.loss
            if found is not None:
                found[k] = seen.loss
            if seen.misjudgement:
                self.misjudgement = f"in part {k} of the data, {seen.misjudgement}"
            yield seen
        self.meter.count(calls, perf_counter() - begin)


def zero(problem: PartedProblem, w: FloatVector | None, cuts: Any) -> FloatVector:
    """The weights that all parts start from; raise if a solver of a sum over parts cannot start so."""
    if not isinstance(problem, PartedProblem):
        raise UnsupportedError("this solver works on several parts of the data; take the local one itself")
    if w is not None or cuts is not None:
        raise UnsupportedError("a solver on several parts starts from zero, not from weights or cuts")
    return np.zeros(problem.n_weights)


def together(sums: Sequence[SparseEvidence], n_weights: int) -> Evidence:
    """The evidence of all parts, added up on the safe side of rounding."""
    linear, quadratic, s, most, off = 0.0, 0.0, np.zeros(n_weights), np.inf, 0.0
    share = UNIT * (len(sums) + 1)
    for each in sums:
        each.s.add_to(s)
        linear += each.linear - share * abs(each.linear)
        quadratic += each.quadratic * (1.0 + share)
        off += each.off + share * sqrt(inner(each.s.values, each.s.values))
        most = min(most, each.most)
    return Evidence(linear, quadratic, s, most, off)
