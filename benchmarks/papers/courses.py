"""Training watched epoch by epoch: the seconds of training alone, and what the weights are worth by then."""

from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from experiment import SEED

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.core.stop import Score


class Row(NamedTuple):
    """The end of an epoch: seconds of training so far, P(w), the solver's dual, and a score; None: not asked for."""

    seconds: float
    primal: float | None
    dual: float | None
    score: float | None


class Course(NamedTuple):
    """A row for each epoch, and the last weights."""

    rows: list[Row]
    w: FloatVector


Reached = Callable[[Row], bool]


def course(
    problem: Problem,
    solver: Solver,
    *,
    epochs: int = 10**6,
    seconds: float = np.inf,
    score: Score | None = None,
    primal: bool = False,
    until: Callable[[Row, Any], bool] = lambda _row, _state: False,
) -> Course:
    """Train until a limit is met at the end of an epoch, or until a row and the solver's state are as wanted.

    `core.loop.fit` scores averages while a dual solver is far from the optimum; the papers score w as it is. The
    clock is the processor's, since there is one thread and others may use the machine.
    """
    rows: list[Row] = []
    spent, rng = 0.0, np.random.default_rng(SEED)
    with one_blas_thread():
        begin = process_time()
        state = solver.start(problem)
        while True:
            solver.epoch(problem, state, rng)
            w = solver.weights(state)
            spent += process_time() - begin
            value = problem.primal(w) if primal else None
            rows.append(Row(spent, value, solver.dual(problem, state), None if score is None else score(w)))
            if len(rows) >= epochs or spent >= seconds or until(rows[-1], state):
                return Course(rows, w)
            begin = process_time()


def warm(problem: Callable[[], Problem], solvers: Sequence[Solver]) -> None:
    """Compile what these solvers need, on a few examples."""
    for solver in solvers:
        small = problem()
        small.example_weight[8:] = 0.0
        course(small, solver, epochs=12)


def first(rows: Sequence[Row], reached: Reached) -> Row | None:
    """The first row that has reached something."""
    return next((row for row in rows if reached(row)), None)


def curve(rows: Sequence[Any], of: str, scale: float = 1.0) -> Iterator[tuple[float, float]]:
    """Points (seconds, value) of rows as JSON stores them."""
    for row in map(Row._make, rows):
        if (value := getattr(row, of)) is not None:
            yield row.seconds, scale * value
