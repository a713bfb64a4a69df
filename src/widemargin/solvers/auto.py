"""The default solver: block-wise dual ascent that spends its time where the gap is.

The gap and gain of each visit to a block guide the solver (`blocks`). The gaps of all blocks, as the oracle last saw
them, sum up to the certificate, and a few blocks hold most of it, largely the same ones from pass to pass. So most
passes ask the oracle only for the blocks that together hold a given share of the gap; every few passes, all blocks are
visited. A run that starts from the cuts of another one knows the gaps of the blocks that both have; it begins with the
new blocks and those that hold most of the gap. Between two passes come sweeps over cached cuts, again over the blocks
that hold most of the *cached* gap. Sweeps continue as long as they raise the dual more per unit of work than the last
oracle pass did (Osokin et al. 2016 and Shah et al. 2015 choose in this way for Frank-Wolfe steps). A visit makes a few
pair steps on all cuts of its block at once.

Where blocks share all their weights and C is large, this is slow: steps on one block undo those on another. If, at the
pace of the last epoch, the remaining epochs would take longer than solving the programme of all blocks at once in every
round (`interior`), the solver switches to that. It does so with little data, or with few weights and a large C.

**Costly oracles.** Where decoding an example takes ten milliseconds or more, or a structure does not say how long it
takes (plain Python), calls count and sweeps do not. After each batch the solver sweeps over all cached cuts, until
their gap is small beside the oracle's, so that the next call is made at weights that make the most of what is known.
Only the first pass and one in every few visits all blocks; the others visit blocks by falling gap. All blocks are
solved at once if sweeps do not keep up. Parsers of 1 to 3 ms a call needed a tenth to a seventh fewer
calls to a gap of 3 % in this way, but two fifths more time; so they count as quick.

Work is estimated, not timed: decoding takes the time that the structure states (`Examples.work`), and each non-zero of
a cut takes a fixed time. A clock would make different choices in every run, but the same seed must give the same
weights.
"""

from dataclasses import dataclass, fields
from functools import cache
from math import ceil, log
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import CutStore
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, later, number
from widemargin.solvers.blocks import SLIGHT, absorb, sweep
from widemargin.solvers.dual import MATURE, DualSolver, DualState, growing, value
from widemargin.solvers.interior import MOST_OPERATIONS, Interior, n_operations

MICROSECONDS_PER_ENTRY = 0.0025  # to read an entry of a cut and change w there
MICROSECONDS_PER_CALL = 1000.0  # of a decoder that does not say how long it takes
COSTLY = 10_000.0  # µs: with decoders that take at least as long, few calls matter more than short epochs
SETTLING, NEGLIGIBLE = 0.5, 0.1  # sweeps after a batch: shares of its decoding time, and of the oracle's gap
MICROSECONDS_PER_BATCH, MICROSECONDS_PER_SWEEP = 200.0, 50.0  # overhead, whatever their size
MICROSECONDS_PER_EPOCH = 2000.0  # overhead
BEHIND = 0.3  # sweeps that leave a larger share of the oracle's gap do not keep up with costly calls
STEPS_AT_ONCE = 75  # on the programme of all blocks in about six rounds; in more with many weights for few blocks
MICROSECONDS_PER_STEP, OPERATIONS_PER_MICROSECOND = 200.0, 2500.0
MOST_WEIGHTS_A_BLOCK = 8  # with more, blocks share few weights: ascent then needs new cuts rather than more steps
EARLY = 8  # the first batches are smaller by this factor
FEW_NEW = 0.1  # with no larger share of new blocks, the gaps from the previous run stay true for longer
CLOSE = 0.01  # ascent and interior points are compared by their time to this relative gap


@dataclass(slots=True)
class AscentState(DualState):
    """The dual state, the last known cached gap of every block, and the gain per µs of the last pass.

    `passes` counts partial passes of the oracle since the gaps of all blocks were last known.
    """

    cached_gap: FloatVector = later("n_blocks")
    sweeps: int = 0
    oracle_rate: float = 0.0
    passes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ascent(DualSolver):
    """Gap-driven dual ascent on one block at a time, without a switch to another method.

    Parameters
    ----------
    share : a partial pass or sweep visits the fewest blocks that hold this share of the gap
    period : one in this many passes visits all blocks, and so does one in this many sweeps
    steps : at most this many pair steps a visit
    most_sweeps : at most this many sweeps between two passes of the oracle
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    share: float = number(0.8, above=0.0, most=1.0)
    period: int = number(4, least=1)
    steps: int = number(5, least=1)
    most_sweeps: int = number(10)
    batch_size: int | None = number(None, least=1)

    state: ClassVar[type[DualState]] = AscentState

    def inform(self, problem: Problem, state: AscentState) -> None:
        """Set the gaps of all blocks, and put off the next pass over all; further if they come from a previous run."""
        DualSolver.inform(self, problem, state)
        periods = 0 if state.epochs else 1 if np.isinf(state.gap[problem.c > 0]).mean() > FEW_NEW else 2
        state.passes = -periods * self.period

    def epoch(self, problem: Problem, state: AscentState, rng: np.random.Generator) -> None:
        """Sweeps while they are worth it, then a pass over the blocks with most of the gap."""
        self.climb(problem, state, rng)

    def climb(self, problem: Problem, state: AscentState, rng: np.random.Generator) -> tuple[float, float]:
        """Make an epoch; return its gain and its work in µs."""
        if not len(state.cached_gap):
            state.cached_gap = np.full(problem.n_blocks, np.inf)
        rise, work = 0.0, 0.0
        for _ in range(self.most_sweeps):
            gain, spent = self._sweep(state, rng)
            rise, work = rise + gain, work + spent
            if gain <= state.oracle_rate * spent:
                break
        gain, spent = self._ask(problem, state, rng)
        state.oracle_rate = gain / max(spent, SLIGHT)
        state.epochs += 1
        return rise + gain, work + spent

    def _sweep(self, state: AscentState, rng: np.random.Generator, *, all_of_them: bool = False) -> tuple[float, float]:
        """Make one sweep; return its gain and its work in µs."""
        blocks = np.flatnonzero(state.store.sets.size).astype(np.int32)
        if not len(blocks):
            return 0.0, 0.0
        state.sweeps += 1
        if state.sweeps % self.period and not all_of_them:
            blocks = self._holding_most(state.cached_gap, blocks)
        work = MICROSECONDS_PER_SWEEP + MICROSECONDS_PER_ENTRY * state.store.n_entries_of(blocks)
        view = state.view._replace(gap=state.cached_gap)
        gain, _ = sweep(rng.permutation(blocks), view, SLIGHT, SLIGHT, self.steps)
        return gain, work

    def _ask(self, problem: Problem, state: AscentState, rng: np.random.Generator) -> tuple[float, float]:
        """Ask the oracle for all examples, or for those with most of the gap; return the gain and the work in µs."""
        examples, gap = problem.weighted_examples, problem.per_example(state.gap)
        if not len(examples):  # of a part whose examples all have the weight 0
            return 0.0, 0.0
        state.passes += 1
        costly = is_costly(problem)
        early = state.age < 1 if costly else state.age <= self.period
        if state.passes >= self.period or (state.passes > 0 and early):
            state.passes = 0
        else:
            examples = np.sort(self._holding_most(gap, examples))
        gain, visited = 0.0, []
        size = self.batch_size or max(growing(problem, state.age), _worth_asking(problem, state.age))
        order = rng.permutation(examples)
        if costly and state.epochs:
            order = order[np.argsort(-gap[order], kind="stable")]
        for begin in range(0, len(order), size):
            batch = order[begin : begin + size]
            cuts = state.store.reserve(problem.cuts(state.w, batch))
            rise, _ = absorb(cuts, state.view, SLIGHT, SLIGHT, self.steps)
            gain += rise
            visited.append(cuts.block)
            if costly:
                gain += self._settle(state, rng, SETTLING * _decoding(problem, batch))
        new = np.isinf(state.cached_gap)
        state.cached_gap[new] = state.gap[new]
        work = _decoding(problem, order) + MICROSECONDS_PER_ENTRY * state.store.n_entries_of(np.concatenate(visited))
        return gain, work + MICROSECONDS_PER_BATCH * len(visited)

    def _settle(self, state: AscentState, rng: np.random.Generator, most_work: float) -> float:
        """Sweep until the cached gap is small beside that of the oracle, for at most this work in µs; return the gain.

        So the next costly call is made at weights that make the most of the known cuts.
        """
        total, spent = 0.0, 0.0
        for _ in range(self.most_sweeps):
            gain, work = self._sweep(state, rng, all_of_them=True)
            total, spent = total + gain, spent + work
            cached = float(state.cached_gap[np.isfinite(state.cached_gap)].sum())
            if spent >= most_work or cached < NEGLIGIBLE * float(state.gap[np.isfinite(state.gap)].sum()):
                break
        return total

    def _holding_most(self, gap: FloatVector, numbers: IntVector) -> IntVector:
        """The fewest of these blocks or examples that hold `share` of their gap, and all whose gap is unknown."""
        order = np.argsort(-gap[numbers], kind="stable")
        known = gap[numbers[order]]
        new = np.isinf(known)
        held = np.cumsum(np.where(new, 0.0, np.maximum(known, 0.0)))
        most = 1 + int(np.searchsorted(held, self.share * held[-1]))
        return numbers[order[: max(most, int(new.sum()))]]


@dataclass(slots=True)
class AutoState(AscentState):
    """The states of ascent and of `interior`; `at_once` says that the latter is used now."""

    at_once: bool = False
    point: FloatVector = later("n_weights")
    best: FloatVector = later("n_weights")
    least: float = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(DualSolver):
    """Gap-driven dual ascent, for either loss; all blocks at once where that is faster.

    Parameters
    ----------
    precision : all blocks at once are solved to this share of the gap that the oracle showed
    share : a partial pass or sweep visits the fewest blocks that hold this share of the gap
    period : one in this many passes visits all blocks, and so does one in this many sweeps
    steps : at most this many pair steps a visit
    most_sweeps : at most this many sweeps between two passes of the oracle
    batch_size : how many examples are decoded at one w; None: growing up to the problem's choice
    """

    precision: float = number(0.1, above=0.0, below=1.0)
    share: float = number(0.8, above=0.0, most=1.0)
    period: int = number(4, least=1)
    steps: int = number(5, least=1)
    most_sweeps: int = number(10)
    batch_size: int | None = number(None, least=1)

    state: ClassVar[type[DualState]] = AutoState

    @property
    def ascent(self) -> Ascent:
        """The solver to begin with, used as long as it is fast."""
        return _choices(self)[0]

    @property
    def interior(self) -> Interior:
        """The solver of all blocks at once."""
        return _choices(self)[1]

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> AutoState:
        """A state as of all dual solvers; if the previous run solved all blocks at once, so does this one."""
        state: AutoState = DualSolver.start(self, problem, w, cuts)
        state.at_once = isinstance(cuts, CutStore) and cuts.at_once and len(state.store) > 0
        return state

    def inform(self, problem: Problem, state: AutoState) -> None:
        """Set the gaps of all blocks, which only ascent uses."""
        self.ascent.inform(problem, state)

    def epoch(self, problem: Problem, state: AutoState, rng: np.random.Generator) -> None:
        """Solve all blocks at once, if that was decided; else make an epoch of ascent and decide how to go on."""
        if state.at_once and n_operations(problem, state) <= MOST_OPERATIONS:
            self.interior.epoch(problem, state, rng)
            return
        state.point, state.best, state.least = np.empty(0), np.empty(0), np.inf
        rise, work = self.ascent.climb(problem, state, rng)
        state.at_once = state.epochs > 1 and _is_slow(problem, state, rise, work)

    def weights(self, state: AutoState) -> FloatVector:
        """The weights of ascent, or the best point of `interior`."""
        return self.interior.weights(state)

    def warm_start(self, problem: Problem, state: AutoState) -> CutStore:
        """The working sets, with a note whether all blocks were solved at once."""
        state.store.at_once = state.at_once
        return state.store

    def on_a_part(self) -> Solver | None:
        """Ascent, since solving all blocks at once does not work on a part."""
        return self.ascent


@cache
def _choices(auto: Auto) -> tuple[Ascent, Interior]:
    """The solvers that `auto` chooses between; made once, because checking their parameters takes time."""
    ascent = Ascent(**{each.name: getattr(auto, each.name) for each in fields(Ascent)})
    return ascent, Interior(precision=auto.precision)


def _decoding(problem: Problem, examples: IntVector) -> float:
    """The estimated work in µs of decoding these examples."""
    work = problem.examples.work
    return MICROSECONDS_PER_CALL * len(examples) if work is None else float(work[examples].sum())


def is_costly(problem: Problem) -> bool:
    """Whether decoding an example takes ten milliseconds or more, or may do so for all that is known."""
    work = problem.examples.work
    return work is None or (len(work) > 0 and float(work.mean()) >= COSTLY)


def _is_slow(problem: Problem, state: AutoState, rise: float, work: float) -> bool:
    """Whether ascent, at the pace of this epoch, would take longer than solving all blocks at once."""
    gap = float(state.gap[problem.c > 0].sum())
    if not 0.0 < gap < np.inf or problem.n_weights > MOST_WEIGHTS_A_BLOCK * problem.n_blocks:
        return False
    close = CLOSE * (value(state) + gap)
    epochs_left = log(max(gap / max(close, SLIGHT), 1.0)) * gap / max(rise, SLIGHT * gap)
    step = MICROSECONDS_PER_STEP + n_operations(problem, state) / OPERATIONS_PER_MICROSECOND
    steps_at_once = STEPS_AT_ONCE * (1.0 + problem.n_weights / problem.n_blocks)
    if is_costly(problem):
        return float(state.cached_gap[np.isfinite(state.cached_gap)].sum()) > BEHIND * gap
    return steps_at_once * step < epochs_left * (MICROSECONDS_PER_EPOCH + work)


def _worth_asking(problem: Problem, epochs: int) -> int:
    """The smallest batch worth asking for: one whose decoding takes as long as the overhead of a batch.

    It is smaller at first, as in `growing`.
    """
    work = problem.examples.work
    if work is None:
        return problem.batch_size
    worth = MICROSECONDS_PER_BATCH / (1.0 if epochs >= MATURE else EARLY)
    return ceil(worth / max(float(work.mean()), SLIGHT)) if len(work) else 1
