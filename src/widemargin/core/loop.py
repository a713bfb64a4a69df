"""The only training loop: `epochs`, a generator, and `Run`, which iterates over it and decides what follows.

`epochs` is the only place that runs a solver's epochs: for `Run`, which `fit` and CRFsuite's log iterate over, and for
learning from pieces of data (`core.online`) or in parts (`parts`). A run uses

    `core.certificate` P, D, the gap, and any reason why they prove nothing; which weights are returned
    `core.stop`        the rules that end a run
    `core.interrupt`   the watch that cuts a run short: Ctrl-C or a time limit

Solvers implement none of this, so it works alike for all of them.

**The regularisation path** is one problem for several C in ascending order: the solution moves little from point to
point. A dual solver starts from the cuts of the previous point, which are valid for every C, with their α scaled to the
new C (`solvers.dual`); a primal solver starts from the previous weights.
"""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector
from widemargin.core.asking import helpers
from widemargin.core.certificate import Certificate, Certifier, Keeper, no_worse_than_zero
from widemargin.core.checks import check_offers
from widemargin.core.contents import Origin
from widemargin.core.interrupt import Halt, Watch, interruption, keep_from_now_on
from widemargin.core.oracle import Clock
from widemargin.core.problem import Problem, Trainable
from widemargin.core.solution import Epoch, Solution, relative_gap
from widemargin.core.solver import Solver, WarmStart
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import UnsupportedError, WidemarginError

if TYPE_CHECKING:
    from widemargin.core.checkpoint import Checkpoint

LOG = logging.getLogger(__name__)


def epochs(problem: Any, solver: Solver, state: Any, rng: np.random.Generator) -> Iterator[Any]:
    """The solver's state after each epoch, without end: the caller stops iterating when it has enough."""
    while True:
        with one_blas_thread():
            solver.epoch(problem, state, rng)
        yield state


class Run:
    """A run in progress: the solver's state, a row of the trace per epoch, and the `reason` why it ended, or "".

    With `audit`, every row is certified; neither this nor scoring counts as seconds or oracle calls.
    """

    def __init__(
        self,
        problem: Trainable,
        solver: Solver,
        event: threading.Event,
        *,
        stop: Stop | None = None,
        score: Score | None = None,
        callbacks: Sequence[Callback] = (),
        seed: int | np.random.Generator | None = 0,
        audit: bool = False,
        checkpoint: "Checkpoint | None" = None,
    ) -> None:
        self.problem, self.solver, self.stop, self.callbacks = problem, solver, stop or Stop(), callbacks
        self.rng, self.audit, self.checkpoint = np.random.default_rng(seed), audit, checkpoint
        self.keeper, self.certifier, self.clock = Keeper(score), Certifier(problem, solver), Clock(problem.meter)
        self.watch = Watch(event, self._is_time_up, [callback.on_batch for callback in callbacks])
        self.state: Any = None
        self.trace: list[Epoch] = []
        self.reason = ""
        self.has_bound = False  # whether the solver has a dual that proves gaps

    def start(self, w: FloatVector | None = None, cuts: WarmStart | None = None, *, resume: bool = False) -> None:
        """Make the solver's state, or restore that of the checkpoint."""
        self.problem.forget()
        try:
            with self.watch.aside():  # a warm start may need an oracle pass, which belongs to no epoch
                if not (resume and self.checkpoint is not None and self.checkpoint.resume(self)):
                    self.state = self.solver.start(self.problem, w, cuts)
        except Halt:
            raise KeyboardInterrupt from None
        self.problem.kept_cuts = self.solver.kept_cuts(self.state)
        self.has_bound = self.problem.exact and self.solver.dual(self.problem, self.state) is not None
        provable = self.has_bound or (self.problem.exact and self.audit)
        self.stop.check_that_it_ends(provable=provable, has_score=self.keeper.score is not None)
        if self._has_learnt():
            keep_from_now_on(self.watch.event)
        LOG.info("training on %d examples with %s until %s", self.problem.n_counted, self.solver, self.stop)
        for callback in self.callbacks:
            callback.on_start(self.stop.epochs, self.problem.n_counted)

    def epochs(self) -> Iterator[Any]:
        """The state after every epoch, before it is scored and recorded, until a rule ends the run.

        The caller may end the run, too, by setting `reason`.
        """
        self.reason = self._rule()
        steps = epochs(self.problem, self.solver, self.state, self.rng)
        while not self.reason:
            self.watch.visited, self.certifier.place = 0, None
            try:
                next(steps)
            except Halt as halt:
                if str(halt) == "interrupted" and not self._has_learnt():
                    raise KeyboardInterrupt from None
                self._end_epoch(cut_short=str(halt))
            else:
                yield self.state
                self._end_epoch()

    def _end_epoch(self, cut_short: str = "") -> None:
        """Score the weights, record the epoch, and apply the stop rules; an epoch that was cut short gets no score."""
        w, number = self.solver.weights(self.state), len(self.trace) + 1
        primal, dual = self.problem.primal_estimate(w), self.solver.dual(self.problem, self.state)
        score = None
        if not cut_short:
            with self.clock.pause(self.audit):
                score = self.keeper.look(w, number, relative_gap(primal, dual), has_dual=dual is not None)
        found, halted = self._certificate(w, primal, dual)
        certified = found.exact and found.gap is not None
        row = Epoch(number, self.clock.seconds, self.clock.calls, found.primal, found.dual, found.gap, score, certified)
        self.trace.append(row)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("epoch %d: %s, %.3f s", row.epoch, row.figures(), row.seconds)
        for callback in self.callbacks:
            callback.on_epoch(row)
        self.reason = cut_short or self.reason or halted or self._rule()
        # A resumed run repeats an epoch that was cut short; the row of a certificate that was cut short is not final.
        if self.checkpoint is not None and not cut_short and not halted:
            self.checkpoint.note(self)

    def _certificate(self, w: FloatVector, primal: float | None, dual: float | None) -> tuple[Certificate, str]:
        """The certificate of `w` after an epoch, and what has cut it short, or "".

        A full pass is made only when the free estimate of the gap is small enough to stop.
        """
        if self.stop.suffices(primal, dual):
            proven = self.certifier.look(self.state)  # the solver's own dual may exceed what its cuts prove
            dual = dual if proven is None else proven
        free = Certificate(primal, dual, relative_gap(primal, dual))
        if not (self.audit or self.stop.suffices(primal, dual)):
            return free, ""
        try:
            with self.clock.pause(self.audit), self.watch.aside():
                found = self.certifier.certify(w, self.state)
        except Halt as halt:
            return free, str(halt)
        is_close = found.gap is not None and found.primal is not None and self.stop.is_close(found.gap, found.primal)
        if not (self.audit or is_close):
            self.problem.slacks[:] = self.certifier.slacks
            self.solver.inform(self.problem, self.state)
        return found, ""

    def solution(self) -> Solution:
        """The weights that the keeper chose, with the certificate of the last row, or else of a full pass."""
        if self.checkpoint is not None:
            self.checkpoint.write()
        w, epoch, found, shortfall = self._proven_choice()
        found = found.or_doubt()
        cuts = self.solver.warm_start(self.problem, self.state)
        if cuts is not None:
            cuts.origin = Origin(self.problem)
        state = None
        if self.solver.goes_on_from == "own state":  # later pieces of data need it
            state = self.state
            if self.keeper.best is not None:
                state.move(w)
        solution = Solution(
            w,
            tuple(self.trace),
            found.primal,
            found.dual,
            found.gap,
            found.exact and found.gap is not None,
            self.reason,
            epoch,
            self.clock.calls,
            self.clock.seconds,
            cuts,
            found.doubt,
            shortfall,
            getattr(self.problem.examples, "about", "") or None,
            self.certifier.slacks_at(w),
            state=state,
        )
        LOG.info("%s", solution)
        for callback in self.callbacks:
            callback.on_stop(solution.stopped)
        return solution

    def _proven_choice(self) -> tuple[FloatVector, int, Certificate, str | None]:
        """The weights to return, their epoch and certificate, and by how much their gap misses the one asked for."""
        last = self.solver.weights(self.state)
        w, epoch = self.keeper.choice(last, len(self.trace))
        found = Certificate(None, self.solver.dual(self.problem, self.state), None)
        if self.trace and epoch == self.trace[-1].epoch and np.array_equal(w, last):
            found = Certificate.of_row(self.trace[-1])
        try:
            with self.watch.aside():
                if not found.exact and self.reason != "interrupted":
                    found = self.certifier.certify(w, self.state)
        except Halt as halt:
            self.reason = str(halt)
        shortfall = None
        if self.has_bound and self.keeper.best is None and self.trace:
            with suppress(Halt), self.watch.aside():
                w, found = no_worse_than_zero(self.problem, w, found, missed=self.stop.is_missed_by(found.gap))
            if self.reason == "epochs":
                shortfall = self.stop.shortfall(found.gap, epoch)
        return w, epoch, found, shortfall

    def _rule(self) -> str:
        """The rule that ends the run now, or ""."""
        row = self.trace[-1] if self.trace else None
        own = self.solver.end_reason(self.problem, self.state) if row else ""
        return self.stop.reason(row, exact=self.problem.exact, waited=self.keeper.waited, own=own)

    def _has_learnt(self) -> bool:
        return bool(self.trace) or bool(np.any(self.solver.weights(self.state)))

    def _is_time_up(self) -> bool:
        """Whether the closing certificate must begin now to be finished in time."""
        if self.stop.seconds is None:
            return False
        closing_pass = self.problem.meter.seconds_a_call * self.problem.n_counted
        return self.clock.seconds + closing_pass > self.stop.seconds


@contextmanager
def open_run(
    problem: Trainable, solver: Solver, interrupted: threading.Event | None = None, **options: Any
) -> Iterator[Run]:
    """A run that has not been started; options as in `fit`. Ctrl-C ends the run while the block lasts."""
    check(problem, solver)
    listening = interruption() if interrupted is None else nullcontext(interrupted)
    # No warnings about overflow: the certificate already says that such numbers prove nothing.
    pool = helpers(problem.examples, getattr(problem, "n_threads", 1))  # parts have no threads of their own
    with listening as event, one_blas_thread(), np.errstate(all="ignore"), pool:
        run = Run(problem, solver, event, **options)
        problem.meter.watch = run.watch
        try:
            yield run
        finally:
            problem.meter.watch = problem.kept_cuts = None


def name_run(name: str, callbacks: Sequence[Callback]) -> None:
    """Log the name of the run that is about to begin, one of several, and tell the callbacks."""
    LOG.info("%s", name)
    for callback in callbacks:
        callback.on_run(name)


def fit(
    problem: Trainable,
    solver: Solver,
    *,
    stop: Stop | None = None,
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
    seed: int | np.random.Generator | None = 0,
    w: FloatVector | None = None,
    cuts: WarmStart | None = None,
    audit: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    interrupted: threading.Event | None = None,
    outer: Any = None,
) -> Solution:
    """Train: run epochs of `solver` over `problem` until a stop rule holds.

    Ctrl-C ends training at the next oracle call and returns the best weights so far; before anything has been learnt,
    it raises `KeyboardInterrupt`, even while a kernel is being compiled. The same seed gives the same weights, whatever
    the number of threads.

    Parameters
    ----------
    problem, solver : what to minimise, and how
    stop : when to stop
    score : maps weights to a development score, higher being better. The weights of the best epoch are returned, of the
        last one among equals. While a dual solver has a gap above 20 %, the average over the epochs so far is scored
        and returned instead, in which epoch t counts t times (`core.certificate`).
    callbacks : are told about training as it proceeds
    seed : the seed of everything random
    w : weights to start from. A primal solver continues from them, a dual one from the cuts found there
    cuts : working sets and their α to start from, `Solution.cuts` of an earlier run on the same examples; for dual
        solvers. If C has changed, α is scaled with it; cuts of another problem are refused.
    audit : make a full oracle pass after every epoch, so that every row of the trace is exact; neither these passes
        nor development scores then count as seconds or oracle calls. For comparing solvers.
    checkpoint : a file that saves the run as it proceeds; when training ends, even by Ctrl-C, it holds the last
        complete epoch
    resume : continue from the checkpoint, if it exists, exactly as its run would have continued; the stop rules are
        those given now, counted from the beginning of that run. `seed`, `w` and `cuts` are ignored then.
    checkpoint_seconds : how long to wait between two writes
    interrupted : an event that ends training as Ctrl-C does; by default Ctrl-C itself
    outer : a dataclass of what the caller needs to resume, kept in the checkpoint (`core.checkpoint.read_outer`)
    """
    check(problem, solver)
    if resume and checkpoint is None:
        raise WidemarginError("there is nothing to resume from without a checkpoint")
    if w is not None and (w.shape != (problem.n_weights,) or not np.isfinite(w).all()):
        raise WidemarginError(f"w must hold {problem.n_weights} finite numbers to start from")
    origin = getattr(cuts, "origin", None)
    if origin is not None:
        origin.check(problem)
    options: dict[str, Any] = {"stop": stop, "score": score, "callbacks": callbacks, "seed": seed, "audit": audit}
    if checkpoint is not None:
        from widemargin.core.checkpoint import Checkpoint  # most runs have none

        options["checkpoint"] = Checkpoint(checkpoint, problem, solver, checkpoint_seconds, outer)
    with open_run(problem, solver, interrupted, **options) as run:
        run.start(w, cuts, resume=resume)
        for _ in run.epochs():
            pass
        return run.solution()


def check(problem: Trainable, solver: Solver) -> None:
    """Raise unless the solver can minimise what the problem asks for."""
    name = type(solver).__name__
    for able, wanted in ((solver.losses, problem.loss), (solver.penalties, problem.penalty)):
        if wanted not in able:
            raise UnsupportedError(f"{name} minimises {' or '.join(able)}, not {wanted}; choose another solver")
    if problem.objective.kind not in solver.kinds:
        raise UnsupportedError(
            f"{name} minimises {' or '.join(solver.kinds)} objectives, and {problem.objective} is none; "
            "choose another solver"
        )
    check_offers(solver, solver.requires, problem.examples)
    check_offers(solver, solver.requires_of_objective, problem.objective, "objectives")


def fit_path(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[Solution]:
    """Solve `problem` for every value in `C` instead of its own; each solution has its own certificate.

    Ctrl-C ends the path: the points not reached by then, those with the largest C, are missing.

    Parameters
    ----------
    problem, solver : what to minimise, and how
    C : trade-offs in any order
    options : those of `fit`, except checkpoints; they apply to every point, `w` and `cuts` only to the first

    Returns
    -------
    The solutions in the order of `C`. Only the one with the largest C keeps its `cuts`, which may take much memory.
    """
    return [solution for _, solution in path_points(problem, solver, C, **options)]


def path_points(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[tuple[float, Solution]]:
    """Like `fit_path`, but with the C of each solution, since Ctrl-C may leave some out."""
    if not len(C):
        raise WidemarginError("a path needs at least one C")
    if options.get("checkpoint") is not None:
        raise WidemarginError("a checkpoint holds one run, not a path; fit one C at a time to have checkpoints")
    points = [replace(problem, C=float(each)) for each in C]  # before any training, so that a bad C is found at once
    found: dict[int, Solution] = {}
    last: int | None = None
    for k in np.argsort([point.C for point in points], kind="stable").tolist():
        if last is not None:
            before = found[last]
            options |= {"w": before.w if before.cuts is None else None, "cuts": before.cuts}
        name_run(f"C {points[k].C:g}", options.get("callbacks", ()))
        try:
            found[k] = fit(points[k], solver, **options)
        except KeyboardInterrupt:
            if not found:
                raise
            break  # nothing was learnt for this C; the points before are worth keeping
        if last is not None:
            found[last] = replace(found[last], cuts=None)
        last = k
        if found[k].stopped == "interrupted":
            break
    return [(points[k].C, found[k]) for k in sorted(found)]
