"""One training run: everything that changes while it lasts (`core.loop`)."""

import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._jit import now
from widemargin._types import FloatVector
from widemargin.core.certifier import Certificate, Certifier
from widemargin.core.interrupt import learnt
from widemargin.core.origin import Origin
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, Solution, percent, relative_gap
from widemargin.core.solver import Carried, Solver
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.core.checkpoint import Checkpoint

LOG = logging.getLogger(__name__)
SHORTER = [2.0**-k for k in range(1, 7)]  # scales to try on weights that are worse than zero
SLIGHTLY = 1e-9  # how much worse than zero, relatively, weights may be
EMPTY = 0.999  # a relative gap above which, rounded up, "proven to be within 100 %" is all there is to say
EARLY = 0.2  # a relative gap above which a dual method has weights that still jump from epoch to epoch


class Halt(Exception):  # noqa: N818 — it ends an epoch; nothing went wrong
    """Ends an epoch early, at a moment when the solver's state is consistent."""


def _percent(share: float | None) -> str:
    return "unknown" if share is None else percent(share, "")


class Run:
    """One call of `fit`: everything that changes while it lasts."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        stop: Stop,
        score: Score | None,
        callbacks: Sequence[Callback],
        rng: np.random.Generator,
        audit: bool,
    ) -> None:
        self.problem, self.solver, self.stop, self.score = problem, solver, stop, score
        self.callbacks, self.rng, self.audit = callbacks, rng, audit
        # Seconds and oracle calls are counted from these; `_time_out` moves them forward.
        self.begin, self.calls_before = now(), problem.meter.calls
        self.visited, self.certifying = 0, False
        self.state: Any = None
        self.certifier = Certifier(problem, solver)
        self.trace: list[Epoch] = []
        self.best: tuple[float, int, FloatVector] | None = None
        self.average: FloatVector | None = None
        self.waited = 0  # epochs in a row that tried the patience
        self.halted = ""
        self.checkpoint: Checkpoint | None = None

    def _check_that_it_ends(self) -> None:
        stop = self.stop
        provable = self.problem.exact and (self.audit or self.solver.dual(self.problem, self.state) is not None)
        rules = (stop.epochs, stop.seconds, stop.gap if provable else None, stop.patience if self.score else None)
        if all(rule is None for rule in rules):
            raise WidemarginError(
                "training would never end: the stop rule gap needs a solver with a dual and an exact decoder, "
                "patience a development score; give epochs or seconds"
            )

    def watch(self, n_examples: int, interrupted: threading.Event) -> None:
        """Called before every oracle call: the one place where training can be cut short."""
        if interrupted.is_set():
            raise Halt("interrupted")
        if self.certifying:
            return
        if self.visited:
            learnt(interrupted)
        if self.stop.seconds is not None and self._time_is_up(self.stop.seconds):
            raise Halt("seconds")
        for callback in self.callbacks:
            callback.on_batch(self.visited)
        self.visited += n_examples

    def result(
        self, w: FloatVector | None, cuts: Carried | None, resume: bool, interrupted: threading.Event
    ) -> Solution:
        """Start the solver, then run epochs until a stop rule holds."""
        self.problem.forget()
        self.certifying = True  # a warm start may need an oracle pass, which belongs to no epoch
        try:
            if not (resume and self._resume()):
                self.state = self.solver.start(self.problem, w, cuts)
        except Halt:
            raise KeyboardInterrupt from None
        self.certifying = False
        self.problem.known = self.solver.known(self.state)
        self._check_that_it_ends()
        if self._has_learnt():
            learnt(interrupted)
        n_examples = len(self.problem.weighted)
        LOG.info("training on %d examples with %s until %s", n_examples, self.solver, self.stop)
        for callback in self.callbacks:
            callback.on_start(self.stop.epochs, n_examples)
        reason = self._rule()
        while not reason:
            self.visited, self.certifier.at = 0, None
            try:
                self.solver.epoch(self.problem, self.state, self.rng)
                reason = self._end_of_epoch()
                self._note()
            except Halt as halt:
                reason = str(halt)
                if reason == "interrupted" and not self._has_learnt():
                    raise KeyboardInterrupt from None
                self._record(score=None)
        if self.checkpoint is not None:
            self.checkpoint.write()
        solution = self._solution(reason)
        LOG.info("%s", solution)
        for callback in self.callbacks:
            callback.on_stop(solution.stopped)
        return solution

    def _has_learnt(self) -> bool:
        return bool(self.trace) or bool(np.any(self.solver.weights(self.state)))

    def _end_of_epoch(self) -> str:
        """Score, record, and say which stop rule holds, if any."""
        score = None
        if self.score is not None:
            w, early = self._candidate()
            with self._time_out():
                score = float(self.score(w))
            so_far = -np.inf if self.best is None else self.best[0]
            self.waited = 0 if early or score > so_far else self.waited + 1
            if score >= so_far:  # of equals the last, which is nearest to the optimum
                self.best = score, len(self.trace) + 1, w.copy()
        self._record(score)
        return self.halted or self._rule()

    def _candidate(self) -> tuple[FloatVector, bool]:
        """The weights to score after an epoch, and whether it is an early one: then they are an average.

        The average w̄ ← w̄ + 2 / (t + 1) · (w − w̄), t = 1, 2, … is the one of Lacoste-Julien et al. (2013).
        """
        w, dual = self.solver.weights(self.state), self.solver.dual(self.problem, self.state)
        if dual is None:
            return w, False
        if self.average is None:
            self.average = w.copy()
        self.average += 2.0 / (len(self.trace) + 2.0) * (w - self.average)
        gap = relative_gap(self.problem.primal_estimate(w), dual)
        early = gap is not None and gap > EARLY
        return (self.average if early else w), early

    def _rule(self) -> str:
        """The stop rule that holds after the last epoch, if any."""
        stop = self.stop
        if not self.trace:
            return "epochs" if stop.epochs == 0 else ""
        row = self.trace[-1]
        # With an inexact oracle no gap is ever proven; one seen in a full pass is as good as it gets.
        known = row.certified or not self.problem.exact
        if known and row.gap is not None and row.primal is not None and stop.is_close(row.gap, row.primal):
            return "gap"
        if stop.patience is not None and self.waited >= stop.patience:
            return "patience"
        ended = self.solver.ended(self.problem, self.state)
        if ended:
            return ended
        return "epochs" if stop.epochs is not None and row.epoch >= stop.epochs else ""

    def _record(self, score: float | None) -> None:
        """Append a row to the trace; make a full pass when the free estimate of the gap is small enough to stop at."""
        w = self.solver.weights(self.state)
        primal, dual = self.problem.primal_estimate(w), self.solver.dual(self.problem, self.state)
        if self._is_close(primal, dual):
            proven = self.certifier.look(self.state)  # the solver may promise more than its cuts prove
            dual = dual if proven is None else proven
        gap, certified = relative_gap(primal, dual), False
        if self.audit or self._is_close(primal, dual):
            try:
                with self._time_out():
                    primal, dual, gap, _ = self._certify(w)
                certified = self.problem.exact and gap is not None
                if not self.audit and not (gap is not None and self.stop.is_close(gap, primal)):
                    self.problem.slacks[:] = self.certifier.slacks
                    self.solver.inform(self.problem, self.state)
            except Halt as halt:
                self.halted = str(halt)
        row = Epoch(len(self.trace) + 1, self._seconds(), self._calls(), primal, dual, gap, score, certified)
        self.trace.append(row)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("epoch %d: %s, %.3f s", row.epoch, row.figures(), row.seconds)
        for callback in self.callbacks:
            callback.on_epoch(row)

    def _is_close(self, primal: float | None, dual: float | None) -> bool:
        """Whether these would be good enough to stop."""
        gap = relative_gap(primal, dual)
        return gap is not None and primal is not None and self.stop.is_close(gap, primal)

    def _note(self) -> None:
        """Save this moment between two epochs, unless the epoch's certificate was cut short: its row is not final."""
        if self.checkpoint is None or self.halted:
            return
        from widemargin.core.checkpoint import Moment  # most runs have none

        score, epoch, w = self.best or (None, 0, None)
        rng = json.loads(json.dumps(self.rng.bit_generator.state, default=lambda array: array.tolist()))
        rows = [list(row) for row in self.trace]
        self.checkpoint.note(
            Moment(
                self.state,
                rng,
                rows,
                score,
                epoch,
                w,
                self.average,
                self.waited,
                self.problem.slacks,
                self.certifier.bound,
                self._calls(),
                self._seconds(),
                self.certifier.slacks_at(self.solver.weights(self.state)),
            )
        )

    def _resume(self) -> bool:
        """Continue the run in the checkpoint; False if there is none."""
        assert self.checkpoint is not None
        moment = self.checkpoint.read(self.solver.start(self.problem))
        if moment is None:
            return False
        try:
            self.rng.bit_generator.state = moment.rng
        except ValueError:
            raise WidemarginError(
                f"the checkpoint {self.checkpoint.path} needs a generator of the kind {moment.rng['bit_generator']}"
            ) from None
        self.state, self.certifier.bound = moment.state, moment.bound
        if moment.slacks is not None:
            self.problem.slacks = moment.slacks
        self.trace = [Epoch(*row) for row in moment.trace]
        if moment.best_score is not None and moment.best_w is not None:
            self.best = moment.best_score, moment.best_epoch, moment.best_w
        self.average, self.waited = moment.average, moment.waited
        self.begin, self.calls_before = now() - moment.seconds, self.problem.meter.calls - moment.calls
        if moment.found is not None:
            self.certifier.slacks, self.certifier.at = moment.found, self.solver.weights(self.state)
        return True

    def _solution(self, reason: str) -> Solution:
        """The best weights, certified by a full oracle pass unless the last row already is or the user interrupts."""
        dual = self.solver.dual(self.problem, self.state)
        last = self.trace[-1] if self.trace else None
        if self.best is not None:
            _, epoch, w = self.best
        else:
            epoch, w = len(self.trace), self.solver.weights(self.state)
        primal, proven, doubt = None, False, None
        if last and epoch == last.epoch and np.array_equal(w, self.solver.weights(self.state)):
            primal, dual, proven = last.primal, last.dual, last.certified
        if not proven and reason != "interrupted":
            try:
                primal, dual, _, doubt = self._certify(w)
                proven = self.problem.exact
            except Halt as halt:
                reason = str(halt)
        gap, shortfall = None if doubt else relative_gap(primal, dual), None
        if self.best is None and self.trace and self._has_proof():
            if proven and primal is not None and self._may_be_worse_than_zero(primal, gap):
                w, primal = self._no_worse_than_zero(w, primal)
                gap = None if doubt else relative_gap(primal, dual)
            if reason == "epochs" and self._falls_short(gap):
                shortfall = (
                    f"the gap is {_percent(gap)} after {epoch} epochs, above the {_percent(self.stop.gap)} wanted"
                )
        if proven and gap is not None and gap > EMPTY:
            gap, doubt = None, f"the best lower bound so far is {dual:.3g}, which says next to nothing"
        certified = proven and gap is not None
        cuts = self.solver.carried(self.problem, self.state)
        if cuts is not None:
            cuts.origin = Origin(self.problem)
        known = primal, dual, gap, certified, reason, epoch, self._calls(), self._seconds(), cuts, doubt, shortfall
        found = self.certifier.slacks_at(w)
        return Solution(w, tuple(self.trace), *known, slacks=found, state=self._state_at(w))

    def _state_at(self, w: FloatVector) -> Any:
        """The state at the weights that are returned, if pieces of data that follow need it."""
        if self.solver.goes_on_from != "own state":
            return None
        if self.best is not None:
            self.state.move(w)
        return self.state

    def _has_proof(self) -> bool:
        """Whether the solver minimises P and can prove how far it has come."""
        return self.problem.exact and self.solver.dual(self.problem, self.state) is not None

    def _falls_short(self, gap: float | None) -> bool:
        """Whether the wanted gap was missed."""
        return self.stop.gap is not None and (gap is None or gap > self.stop.gap)

    def _may_be_worse_than_zero(self, primal: float, gap: float | None) -> bool:
        """Whether P may exceed P(0), which is at least what the cuts in the working sets say."""
        known = self.problem.known
        if known is None:
            return self._falls_short(gap)
        blocks = np.flatnonzero(self.problem.c).astype(np.int32)
        at_zero = known.slacks(blocks, np.zeros(self.problem.n_weights))
        return primal > self.problem.C * self.problem.losses(blocks, at_zero)

    def _no_worse_than_zero(self, w: FloatVector, primal: float) -> tuple[FloatVector, float]:
        """`w` and P there, or else a shorter w that is as good as 0 but for rounding; it makes the same predictions.

        The w of a dual method may be far too long on the way. P being convex, P(tw) ≤ P(0) + t(P(w) − P(0)).
        """
        self.certifying = True
        try:
            zero = self.problem.primal(np.zeros(len(w)))
            last = SLIGHTLY * zero / max(primal - zero, SLIGHTLY * zero)
            for scale in (1.0, *SHORTER, last):
                value = primal if scale == 1.0 else self.problem.primal(scale * w)
                if value <= zero * (1.0 + SLIGHTLY):
                    return scale * w, value
        except Halt:
            pass
        finally:
            self.certifying = False
        return w, primal

    def _certify(self, w: FloatVector) -> Certificate:
        """The certificate of `w`, by a pass that belongs to no epoch."""
        self.certifying = True
        try:
            return self.certifier.certify(w, self.state)
        finally:
            self.certifying = False

    @contextmanager
    def _time_out(self) -> Iterator[None]:
        """When auditing, count what happens inside neither as seconds nor as oracle calls."""
        begin, calls = now(), self.problem.meter.calls
        try:
            yield
        finally:
            if self.audit:
                self.begin += now() - begin
                self.calls_before += self.problem.meter.calls - calls

    def _time_is_up(self, seconds: float) -> bool:
        meter = self.problem.meter
        closing_pass = meter.seconds_a_call * len(self.problem.weighted)
        return self._seconds() + closing_pass > seconds

    def _seconds(self) -> float:
        return now() - self.begin

    def _calls(self) -> int:
        return self.problem.meter.calls - self.calls_before
