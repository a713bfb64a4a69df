"""The sum over all parts, as the problem that the training loop sees: its blocks are the parts.

    P(w) = ½‖w‖² + C Σ_k L_k(w),   L_k(w) = Σ c_i ℓ(ξ_i(w)) over the blocks of part k

What `Problem` calls the slack of block k is L_k here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from time import perf_counter
from typing import cast

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector
from widemargin.core.choices import Loss, Penalty
from widemargin.core.dense import inner
from widemargin.core.evidence import UNIT, Evidence
from widemargin.core.examples import Examples
from widemargin.core.objective import Objective
from widemargin.core.problem import Problem
from widemargin.core.visits import SumVisit, Visit, Wants
from widemargin.parts.messages import NOTHING, Change, Look, Seen, Sums
from widemargin.parts.team import Team


class PartedExamples:
    """The examples of all parts: nothing but facts about them, since they are elsewhere."""

    work = None

    def __init__(self, team: Team) -> None:
        about = [team.about[k] for k in range(team.n_parts)]
        self.n_examples, self.n_weights = team.n_parts, about[0].n_weights
        self.exact = all(each.exact for each in about)
        self.contents = [each.mark.contents for each in about]  # so that `core.contents` tells them from others


@dataclass(slots=True)
class PartedProblem(Problem):
    """The sum over the parts of a team, which has been started; C and the rest are those of the parts' problems.

    `common` are the weights that the parts start from, which they know or are told with their next task.
    """

    team: Team = field(kw_only=True)
    common: FloatVector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.example_weight = np.array([self.team.about[k].weight for k in range(self.team.n_parts)])
        self.c = np.ones(self.team.n_parts)
        self._looks_beyond = False
        self.common = np.zeros(self.n_weights)
        self.forget()

    @classmethod
    def of(
        cls, team: Team, objective: Objective, C: float, loss: Loss, penalty: Penalty = "l2", l1: float = 1.0
    ) -> "PartedProblem":
        """The sum over the parts of a team, whose problems have this objective, C, loss and penalty."""
        examples = cast("Examples", PartedExamples(team))
        return cls(examples, objective, C=C, loss=loss, penalty=penalty, l1=l1, team=team)

    @property
    def exact(self) -> bool:
        """Whether the oracles of all parts are exact."""
        return self.examples.exact

    @property
    def weighted(self) -> IntVector:
        """As many zeros as there are examples, which take no memory: nobody looks at them here."""
        n = sum(about.n_examples for about in self.team.about.values())
        return np.broadcast_to(np.zeros(1, dtype=np.int32), (n,))

    def losses(self, blocks: AnyArray, slacks: FloatVector) -> float:
        """Σ_k L_k of these parts."""
        return float(slacks.sum())

    def bounds(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, float]:
        """P(w) and a lower bound on the least P, both from what the parts hold now, by a full pass over them."""
        total, sums = 0.0, []
        for k, seen in self._seen(w, proves=True):
            assert seen.sums is not None
            total += seen.loss
            sums.append(seen.sums)
            if found is not None:
                found[k] = seen.loss
        return self.regulariser(w) + self.C * total, self.bound(together(sums, self.n_weights))

    def visits(self, w: FloatVector, wants: Wants = "slacks") -> Iterator[Visit]:
        """Parts with their L_k at `w`; their cuts stay where they are."""
        for k, seen in self._seen(w, proves=False):
            yield SumVisit(np.array([k], dtype=np.int32), np.array([seen.loss]), np.empty(0), w)

    def _seen(self, w: FloatVector, *, proves: bool) -> Iterator[tuple[int, Seen]]:
        """What parts see at `w`; L_k at the common weights is kept, since in rounds they see it only nearby."""
        begin, calls = perf_counter(), 0
        change = NOTHING if w is self.common else Change.between(self.common, w)
        for k, seen in self.team.ask(Look(change, proves), self.may_end):
            calls += seen.calls
            if w is self.common:
                self.slacks[k] = seen.loss
            if seen.misjudged:
                self.misjudged = f"in part {k} of the data, {seen.misjudged}"
            yield k, seen
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
