"""Full passes over a problem: all slacks ξ_i(w), with cuts, or with the sum of all cuts.

    R(w) = C Σ c_i ℓ(ξ_i(w)),   −∇R(w) = Σ α_i a_i,   α_i = C c_i ℓ'(ξ_i)

Code that sums over all examples uses `Problem.visits` and need not know which kind of visit it gets. Examples that
offer `SummedMarginals` sum the tangents a_i of a smooth objective without making them (`core.examples.Totals`). Their
batches are fixed once, so the result does not depend on the number of threads.
"""

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from widemargin._threads import run, shares
from widemargin._types import FloatVector, IntVector
from widemargin.core.cuts import Cuts
from widemargin.core.dense import inner
from widemargin.core.evidence import Ledger
from widemargin.core.examples import Totals, Unreachable
from widemargin.core.sparse import absolute, add_rows, dots, taken

if TYPE_CHECKING:
    from widemargin.core.oracle import Oracle
    from widemargin.core.problem import Problem

PASS_BATCH, SMOOTH_PASS_BATCH = 1024, 128
PASS_BYTES = 128e6
MISJUDGED = 1e-6  # how far the score of an argmax may seem to lie below that of gold, relatively, by rounding
MOST_BATCHES = 64
BATCH_WORK = 1000.0  # µs of decoding; summing takes a few times as long
ROUND_WORK = 50_000.0  # µs between two moments at which training may end


Wants = Literal["slacks", "sum", "cuts"]
"""A visit finds slacks alone, or also the sum of all αa, or each cut."""


class CutVisit(NamedTuple):
    """Some blocks with their slacks at `w`, and the cuts that the oracle found there."""

    block: IntVector
    slacks: FloatVector
    cuts: Cuts
    w: FloatVector

    @property
    def above(self) -> FloatVector:
        """Upper bounds on the slacks, since some oracles are cut short (`Bounded`)."""
        return self.slacks + self.cuts.excess if len(self.cuts.excess) else self.slacks

    def added(self, alpha: FloatVector, a: FloatVector) -> FloatVector:
        """a + Σ αa, written to `a`."""
        add_rows(alpha, self.cuts.a, a)
        return a

    def enter(self, alpha: FloatVector, ledger: Ledger) -> None:
        """Add the cuts with their α to a ledger."""
        ledger.add(alpha, self.cuts.b, self.cuts.a)

    def sizes(self, alpha: FloatVector, w: FloatVector) -> FloatVector:
        """Σ_j |w_j a_j| of each cut."""
        return dots(absolute(self.cuts.a), np.abs(w))


class SumVisit(NamedTuple):
    """All blocks of a smooth problem with their slacks at `w`, and a = Σ αa over all; `a` is empty if not wanted."""

    block: IntVector
    slacks: FloatVector
    a: FloatVector
    w: FloatVector

    @property
    def above(self) -> FloatVector:
        """The slacks: sums are never cut short."""
        return self.slacks

    def added(self, alpha: FloatVector, a: FloatVector) -> FloatVector:
        """Σ αa; `a` is zero before the only visit of a pass."""
        return self.a

    def enter(self, alpha: FloatVector, ledger: Ledger) -> None:
        """Add all cuts to a ledger."""
        ledger.add_sum(len(alpha), inner(alpha, self.slacks) + inner(self.w, self.a), self.a)

    def sizes(self, alpha: FloatVector, w: FloatVector) -> FloatVector:
        """The mean of Σ_j |w_j a_j| over all blocks, since only the sum of their cuts is known."""
        return np.full(len(alpha), inner(np.abs(w), np.abs(self.a)) / alpha.sum())


Visit: TypeAlias = CutVisit | SumVisit


def find_misjudgement(problem: "Problem", visit: CutVisit) -> str:
    """A description of an output that is worth less than gold, or "".

    The cut of gold is 0, so an argmax never has a negative slack, except where gold is out of reach.
    """
    cuts, slacks, examples = visit.cuts, visit.above, problem.examples
    low = np.flatnonzero(slacks < 0.0)
    if not len(low):
        return ""
    size = np.abs(cuts.b[low]) + dots(absolute(taken(cuts.a, low)), np.abs(visit.w))
    wrong = low[slacks[low] < -MISJUDGED * size]
    of_example = problem.objective.blocks(examples)[cuts.block]
    for out_of_reach in examples.unreachable().values() if isinstance(examples, Unreachable) else ():
        wrong = wrong[~out_of_reach[of_example[wrong]]]
    if not len(wrong):
        return ""
    return (
        f"decoding example {of_example[wrong[0]]}, counted from 0, returned an output that is worth "
        f"{-slacks[wrong[0]]:.3g} less than gold; widemargin.testing.check_structure tells more"
    )


def pass_batches(problem: "Oracle") -> list[IntVector]:
    """All examples with a positive weight, in order, in the batches of a full pass."""
    examples, smooth = problem.weighted, problem.objective.kind == "smooth"
    # Tangents have long rows: by measurement, computing those of 512 chains at once takes twice as long per chain.
    numbers = np.arange(len(examples)) // (SMOOTH_PASS_BATCH if smooth else PASS_BATCH)
    needed = getattr(problem.examples, "expectation_bytes", None)
    if smooth and needed is not None:
        numbers += (np.cumsum(needed()[examples]) // PASS_BYTES).astype(numbers.dtype)
    return np.split(examples, np.flatnonzero(np.diff(numbers)) + 1) if len(examples) else []


@dataclass(frozen=True, slots=True)
class SummedPass:
    """The batches of a pass over `examples`, their work in µs of decoding, and the sums over them.

    Training may end between two `rounds`; each holds the numbers of its batches and its number of examples.
    """

    examples: IntVector
    batches: list[IntVector]
    work: FloatVector
    totals: Totals
    rounds: list[tuple[IntVector, int]]

    def visit(self, problem: "Problem", w: FloatVector, wants: Wants) -> SumVisit:
        """All blocks at `w`."""
        found: list[FloatVector] = []
        for part, n_examples in self.rounds:
            if problem.meter.watch is not None:
                problem.meter.watch(n_examples)
            begin = perf_counter()
            tasks = [partial(self._visit, problem, w, each) for each in shares(part, self.work, problem.n_threads)]
            found += [slacks for each in run(tasks) for slacks in each]
            problem.meter.count(n_examples, perf_counter() - begin)
        begin = perf_counter()
        a = np.empty(0) if wants == "slacks" else self.totals.total(problem.n_threads)
        problem.meter.count(0, perf_counter() - begin)
        return SumVisit(self.examples, np.concatenate(found), a, w)

    def _visit(self, problem: "Problem", w: FloatVector, numbers: IntVector) -> list[FloatVector]:
        weights = problem.C * problem.example_weight
        return [self.totals.visit(w, number, weights[self.batches[number]]) for number in numbers.tolist()]


def summed_pass(problem: "Problem") -> SummedPass | None:
    """The full pass over a smooth problem; None if each example needs a cut of its own."""
    examples, work = problem.weighted, problem.examples.work
    if problem.objective.kind != "smooth" or work is None or not len(examples):
        return None
    done = np.cumsum(work[examples])
    if not done[-1] > 0.0:  # nothing but empty sequences
        return None
    n_batches = np.clip(done[-1] // BATCH_WORK, 1, min(MOST_BATCHES, len(examples)))
    numbers = np.minimum(done * (n_batches / done[-1]), n_batches - 1).astype(np.int64)
    batches = np.split(examples, np.flatnonzero(np.diff(numbers)) + 1)
    totals = problem.objective.totals(problem.examples, batches)
    if totals is None:
        return None
    batch_work = np.array([work[each].sum() for each in batches])
    order, ends = np.arange(len(batches), dtype=np.int32), np.flatnonzero(np.diff(np.cumsum(batch_work) // ROUND_WORK))
    rounds = [(part, sum(len(batches[number]) for number in part.tolist())) for part in np.split(order, ends + 1)]
    return SummedPass(examples, batches, batch_work, totals, rounds)
