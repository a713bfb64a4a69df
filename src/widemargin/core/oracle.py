"""The oracle of a problem: it decodes, and answers with cuts.

Solvers see the data only through the oracle, so calls, time, threads and interruption are handled here, once.

**Oracles that are cut short** say by how much a slack may exceed that of their cut (`Cuts.excess`). P(w) is computed
with these upper bounds: the gap is then larger than necessary, but still a proof. The cuts themselves stay valid.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import cast

import numpy as np

from widemargin._threads import run, shares
from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts, concatenate
from widemargin.core.examples import Examples
from widemargin.core.objective import BestCuts, Beyond, Margin, Objective
from widemargin.core.sparse import dots
from widemargin.core.visits import pass_batches

Answer = Callable[[Examples, FloatVector, IntVector], Cuts]

PLAIN = Margin(error_scale=0.0)
BATCH_MICROSECONDS = 12000.0


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


class Oracle:
    """Examples under an objective, asked for cuts.

    `slacks` are those that `cuts` last saw, each at the weights of that moment; `known` are the cuts that the running
    solver keeps. Subclasses provide the attributes below.
    """

    examples: Examples
    objective: Objective
    n_threads: int
    meter: Meter
    example_weight: FloatVector
    slacks: FloatVector
    known: CutStore | None
    looks_beyond: bool

    @property
    def exact(self) -> bool:
        """Whether the oracle finds the most violated cuts, so that a duality gap is a proof."""
        return self.examples.exact and self.objective.is_exact(self.examples)

    @property
    def batch_size(self) -> int:
        """How many examples may be decoded at one w late in training; solvers start with fewer.

        The size does not depend on the number of threads, so neither do the results. It is some milliseconds' worth of
        decoding, to keep several threads busy; at most a sixteenth of all examples, since cuts go stale; and one if
        decoding holds the interpreter lock anyway.
        """
        work = self.examples.work
        if work is None or not len(work):
            return 1
        return int(np.clip(BATCH_MICROSECONDS / max(work.mean(), 1e-9), 1, max(1, len(work) // 16)))

    @property
    def weighted(self) -> IntVector:
        """The examples that count: those with a positive weight."""
        return np.flatnonzero(self.example_weight).astype(np.int32)

    def batches(self, rng: np.random.Generator, size: int | None = None) -> list[IntVector]:
        """All examples with a positive weight, shuffled, in batches."""
        order = rng.permutation(self.weighted)
        size = size or self.batch_size
        return [order[begin : begin + size] for begin in range(0, len(order), size)]

    def cuts(self, w: FloatVector, batch: IntVector) -> Cuts:
        """The most violated cuts at `w` of the batch's blocks."""
        cuts = self._ask(self._answer(w, batch), w, batch)
        self.slacks[cuts.block] = self.slacks_of(cuts, w)
        return cuts

    def slacks_of(self, cuts: Cuts, w: FloatVector) -> FloatVector:
        """b − ⟨w, a⟩ of the oracle's `cuts` at `w`.

        An inexact oracle may miss outputs that it found before, so cuts that the solver keeps (`known`) count as well.
        """
        slacks = cuts.b - dots(cuts.a, w)
        if self.known is not None and not self.exact:
            slacks = np.maximum(slacks, self.known.slacks(cuts.block, w))
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

    def may_end(self) -> None:
        """Let training be cut short here; for solvers that compute for long between two oracle calls."""
        if self.meter.watch is not None:
            self.meter.watch(0)

    def _answer(self, w: FloatVector, batch: IntVector) -> Answer:
        """The objective's `cuts`, or its `cuts_beyond` with the slacks of the batch at `w`.

        These come from the known cuts, or else are the slacks last seen. Such an objective has a block per example.
        """
        if not self.looks_beyond:
            return self.objective.cuts
        xi = np.zeros(len(self.slacks))
        xi[batch] = self.slacks[batch] if self.known is None else self.known.slacks(batch, w)
        return partial(cast("Beyond", self.objective).cuts_beyond, np.fmax(xi, 0.0))

    def _ask(self, answer: Answer, w: FloatVector, batch: IntVector) -> Cuts:
        if self.meter.watch is not None:
            self.meter.watch(len(batch))
        begin = perf_counter()
        parts = shares(batch, self.examples.work, self.n_threads)
        cuts = concatenate(run([partial(answer, self.examples, w, part) for part in parts]))
        self.meter.count(len(batch), perf_counter() - begin)
        return cuts
