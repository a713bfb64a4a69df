"""Full passes over a smooth problem: all slacks, and the slope of their sum.

    R(w) = C Σ c_i ξ_i(w),   −∇R(w) = C Σ c_i a_i

Examples that offer `SummedMarginals` sum the tangents a_i without making them (`core.examples.Totals`). They do so in
batches that are fixed once, whatever the number of threads, and so is the result.
"""

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from widemargin._threads import run, shares
from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Totals

if TYPE_CHECKING:
    from widemargin.core.problem import Problem

MOST_BATCHES = 64
BATCH_WORK = 1000.0  # µs of decoding; summing takes a few times as long
ROUND_WORK = 50_000.0  # between two moments at which training may end


@dataclass(frozen=True, slots=True)
class SummedPass:
    """The batches of a pass over `examples`, their work in µs of decoding, and the sums over them.

    `rounds` holds the numbers of the batches between two moments at which training may end, and their examples.
    """

    examples: IntVector
    batches: list[IntVector]
    work: FloatVector
    totals: Totals
    rounds: list[tuple[IntVector, int]]

    def slacks(self, problem: "Problem", w: FloatVector) -> FloatVector:
        """ξ_i(w) of every example with a positive weight."""
        found: list[FloatVector] = []
        for part, n_examples in self.rounds:
            if problem.meter.watch is not None:
                problem.meter.watch(n_examples)
            begin = perf_counter()
            tasks = [partial(self._visit, problem, w, each) for each in shares(part, self.work, problem.n_threads)]
            found += [slacks for each in run(tasks) for slacks in each]
            problem.meter.count(n_examples, perf_counter() - begin)
        return np.concatenate(found)

    def tangents(self, problem: "Problem", w: FloatVector) -> tuple[FloatVector, FloatVector]:
        """ξ_i(w) of every example with a positive weight, and −∇R(w)."""
        slacks = self.slacks(problem, w)
        begin = perf_counter()
        a = self.totals.total(problem.n_threads)
        problem.meter.count(0, perf_counter() - begin)
        return slacks, a

    def risk(self, problem: "Problem", w: FloatVector) -> tuple[float, FloatVector]:
        """R(w) and −∇R(w); the problem then remembers the slacks at `w`."""
        slacks, a = self.tangents(problem, w)
        problem.slacks[self.examples] = slacks
        return problem.C * problem.losses(self.examples, slacks), a

    def _visit(self, problem: "Problem", w: FloatVector, numbers: IntVector) -> list[FloatVector]:
        weights = problem.C * problem.example_weight
        return [self.totals.visit(w, number, weights[self.batches[number]]) for number in numbers.tolist()]


def summed_pass(problem: "Problem") -> SummedPass | None:
    """How to make full passes over a smooth problem; None if each example needs a cut of its own."""
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
