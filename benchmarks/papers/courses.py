"""Training watched epoch by epoch: the seconds of training alone, and what the weights are worth by then."""

from collections.abc import Callable, Sequence
from math import inf, isfinite
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
    seconds: float = inf,
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


def rows_of(stored: Sequence[Sequence[Any]]) -> list[Row]:
    """Rows as JSON holds them."""
    return [Row(*each) for each in stored]


def seconds_to(rows: Sequence[Row], reached: Reached) -> float:
    """Seconds until the end of the first epoch that reached something; infinite if none did.

    >>> seconds_to([Row(0.5, 30.0, None, None), Row(1.0, 20.0, None, None)], lambda row: row.primal <= 20)
    1.0
    """
    return next((row.seconds for row in rows if reached(row)), inf)


def seconds_to_score(rows: Sequence[Row], score: float) -> float:
    """Seconds until a score is reached."""
    return seconds_to(rows, lambda row: row.score is not None and row.score >= score)


def seconds_to_dual(rows: Sequence[Row], dual: float) -> float:
    """Seconds until a value of the dual is reached, but for rounding."""
    return seconds_to(rows, lambda row: row.dual is not None and row.dual >= dual - 1e-9 * abs(dual))


def score_by(rows: Sequence[Row], seconds: float) -> float:
    """The score of the last epoch that was over by then; 0 if there was none.

    >>> score_by([Row(0.5, None, None, 0.7), Row(1.0, None, None, 0.8)], 0.9)
    0.7
    """
    return next((row.score for row in reversed(rows) if row.seconds <= seconds and row.score is not None), 0.0)


def curve(rows: Sequence[Row], of: str, scale: float = 1.0) -> list[tuple[float, float]]:
    """Points (seconds, value) of what was measured."""
    return [(row.seconds, scale * value) for row in rows if (value := getattr(row, of)) is not None]


def spelt(seconds: float) -> str:
    """Seconds for people.

    >>> spelt(12.34), spelt(inf)
    ('12.3 s', 'never')
    """
    return f"{seconds:.3g} s" if isfinite(seconds) else "never"
