"""A dual solver is right when its dual never falls, never exceeds the primal, and meets it: `check_solver` checks."""

import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.loop import fit
from widemargin.core.oracle import Meter
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback, Stop
from widemargin.solvers.dual import DualState
from widemargin.testing.abilities import ROUNDING


def check_solver(
    solver: Solver,
    problems: Problem | Sequence[Problem],
    *,
    gap: float = 1e-3,
    max_epochs: int = 500,
    seed: int = 0,
) -> None:
    """Raise `AssertionError` unless `solver` trains every one of the `problems` as a solver should.

    Parameters
    ----------
    solver : the solver to check
    problems : small problems with a loss that the solver supports
    gap : the relative duality gap that a solver with a dual must prove, if decoding is exact
    max_epochs : the number of epochs within which it must do so
    seed : the seed of the training runs
    """
    for problem in [problems] if isinstance(problems, Problem) else problems:
        watched = _Watched(solver, problem)
        has_dual = solver.dual(problem, solver.start(problem)) is not None
        stop = Stop(epochs=max_epochs if has_dual else 10, gap=gap)
        solution = watched.fit(stop, seed)
        if has_dual and problem.exact:
            assert solution.stopped == "gap", (
                f"{_of(solver, problem)}: the relative gap is {solution.gap} after {max_epochs} epochs, above {gap}"
            )
        same = np.array_equal(solution.w, fit(watched.problem, solver, stop=stop, seed=seed).w)
        assert same, f"{_of(solver, problem)}: two runs with the same seed gave different weights"
        threaded = replace(problem, n_threads=2, meter=Meter())
        same = np.array_equal(solution.w, fit(threaded, solver, stop=stop, seed=seed).w)
        assert same, f"{_of(solver, problem)}: two threads gave other weights than one"
        for limit in (Stop(epochs=0), Stop(epochs=1), Stop(seconds=0.0)):
            watched.fit(limit, seed)
        if threading.current_thread() is threading.main_thread() and _ctrl_c_is_free():
            for calls in (1, 2):
                with suppress(KeyboardInterrupt):  # nothing may have been learnt yet
                    watched.fit(stop, seed, _Interrupter(calls))
                watched.inspect(f"{_of(solver, problem)}, interrupted")


class _Watched:
    """A solver whose state can be inspected after every epoch."""

    def __init__(self, solver: Solver, problem: Problem) -> None:
        self.solver, self.problem = solver, replace(problem, meter=Meter())
        self.aside = replace(problem, meter=Meter())
        self.state: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> Any:
        self.state = self.solver.start(problem, w, cuts)
        return self.state

    def fit(self, stop: Stop, seed: int, *callbacks: Callback) -> Solution:
        solution = fit(
            self.problem, cast("Solver", self), stop=stop, seed=seed, callbacks=[_Inspector(self), *callbacks]
        )
        name = f"{_of(self.solver, self.problem)}, stopped by {solution.stopped}"
        assert solution.w.shape == (self.problem.n_weights,), f"{name}: w has the shape {solution.w.shape}"
        assert np.all(np.isfinite(solution.w)), f"{name}: weights are not finite"
        self.inspect(name)
        return solution

    def inspect(self, name: str) -> float | None:
        """The dual at the current state, which must not exceed the primal; w must be the sum of the cuts."""
        w, dual = self.solver.weights(self.state), self.solver.dual(self.problem, self.state)
        if isinstance(self.state, DualState):
            last = self.state.w  # weights() may be an average
            worst = float(np.max(np.abs(last - self.state.store.combination(len(last))), initial=0.0))
            close = worst <= ROUNDING * max(1.0, float(np.max(np.abs(last), initial=0.0)))
            assert close, f"{name}: w differs from Σ αa by {worst:.3g}"
        if dual is not None and self.problem.exact:
            primal = self.aside.primal(w)
            assert dual <= primal + ROUNDING * max(1.0, abs(primal)), f"{name}: dual {dual!r} exceeds primal {primal!r}"
        return dual


class _Inspector(Callback):
    def __init__(self, watched: _Watched) -> None:
        self.watched, self.dual = watched, -np.inf

    def on_epoch(self, epoch: Epoch) -> None:
        name = f"{_of(self.watched.solver, self.watched.problem)}, epoch {epoch.epoch}"
        dual = self.watched.inspect(name)
        if dual is not None:
            fell = dual < self.dual - ROUNDING * max(1.0, abs(dual))
            assert not fell, f"{name}: the dual fell from {self.dual!r} to {dual!r}"
            self.dual = dual


class _Interrupter(Callback):
    """Presses Ctrl-C once, before the given oracle call."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def on_batch(self, visited: int) -> None:
        self.calls -= 1
        if self.calls == 0:
            signal.raise_signal(signal.SIGINT)


def _ctrl_c_is_free() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _of(solver: Solver, problem: Problem) -> str:
    return f"{solver!r} on {type(problem.examples).__name__} with {problem.loss} and C={problem.C}"
