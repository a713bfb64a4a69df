"""The oracle of a problem: it decodes, and answers with cuts.

Solvers see the data only through the oracle, so calls, time, threads and interruption are handled here, once.

**Oracles that are cut short** say by how much a slack may exceed that of their cut (`Cuts.excess`). P(w) is computed
with these upper bounds: the gap is then larger than necessary, but still a proof. The cuts themselves stay valid.

**A full pass** finds all slacks ξ_i(w), with cuts, or with the sum of all cuts:

    R(w) = C Σ c_i ℓ(ξ_i(w)),   −∇R(w) = Σ α_i a_i,   α_i = C c_i ℓ'(ξ_i)

Code that sums over all examples uses `Problem.visits` and need not know which kind of visit it gets. Examples that
offer `SummedMarginals` sum the tangents a_i of a smooth objective without making them (`core.examples.Totals`). Their
batches are fixed once, so the result does not depend on the number of threads.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from widemargin._jit import now
from widemargin._threads import run, shares
from widemargin._types import FloatVector, IntVector
from widemargin.core.asking import ask
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts, concatenate
from widemargin.core.evidence import Ledger
from widemargin.core.examples import Examples, OnDisk, Totals, Unreachable
from widemargin.core.objective import BestCuts, Beyond, Margin, Objective
from widemargin.core.products import inner
from widemargin.core.sparse import absolute, add_rows, dots, take_rows

if TYPE_CHECKING:
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

    def add_to(self, alpha: FloatVector, a: FloatVector) -> FloatVector:
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

    def add_to(self, alpha: FloatVector, a: FloatVector) -> FloatVector:
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
    size = np.abs(cuts.b[low]) + dots(absolute(take_rows(cuts.a, low)), np.abs(visit.w))
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
    examples, smooth = problem.weighted_examples, problem.objective.kind == "smooth"
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
            problem.meter.may_end(n_examples)
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
    examples, work = problem.weighted_examples, problem.examples.work
    if problem.objective.kind != "smooth" or work is None or not len(examples):
        return None
    if isinstance(problem.examples, OnDisk):  # sums would need a copy of all features in memory
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


Answer = Callable[[Examples, FloatVector, IntVector], Cuts]

PLAIN = Margin(error_scale=0.0)
BATCH_MICROSECONDS = 12000.0
FEW = 64  # batches of this share of all examples hardly ever need more epochs than single examples
PAIRS = 16  # with fewer examples, even batches of two need many more


@dataclass(slots=True)
class Meter:
    """The number of oracle calls so far and the seconds they took.

    `watch` is called with the number of examples about to be visited, at a moment when the solver's state is
    consistent: it may raise to end the epoch.
    """

    calls: int = 0
    seconds: float = 0.0
    watch: Callable[[int], None] | None = None
    first: tuple[int, float] = (0, 0.0)

    def may_end(self, n_examples: int = 0) -> None:
        """Let the epoch be cut short here, before this many examples are visited."""
        if self.watch is not None:
            self.watch(n_examples)

    def count(self, calls: int, seconds: float) -> None:
        """Add the calls of one batch and their seconds."""
        if not self.calls:
            self.first = calls, seconds
        self.calls += calls
        self.seconds += seconds

    @property
    def seconds_a_call(self) -> float:
        """Seconds per call, without the first batch, which may include compilation; 0 before the second batch."""
        calls, seconds = self.first
        return (self.seconds - seconds) / max(self.calls - calls, 1)


class Clock:
    """Seconds and oracle calls since the start, plus those given; time spent compiling does not count."""

    def __init__(self, meter: Meter, seconds: float = 0.0, calls: int = 0) -> None:
        self._meter, self._begin, self._calls = meter, now() - seconds, meter.calls - calls

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return now() - self._begin

    @property
    def calls(self) -> int:
        """The oracle calls so far."""
        return self._meter.calls - self._calls

    @contextmanager
    def pause(self, wanted: bool = True) -> Iterator[None]:
        """Count neither the seconds nor the oracle calls of the block, if that is wanted."""
        begin, calls = now(), self._meter.calls
        try:
            yield
        finally:
            if wanted:
                self._begin += now() - begin
                self._calls += self._meter.calls - calls


class Oracle:
    """Examples under an objective, asked for cuts.

    `slacks` are those that `cuts` last saw, each at the weights of that moment; `kept_cuts` are those of the running
    solver. Subclasses provide the attributes below.
    """

    examples: Examples
    objective: Objective
    n_threads: int
    meter: Meter
    example_weight: FloatVector
    slacks: FloatVector
    kept_cuts: CutStore | None
    looks_beyond: bool

    @property
    def exact(self) -> bool:
        """Whether the oracle finds the most violated cuts, so that a duality gap is a proof."""
        return self.examples.exact and self.objective.is_exact(self.examples)

    @property
    def batch_size(self) -> int:
        """How many examples may be decoded at one w late in training; solvers start with fewer.

        The size does not depend on the number of threads, so neither do the results. It is some milliseconds' worth of
        decoding, to keep several threads busy; at most a sixteenth of all examples, since cuts go stale. Where plain
        Python decodes, it is a small share of all examples: calls are expected to cost more than fresh cuts save. It is
        a power of two, so that two or four processes can share it evenly.
        """
        work = self.examples.work
        if work is None:
            n = self.examples.n_examples
            return 2 ** int(np.log2(max(n // FEW, 2 if n >= PAIRS else 1)))
        if not len(work):
            return 1
        return int(np.clip(BATCH_MICROSECONDS / max(work.mean(), 1e-9), 1, max(1, len(work) // 16)))

    @property
    def weighted_examples(self) -> IntVector:
        """The examples that count: those with a positive weight."""
        return np.flatnonzero(self.example_weight).astype(np.int32)

    def batches(self, rng: np.random.Generator, size: int | None = None) -> list[IntVector]:
        """All examples with a positive weight, shuffled, in batches."""
        order = rng.permutation(self.weighted_examples)
        size = size or self.batch_size
        return [order[begin : begin + size] for begin in range(0, len(order), size)]

    def cuts(self, w: FloatVector, batch: IntVector) -> Cuts:
        """The most violated cuts at `w` of the batch's blocks."""
        cuts = self._ask(self._answer(w, batch), w, batch)
        self.slacks[cuts.block] = self.slacks_of(cuts, w)
        return cuts

    def slacks_of(self, cuts: Cuts, w: FloatVector) -> FloatVector:
        """b − ⟨w, a⟩ of the oracle's `cuts` at `w`.

        An inexact oracle may miss outputs that it found before, so the cuts that the solver keeps count as well.
        """
        slacks = cuts.b - dots(cuts.a, w)
        if self.kept_cuts is not None and not self.exact:
            slacks = np.maximum(slacks, self.kept_cuts.slacks(cuts.block, w))
        return slacks

    def best_cuts(self, w: FloatVector, batch: IntVector, k: int) -> Cuts:
        """The cuts of the `k` best outputs at `w` of each example, best first, one example after the other."""
        cuts = self._ask(partial(cast("BestCuts", self.objective).best_cuts, k), w, batch)
        first = np.flatnonzero(np.diff(cuts.block, prepend=-1))
        self.slacks[cuts.block[first]] = (cuts.b - dots(cuts.a, w))[first]
        return cuts

    def mistakes(self, w: FloatVector, batch: IntVector, k: int = 1) -> Cuts:
        """The cuts of the batch's plain predictions, decoded without the error term; those of the `k` best if k > 1."""
        return self._ask(PLAIN.cuts if k == 1 else partial(PLAIN.best_cuts, k), w, batch)

    def full_pass(self, w: FloatVector) -> Iterator[Cuts]:
        """The cuts at `w` of all examples with a positive weight, in batches; `slacks` is left as it is."""
        for batch in pass_batches(self):
            yield self._ask(self._answer(w, batch), w, batch)

    def _answer(self, w: FloatVector, batch: IntVector) -> Answer:
        """The objective's `cuts`, or its `cuts_beyond` with the slacks of the batch at `w`.

        These come from the known cuts, or else are the slacks last seen. Such an objective has a block per example.
        """
        if not self.looks_beyond:
            return self.objective.cuts
        xi = np.zeros(len(self.slacks))
        xi[batch] = self.slacks[batch] if self.kept_cuts is None else self.kept_cuts.slacks(batch, w)
        return partial(cast("Beyond", self.objective).cuts_beyond, np.fmax(xi, 0.0))

    def _ask(self, answer: Answer, w: FloatVector, batch: IntVector) -> Cuts:
        self.meter.may_end(len(batch))
        begin = perf_counter()
        cuts = concatenate(ask(answer, self.examples, w, batch, self.n_threads, self.meter.may_end))
        self.meter.count(len(batch), perf_counter() - begin)
        return cuts
