"""Several solvers on the same data: who gets closest to the optimum, how fast, and who predicts best.

    comparison = compare(lambda name: Problem(examples), ["dcd", "dcd(sweeps=1)", "perceptron"])
    comparison.table()          # a row per solver
    comparison.save("report")   # results.json, table.csv, report.png and report.html

`verdict` has the arithmetic. To be fair, each solver first runs on a handful of examples, so that compilation is not
timed. Passes that measure the objective and development scores are not timed, either.
"""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._version import __version__
from widemargin.core.atomic import replacing
from widemargin.core.loop import fit
from widemargin.core.oracle import Meter
from widemargin.core.problem import Problem
from widemargin.core.solution import percent, relative_gap
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.curves import Curve, distinct
from widemargin.report.page import Row, Section, one_picture, page, plots_of
from widemargin.report.progress import Progress
from widemargin.report.verdict import (
    THRESHOLDS,
    Function,
    SolverRun,
    Verdict,
    as_csv,
    as_json,
    conclusions,
    judge,
    row_of,
    with_winners,
)
from widemargin.solvers import Solver, named_solver

STOP = Stop(epochs=50, gap=THRESHOLDS[-1])
WARM_EXAMPLES, WARM_EPOCHS = 8, 3  # enough epochs to compile kernels that work on cached cuts, too
FILES = ("results.json", "table.csv", "report.html", "report.png")
LIBRARIES = ("numpy", "scipy", "numba")
INTERRUPTED, EMPTY = "interrupted before its first epoch was over", "stopped before its first epoch"


def compare(
    problem_for: Callable[[str], Problem],
    solvers: Iterable[str] | Mapping[str, Solver],
    *,
    stop: Stop = STOP,
    score: Score | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
    data: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> "Comparison":
    """Run each solver and judge them all.

    A solver that cannot solve its problem is listed with the reason. Ctrl-C ends the running solver; the comparison
    then covers what has been measured so far.

    Parameters
    ----------
    problem_for : the problem for the solver of the given name; all must have the same data, but a solver may have a
        loss of its own
    solvers : names as `named_solver` knows them, perhaps with parameters; or solver objects by any name
    stop : the stop rules of each run; their gap is the one that the run itself proves
    score : maps weights to a development score, higher being better
    seed : the seed of every run
    callbacks : hear of each run, not of the warm-ups
    verbose : show progress, if standard error is a terminal
    data, settings : facts about them for the report
    """
    chosen = dict(solvers) if isinstance(solvers, Mapping) else {name: named_solver(name) for name in solvers}
    if not chosen:
        raise WidemarginError("there is no solver to compare")
    runs = {name: SolverRun(name, failure=INTERRUPTED) for name in chosen}
    problems: dict[str, Problem] = {}
    for name in chosen:
        try:
            problems[name] = problem_for(name)
        except UnsupportedError as error:
            runs[name] = SolverRun(name, failure=str(error))
    try:
        for number, (name, problem) in enumerate(problems.items(), 1):
            prefix = f"{number} of {len(problems)}, {name}"
            try:
                _warm_up(problem, chosen[name], Progress(prefix=f"{prefix}, warming up", keep=False, enabled=verbose))
                with Progress(prefix=prefix, tol=stop.gap, enabled=verbose) as progress:
                    runs[name] = _measure(name, problem, chosen[name], stop, score, [progress, *callbacks], seed)
            except WidemarginError as error:
                runs[name] = SolverRun(name, failure=str(error))
            if runs[name].stopped == "interrupted":
                break
    except KeyboardInterrupt:
        pass  # between two runs, or in a warm-up: what has been measured is kept
    described = {"seed": seed, "stop": asdict(stop), "solvers": {name: repr(chosen[name]) for name in chosen}}
    return Comparison(tuple(runs.values()), dict(data or {}), {**(settings or {}), **described})


def _warm_up(problem: Problem, solver: Solver, progress: Progress) -> None:
    """Compile what the solver needs on a few examples; all others get the weight 0."""
    weight = np.zeros(problem.examples.n_examples)
    few = problem.weighted_examples[:WARM_EXAMPLES]
    weight[few] = problem.example_weight[few]
    with progress:
        stop = Stop(epochs=WARM_EPOCHS, gap=None)
        small = replace(problem, sample_weight=weight, meter=Meter())
        if fit(small, solver, stop=stop, callbacks=[progress], audit=True).stopped == "interrupted":
            raise KeyboardInterrupt


def _measure(
    name: str,
    problem: Problem,
    solver: Solver,
    stop: Stop,
    score: Score | None,
    callbacks: Sequence[Callback],
    seed: int,
) -> SolverRun:
    fresh = replace(problem, meter=Meter())
    solution = fit(fresh, solver, stop=stop, score=score, callbacks=callbacks, seed=seed, audit=True)
    trace = solution.trace
    if solution.stopped == "interrupted" and not (trace and trace[-1].certified):
        trace = trace[:-1]  # the interrupted epoch has not been measured
    if not trace:
        return SolverRun(
            name, stopped=solution.stopped, failure=INTERRUPTED if solution.stopped == "interrupted" else EMPTY
        )
    return SolverRun(name, Function.of(problem), trace, solution.stopped)


@dataclass(frozen=True)
class Comparison:
    """Several runs on the same data; `data` and `settings` are facts for the report."""

    runs: tuple[SolverRun, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison."""
        return any(run.stopped == "interrupted" or run.failure == INTERRUPTED for run in self.runs)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """A verdict on each run."""
        return judge(self.runs)

    @property
    def functions(self) -> list[Function]:
        """The functions that were minimised, each once."""
        return list(dict.fromkeys(run.function for run in self.runs if run.function is not None))

    def table(self, function: Function | None = None) -> list[dict[str, Any]]:
        """A row per run, or per run on `function` if it is given.

        Columns of efforts end in ``_to_1%`` and so on; ``won`` lists the columns in which a run was the best.
        """
        rows = with_winners([row_of(verdict) for verdict in self.verdicts])
        return [row for row, run in zip(rows, self.runs, strict=True) if function in (None, run.function)]

    def failures(self) -> list[tuple[str, str]]:
        """The solvers that were not measured, and why."""
        return [(run.name, run.failure) for run in self.runs if run.failure]

    def conclusions(self) -> list[str]:
        """Who is fastest and who predicts best, a sentence each."""
        return conclusions(self.verdicts)

    def remark(self, function: Function) -> str:
        """How well the optimum of `function` is known."""
        verdicts = [verdict for verdict in self.verdicts if verdict.run.function == function]
        least = min((verdict.objective for verdict in verdicts if verdict.objective is not None), default=None)
        lower = verdicts[0].bound
        known = relative_gap(least, lower)
        if least is None or lower is None or known is None:
            return "No run has a bound on the optimum, so that gaps cannot be told."
        if not all(row.certified for verdict in verdicts for row in verdict.run.trace):
            return (
                f"The least objective is {least:,.6g} and the best bound {lower:,.6g}. The decoder is approximate, so "
                "that objectives are estimates and gaps are not proven."
            )
        text = f"The least objective is {least:,.6g}; "
        text += f"below {lower:,.6g}, {percent(known)} less, there is proven to be none."
        if known > THRESHOLDS[-1]:
            text += f" No gap below {percent(known)} can be told from these runs."
        return text

    def results(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        runs = []
        for row, verdict in zip(self.table(), self.verdicts, strict=True):
            trace = [
                {**epoch._asdict(), "judged_gap": gap}
                for epoch, gap in zip(verdict.run.trace, verdict.gaps, strict=True)
            ]
            function = verdict.run.function
            runs.append({**row, "function": function and function._asdict(), "trace": trace})
        return {
            "versions": {"widemargin": __version__, "python": platform.python_version()}
            | {name: version(name) for name in LIBRARIES},
            "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
            "data": dict(self.data),
            "settings": dict(self.settings),
            "interrupted": self.interrupted,
            "runs": runs,
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `FILES` into a folder, which is created if needed."""
        if not self.functions:
            raise WidemarginError("; ".join(f"{name}: {reason}" for name, reason in self.failures()))
        picture = one_picture([row for function in self.functions for row in self._rows(function)] + self._score_rows())
        texts = (as_json(self.results()), as_csv(self.table()), self._page())
        contents = dict(zip(FILES, [*(text.encode() for text in texts), picture], strict=True))
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WidemarginError(f"{target} cannot be made a folder: {error.strerror}") from error
        for name, content in contents.items():
            with replacing(target / name, "wb") as file:
                file.write(content)

    def _curves(self) -> dict[str, Curve]:
        """The traces with their judged gaps, each with its colour, marker and line."""
        judged = {
            verdict.run.name: [row._replace(gap=gap) for row, gap in zip(verdict.run.trace, verdict.gaps, strict=True)]
            for verdict in self.verdicts
        }
        return {curve.name: curve for curve in distinct(judged)}

    def _rows(self, function: Function) -> list[Row]:
        curves = self._curves()
        verdicts = [verdict for verdict in self.verdicts if verdict.run.function == function]
        mine = [curves[verdict.run.name] for verdict in verdicts]
        of = f" of {function}" if len(self.functions) > 1 else ""
        return [
            Row("primal", f"Objective{of}", mine, verdicts[0].bound),
            Row("gap", f"Gap{of}", mine),
        ]

    def _score_rows(self) -> list[Row]:
        return [Row("score", "Score on development data", list(self._curves().values()))]

    def _page(self) -> str:
        alone = len(self.functions) == 1
        scores = self._score_rows()
        sections = []
        for function in self.functions:
            rows = self._rows(function)
            plots = plots_of(rows + scores if alone else rows)
            sections.append(Section(str(function), self.remark(function), self.table(function), rows[0].curves, plots))
        if not alone and scores[0].values():
            sections.append(Section("Scores of all", "", (), scores[0].curves, plots_of(scores)))
        if self.failures():
            failed = [row for row in self.table() if row["failure"]]
            sections.append(Section("Not measured", rows=failed))
        facts = {**self.data, **self.settings, "interrupted": self.interrupted}
        said = [(name, str(value)) for name, value in facts.items()]
        return page("Solvers compared", self.conclusions(), said, sections)
