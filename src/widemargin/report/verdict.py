"""Verdicts on solvers: all runs that minimise the same function are judged by one proven bound.

    D* = the largest dual of any run on the function,   P_t = min_{s ≤ t} P(w_s),   gap_t = (P_t − D*) / P_t

D* ≤ P* ≤ P, so with a gap of x %, no weights make the objective more than x % smaller than the run's best.
Judged by its own dual, a solver with weak duals would look far from an optimum that it may have reached. With the
common bound, what one run proves counts for all, and the gaps of all are too large by the same P* − D*. A run's own
certificate, min P against its own largest dual, is given separately. Whether a solver sets out to minimise P at all
(the perceptron does not) makes no difference to the arithmetic.

Values are known at the ends of epochs, and only there: a gap is reached at the end of the first epoch that is below it.
Nothing is interpolated. Since P_t is the best so far, a gap once reached stays reached; a solver whose objective jumps
up and down would need full passes to tell which of its weights are the best, and these are not timed.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

from widemargin.core import Loss, Penalty
from widemargin.core.penalty import formula
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, relative_gap
from widemargin.objectives import OBJECTIVES

THRESHOLDS = (0.1, 0.01, 0.001)
TIE = 1.01  # a run that needs at most this many times the least wins as well
DIGITS = 4  # scores that agree to this many digits win together


class Function(NamedTuple):
    """The function that a run minimises; only runs on the same function can be compared by their objectives."""

    objective: str
    loss: Loss
    penalty: Penalty
    C: float
    l1: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> "Function":
        """The function that `problem` states."""
        names = [name for name, objective in OBJECTIVES.items() if objective == problem.objective]
        name = names[0] if names else repr(problem.objective)
        return cls(name, problem.loss, problem.penalty, problem.C, problem.l1)

    def __str__(self) -> str:
        """The function as a formula.

        >>> print(Function("margin", "squared_hinge", "l2", 0.1))
        ½‖w‖² + 0.1 Σ ξ², ξ by margin
        """
        norm, power = formula(self.penalty, self.l1), "²" if self.loss == "squared_hinge" else ""
        return f"{norm} + {self.C:g} Σ ξ{power}, ξ by {self.objective}"


class Run(NamedTuple):
    """One solver's run: what it minimised, its exact trace, and why it stopped; or else why it was not measured."""

    name: str
    function: Function | None = None
    trace: tuple[Epoch, ...] = ()
    stopped: str = ""
    failure: str = ""


class Moment(NamedTuple):
    """The effort that a run had spent at the end of an epoch."""

    seconds: float
    epochs: int
    oracle_calls: int

    @classmethod
    def of(cls, row: Epoch) -> "Moment":
        """The end of the epoch of `row`."""
        return cls(row.seconds, row.epoch, row.oracle_calls)


class Verdict(NamedTuple):
    """The outcome of a run.

    `bound` is D*; `gaps` are the gaps to it after every epoch, `gap` is the last of them; `objective` is the least P;
    `certificate` is the gap that the run proves by itself; `reached` has a moment for each of the `THRESHOLDS`, None
    where it was never reached; `score` is the best development score.
    """

    run: Run
    bound: float | None
    gaps: tuple[float | None, ...]
    objective: float | None
    certificate: float | None
    reached: tuple[Moment | None, ...]
    score: float | None
    scored: Moment | None

    @property
    def gap(self) -> float | None:
        """The last gap."""
        return self.gaps[-1] if self.gaps else None

    @property
    def spent(self) -> Moment | None:
        """The effort of the whole run."""
        return Moment.of(self.run.trace[-1]) if self.run.trace else None


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """A verdict on each of the `runs`, which had the same data."""
    bounds = lower_bounds(runs)
    return [_verdict(run, bounds.get(run.function)) for run in runs]


def lower_bounds(runs: Iterable[Run]) -> dict[Function | None, float]:
    """D* of each function for which any run has a dual."""
    bounds: dict[Function | None, float] = {}
    for run in runs:
        for dual in _finite(row.dual for row in run.trace):
            bounds[run.function] = max(bounds.get(run.function, -inf), dual)
    return bounds


def _verdict(run: Run, bound: float | None) -> Verdict:
    least: float | None = None
    gaps = []
    for row in run.trace:
        least = min(_finite([least, row.primal]), default=None)
        gaps.append(relative_gap(least, bound))
    ends = list(zip(run.trace, gaps, strict=True))
    reached = [
        next((Moment.of(row) for row, gap in ends if gap is not None and gap <= threshold), None)
        for threshold in THRESHOLDS
    ]
    scored = max((row for row in run.trace if row.score is not None), key=lambda row: row.score or 0.0, default=None)
    return Verdict(
        run,
        bound,
        tuple(gaps),
        least,
        relative_gap(least, max(_finite(row.dual for row in run.trace), default=None)),
        tuple(reached),
        None if scored is None else scored.score,
        None if scored is None else Moment.of(scored),
    )


def winners(values: Mapping[str, float | None], *, most: bool = False) -> set[str]:
    """The names with the least value, or the highest if `most`; ties win together, and nobody wins without a rival.

    >>> sorted(winners({"a": 1.0, "b": 1.005, "c": 2.0, "d": None}))
    ['a', 'b']
    >>> winners({"a": 1.0})
    set()
    """
    known = {name: value for name, value in values.items() if value is not None}
    if not known or len(values) < 2:
        return set()
    if most:
        highest = round(max(known.values()), DIGITS)
        return {name for name, value in known.items() if round(value, DIGITS) == highest}
    return {name for name, value in known.items() if value <= TIE * min(known.values())}


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]
