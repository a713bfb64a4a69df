"""The sum over all parts, as the training loop sees it (`core.problem.Trainable`): its blocks are the parts.

    P(w) = ½‖w‖² + C Σ_k L_k(w),   L_k(w) = Σ c_i ℓ(ξ_i(w)) over the blocks of part k

L_k plays the role of the slack of block k in `Problem`. There are no cuts here: they stay with the examples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from time import perf_counter

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core import penalty as penalties
from widemargin.core.cut_store import CutStore
from widemargin.core.evidence import UNIT, Evidence
from widemargin.core.objective import Objective
from widemargin.core.oracle import Meter
from widemargin.core.products import inner
from widemargin.parts.messages import NOTHING, Change, Look, Seen, Sums
from widemargin.parts.team import Team


class PartedExamples:
    """Facts about the examples of all parts, which themselves are elsewhere."""

    def __init__(self, team: Team) -> None:
        about = [team.about[k] for k in range(team.n_parts)]
        self.n_examples, self.n_weights = team.n_parts, about[0].n_weights
        self.exact = all(each.exact for each in about)
        self.contents = [each.mark.contents for each in about]  # for the digests of `core.contents`


@dataclass(slots=True)
class PartedProblem:
    """The sum over the parts of a started team; C and the other settings are those of the parts' problems.

    `common` are the weights that the parts start from; parts know them, or learn them with their next task.
    """

    team: Team
    objective: Objective
    C: float
    loss: Loss
    penalty: Penalty = "l2"
    l1: float = 1.0
    meter: Meter = field(default_factory=Meter, repr=False)
    examples: PartedExamples = field(init=False, repr=False)
    example_weight: FloatVector = field(init=False, repr=False)
    common: FloatVector = field(init=False, repr=False)
    slacks: FloatVector = field(init=False, repr=False)
    known: CutStore | None = field(default=None, init=False, repr=False)
    misjudgement: str = field(default="", init=False, repr=False)
    n_weights: int = field(init=False)
    n_blocks: int = field(init=False)
    n_counted: int = field(init=False)
    exact: bool = field(init=False)
    convex: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self.examples = PartedExamples(self.team)
        about = [self.team.about[k] for k in range(self.team.n_parts)]
        self.example_weight = np.array([each.weight for each in about])
        self.n_weights, self.n_blocks, self.exact = self.examples.n_weights, len(about), self.examples.exact
        self.n_counted = sum(each.n_examples for each in about)
        self.common = np.zeros(self.n_weights)
        self.forget()

    def forget(self) -> None:
        """Forget all losses seen so far."""
        self.slacks, self.misjudgement = np.full(self.n_blocks, np.nan), ""

    def may_end(self) -> None:
        """Let training be cut short here."""
        if self.meter.watch is not None:
            self.meter.watch(0)

    def primal_estimate(self, w: FloatVector) -> float | None:
        """P at `w` with the losses last seen; parts not seen yet are assumed to be like those seen."""
        seen = self.slacks[~np.isnan(self.slacks)]
        return self._value(w, float(seen.sum()) * float(self.n_blocks / len(seen))) if len(seen) else None

    def primal(self, w: FloatVector, found: FloatVector | None = None) -> float:
        """P(w), by a full pass over the parts."""
        return self._value(w, sum((seen.loss for seen in self._look(w, found, proves=False)), 0.0))

    def bounds(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, float]:
        """P(w) and a lower bound on the least P, from the losses and evidence of all parts, by a full pass."""
        total, sums = 0.0, []
        for seen in self._look(w, found, proves=True):
            assert seen.sums is not None
            total += seen.loss
            sums.append(seen.sums)
        return self._value(w, total), self.bound(together(sums, self.n_weights))

    def bound(self, evidence: Evidence) -> float:
        """The lower bound on the least P that evidence proves."""
        return evidence.bound(self.penalty, self.l1)

    def least_at_zero(self) -> None:
        """None: without cuts there is no bound on P(0)."""

    def _value(self, w: FloatVector, loss: float) -> float:
        return penalties.value(self.penalty, self.l1, w) + self.C * loss

    def _look(self, w: FloatVector, found: FloatVector | None, *, proves: bool) -> Iterator[Seen]:
        """The losses of the parts at `w`; those at the common weights are kept, since rounds see L_k only near them."""
        begin, calls = perf_counter(), 0
        change = NOTHING if w is self.common else Change.between(self.common, w)
        for k, seen in self.team.ask(Look(change, proves), self.may_end):
            calls += seen.calls
            if w is self.common:
                self.slacks[k] = seen.loss
            if found is not None:
                found[k] = seen.loss
            if seen.misjudgement:
                self.misjudgement = f"in part {k} of the data, {seen.misjudgement}"
            yield seen
        self.meter.count(calls, perf_counter() - begin)


def together(sums: Sequence[Sums], n_weights: int) -> Evidence:
    """The evidence of all parts, added up on the safe side of rounding."""
    linear, quadratic, s, most, off = 0.0, 0.0, np.zeros(n_weights), np.inf, 0.0
    share = UNIT * (len(sums) + 1)
    for each in sums:
        each.s.added(s)
        linear += each.linear - share * abs(each.linear)
        quadratic += each.quadratic * (1.0 + share)
        off += each.off + share * sqrt(inner(each.s.values, each.s.values))
        most = min(most, each.most)
    return Evidence(linear, quadratic, s, most, off)
