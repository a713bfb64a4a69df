"""Training on data that come piece by piece: one epoch over each, with the solver's state carried from one to the next.

Only for solvers that learn from each example as it comes; others would lose the cuts of one piece at the next.
"""

from typing import Any

import numpy as np

from widemargin._jit import now
from widemargin._threads import one_blas_thread
from widemargin.core.loop import check
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, Solution
from widemargin.core.solver import Solver
from widemargin.errors import UnsupportedError, WidemarginError


class Online:
    """A solver that learns from one piece of data after another; all pieces have the same weights."""

    def __init__(self, solver: Solver, seed: int | None = 0) -> None:
        if not solver.online:
            raise UnsupportedError(
                f"{type(solver).__name__} needs all data at once; take one that learns piece by piece, such as "
                "perceptron, mira, sgd, pegasos or adagrad"
            )
        self.solver, self.rng = solver, np.random.default_rng(seed)
        self.trace: list[Epoch] = []
        self.calls, self.seconds = 0, 0.0
        self._state: Any = None

    def learn(self, problem: Problem) -> Solution:
        """Make one epoch over the examples of `problem` and return the weights after it, without a certificate."""
        check(problem, self.solver)
        if self._state is None:
            self._state = self.solver.start(problem)
        elif len(self.solver.weights(self._state)) != problem.n_weights:
            raise WidemarginError(f"the pieces before had other weights than these {problem.n_weights}")
        begin, calls = now(), problem.meter.calls
        with one_blas_thread():
            self.solver.epoch(problem, self._state, self.rng)
        w = self.solver.weights(self._state).copy()
        self.calls += problem.meter.calls - calls
        self.seconds += now() - begin
        primal, epoch = problem.primal_estimate(w), len(self.trace) + 1
        self.trace.append(Epoch(epoch, self.seconds, self.calls, primal, None, None, None, False))
        return Solution(w, tuple(self.trace), primal, None, None, False, "epochs", epoch, self.calls, self.seconds)
