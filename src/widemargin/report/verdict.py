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

From the verdicts follow a few sentences, who is fastest and who predicts best (`conclusions`), and a table: CSV and
JSON for programs, cells of text for people.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from math import inf, isfinite
from typing import Any, NamedTuple

from widemargin.core import Loss, Penalty
from widemargin.core.penalty import formula
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, percent, relative_gap
from widemargin.objectives import OBJECTIVES
from widemargin.report.text import MARK, UNKNOWN, brief, finite, share

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


class SolverRun(NamedTuple):
    """One solver's run: what it minimised, its exact trace, and why it stopped; or else why it was not measured."""

    name: str
    function: Function | None = None
    trace: tuple[Epoch, ...] = ()
    stopped: str = ""
    failure: str = ""


class Spent(NamedTuple):
    """The effort that a run had spent at the end of an epoch."""

    seconds: float
    epochs: int
    oracle_calls: int

    @classmethod
    def of(cls, row: Epoch) -> "Spent":
        """The end of the epoch of `row`."""
        return cls(row.seconds, row.epoch, row.oracle_calls)


class Verdict(NamedTuple):
    """The outcome of a run.

    `bound` is D*; `gaps` are the gaps to it after every epoch, `gap` is the last of them; `objective` is the least P;
    `certificate` is the gap that the run proves by itself; `reached` has a moment for each of the `THRESHOLDS`, None
    where it was never reached; `score` is the best development score.
    """

    run: SolverRun
    bound: float | None
    gaps: tuple[float | None, ...]
    objective: float | None
    certificate: float | None
    reached: tuple[Spent | None, ...]
    score: float | None
    scored: Spent | None

    @property
    def gap(self) -> float | None:
        """The last gap."""
        return self.gaps[-1] if self.gaps else None

    @property
    def spent(self) -> Spent | None:
        """The effort of the whole run."""
        return Spent.of(self.run.trace[-1]) if self.run.trace else None


def judge(runs: Sequence[SolverRun]) -> list[Verdict]:
    """A verdict on each of the `runs`, which had the same data."""
    bounds = lower_bounds(runs)
    return [_verdict(run, bounds.get(run.function)) for run in runs]


def lower_bounds(runs: Iterable[SolverRun]) -> dict[Function | None, float]:
    """D* of each function for which any run has a dual."""
    bounds: dict[Function | None, float] = {}
    for run in runs:
        for dual in _finite(row.dual for row in run.trace):
            bounds[run.function] = max(bounds.get(run.function, -inf), dual)
    return bounds


def _verdict(run: SolverRun, bound: float | None) -> Verdict:
    least: float | None = None
    gaps = []
    for row in run.trace:
        least = min(_finite([least, row.primal]), default=None)
        gaps.append(relative_gap(least, bound))
    ends = list(zip(run.trace, gaps, strict=True))
    reached = [
        next((Spent.of(row) for row, gap in ends if gap is not None and gap <= threshold), None)
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
        None if scored is None else Spent.of(scored),
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


USUAL = 0.01  # the gap that speed is judged by, if any run has reached it


def conclusions(verdicts: Sequence[Verdict]) -> list[str]:
    """A sentence on the speed for each function, and one on the scores; runs that were not measured are left out."""
    measured = [verdict for verdict in verdicts if verdict.run.function is not None]
    functions = list(dict.fromkeys(verdict.run.function for verdict in measured))
    found = [_speed(function, measured, alone=len(functions) == 1) for function in functions if function is not None]
    return [*found, *_scores(measured)]


def _speed(function: Function, measured: Sequence[Verdict], *, alone: bool) -> str:
    """Who comes close to the optimum first."""
    verdicts = [verdict for verdict in measured if verdict.run.function == function]
    where = "" if alone else f"Minimising {function}: "
    reached = [k for k in range(len(THRESHOLDS)) if any(verdict.reached[k] for verdict in verdicts)]
    if not reached:
        known = {verdict.run.name: verdict.gap for verdict in verdicts if verdict.gap is not None}
        if not known:
            return f"{where}No run has a bound on the optimum, so none can be called close to it."
        name = min(known, key=known.__getitem__)
        return f"{where}No run is known to come close to the optimum; {name} is closest, within {percent(known[name])}."
    k = max(each for each in reached if THRESHOLDS[each] >= USUAL)  # who is within 0.1 % is within 1 %, too
    seconds = {verdict.run.name: each.seconds for verdict in verdicts if (each := verdict.reached[k]) is not None}
    first = sorted(winners(seconds) or seconds, key=seconds.__getitem__)
    others = sorted(seconds.keys() - set(first), key=seconds.__getitem__)
    never = [verdict.run.name for verdict in verdicts if verdict.run.name not in seconds]
    what = "is fastest" if len(first) == 1 else "are fastest"
    close = f"within {100 * THRESHOLDS[k]:g} % of the optimum after {brief(seconds[first[0]])} s"
    text = f"{where}{_in_words(first)} {what}, {close}" if len(verdicts) > 1 else f"{where}{first[0]} comes {close}"
    if others:
        text += f"; next is {others[0]} after {brief(seconds[others[0]])} s"
    if never:
        text += f"; {_in_words(never)} {'does' if len(never) == 1 else 'do'} not come that close"
    return text + "."


def _scores(measured: Sequence[Verdict]) -> Iterator[str]:
    """Who predicts best, if there are development data."""
    scores = {verdict.run.name: verdict.score for verdict in measured if verdict.score is not None}
    if not scores:
        return
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    best = [name for name in ranked if name in winners(scores, most=True)] or ranked[:1]
    others = [name for name in ranked if name not in best]
    what = "predicts best" if len(best) == 1 else "predict best"
    text = f"{_in_words(best)} {what}: {share(scores[best[0]])} on development data"
    yield text + (f"; next is {others[0]} with {share(scores[others[0]])}." if others else ".")


def _in_words(names: Sequence[str]) -> str:
    """Names as a list in words.

    >>> _in_words(["a"]), _in_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


UNITS = {"seconds": "s", "epochs": "epochs", "oracle_calls": "calls"}


class TableColumn(NamedTuple):
    """A column for people: the key of a row's value, a heading for its group and one for itself."""

    key: str
    group: str
    name: str
    shown: Callable[[Any], str] = str


class Cell(NamedTuple):
    """Text, and whether it is the best of its column."""

    text: str
    won: bool = False

    @property
    def label(self) -> str:
        """The text, with a mark if it is the best."""
        return f"{MARK} {self.text}" if self.won else self.text


def gap_name(threshold: float) -> str:
    """A gap in the names of columns.

    >>> gap_name(0.001)
    '0.1%'
    """
    return f"{100 * threshold:g}%"


def _efforts(suffix: str, group: str) -> list[TableColumn]:
    return [TableColumn(effort + suffix, group, unit, brief) for effort, unit in UNITS.items()]


COLUMNS = (
    TableColumn("objective", "in the end", "objective", lambda value: f"{value:,.6g}"),
    TableColumn("gap", "in the end", "gap", percent),
    TableColumn("certificate", "in the end", "own gap", percent),
    *(column for each in THRESHOLDS for column in _efforts(f"_to_{gap_name(each)}", f"to {100 * each:g} %")),
    TableColumn("score", "on development data", "score", share),
    *_efforts("_to_score", "on development data"),
    *_efforts("", "the whole run"),
    TableColumn("stopped", "the whole run", "stopped by"),
)
"""The columns that people see, besides the name of the run."""


def row_of(verdict: Verdict) -> dict[str, Any]:
    """A run as one row of numbers; unknown values are None."""
    run = verdict.run
    row: dict[str, Any] = {
        "solver": run.name,
        "function": None if run.function is None else str(run.function),
        "objective": verdict.objective,
        "lower_bound": verdict.bound,
        "gap": verdict.gap,
        "certificate": verdict.certificate,
    }
    for threshold, moment in zip(THRESHOLDS, verdict.reached, strict=True):
        row |= _spent(moment, f"_to_{gap_name(threshold)}")
    row["score"] = verdict.score
    row |= _spent(verdict.scored, "_to_score") | _spent(verdict.spent, "")
    return row | {"stopped": run.stopped or None, "failure": run.failure or None}


def _spent(moment: Spent | None, suffix: str) -> dict[str, Any]:
    return {effort + suffix: None if moment is None else getattr(moment, effort) for effort in UNITS}


def with_winners(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the columns that each has won: efforts among runs on the same function, scores among all."""
    won: dict[str, list[str]] = {row["solver"]: [] for row in rows}
    started = [row for row in rows if row["failure"] is None]
    for threshold in THRESHOLDS:
        for column in (f"{effort}_to_{gap_name(threshold)}" for effort in UNITS):
            for function in dict.fromkeys(row["function"] for row in started):
                rivals = {row["solver"]: row[column] for row in started if row["function"] == function}
                for name in winners(rivals):
                    won[name].append(column)
    for name in winners({row["solver"]: row["score"] for row in started}, most=True):
        won[name].append("score")
    return [{**row, "won": won[row["solver"]]} for row in rows]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[TableColumn]:
    """The columns worth showing; those on development data only if a run has a score."""
    scored = any(row["score"] is not None for row in rows)
    return [column for column in COLUMNS if scored or column.group != "on development data"]


def cells(row: Mapping[str, Any], columns: Sequence[TableColumn]) -> list[Cell]:
    """The cells of a row, the name of the solver first."""
    return [
        Cell(row["solver"]),
        *(
            Cell(UNKNOWN if row[column.key] is None else column.shown(row[column.key]), column.key in row["won"])
            for column in columns
        ),
    ]


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV with a header; unknown values are empty."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "won": " ".join(row["won"])} for row in rows)
    return text.getvalue()


def as_json(results: Mapping[str, Any]) -> str:
    """One JSON object, indented."""
    return json.dumps(finite(results), ensure_ascii=False, indent=1) + "\n"
