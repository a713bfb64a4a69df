"""The only training loop: epochs, clock, stop rules, development score, callbacks, Ctrl-C, certificate.

Solvers implement none of this, so it works alike for all of them.
"""

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector
from widemargin.core.checks import check_offers
from widemargin.core.interrupt import interruption
from widemargin.core.problem import Problem
from widemargin.core.run import Run
from widemargin.core.solution import Solution
from widemargin.core.solver import Carried, Solver
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import UnsupportedError, WidemarginError

LOG = logging.getLogger(__name__)


def name_run(name: str, callbacks: Sequence[Callback]) -> None:
    """Say which of several runs is about to begin."""
    LOG.info("%s", name)
    for callback in callbacks:
        callback.on_run(name)


def fit(
    problem: Problem,
    solver: Solver,
    *,
    stop: Stop | None = None,
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
    seed: int | np.random.Generator | None = 0,
    w: FloatVector | None = None,
    cuts: Carried | None = None,
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
    score : maps weights to a development score, higher being better; the weights of the best epoch are returned, the
        last one of equals. While a dual solver has a gap above 20 %, its weights jump from epoch to epoch, and the best
        of them are so by luck; until then, what is scored and returned is their average over the epochs so far, in
        which epoch t counts t times.
    callbacks : are told about training as it proceeds
    seed : the seed of everything random
    w : weights to start from. A primal solver continues from them, a dual one from the cuts found there
    cuts : working sets and their α to start from, `Solution.cuts` of an earlier run on the same examples; for dual
        solvers. If C has changed, α is scaled with it; those of another problem are refused.
    audit : make a full oracle pass after every epoch, so that every row of the trace is exact; neither these passes
        nor development scores then count as seconds or oracle calls. For comparing solvers.
    checkpoint : a file that saves the run as it proceeds; when training ends, even by Ctrl-C, it holds the last
        complete epoch
    resume : continue from the checkpoint, if it exists, exactly as its run would have continued; the stop rules are
        those given now, counted from the beginning of that run. `seed`, `w` and `cuts` are ignored when a run is
        resumed.
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
    run = Run(problem, solver, stop or Stop(), score, callbacks, np.random.default_rng(seed), audit)
    if checkpoint is not None:
        from widemargin.core.checkpoint import Checkpoint  # most runs have none

        run.checkpoint = Checkpoint(checkpoint, problem, solver, checkpoint_seconds, outer)
    heard = interruption() if interrupted is None else nullcontext(interrupted)
    # Numbers that overflow are no news: the certificate says that nothing is proven by them.
    with heard as event, one_blas_thread(), np.errstate(all="ignore"):
        problem.meter.watch = lambda n: run.watch(n, event)
        try:
            return run.result(w, cuts, resume, event)
        finally:
            problem.meter.watch = problem.known = None


def check(problem: Problem, solver: Solver) -> None:
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
