"""The table of a comparison: CSV and JSON for programs, cells of text for people."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from widemargin.core.solution import percent
from widemargin.report.numbers import MARK, UNKNOWN, brief, finite, share
from widemargin.report.verdict import THRESHOLDS, Moment, Verdict, winners

UNITS = {"seconds": "s", "epochs": "epochs", "oracle_calls": "calls"}


class Column(NamedTuple):
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
    def marked(self) -> str:
        """The text, with a mark if it is the best."""
        return f"{MARK} {self.text}" if self.won else self.text


def gap_name(threshold: float) -> str:
    """A gap in the names of columns.

    >>> gap_name(0.001)
    '0.1%'
    """
    return f"{100 * threshold:g}%"


def _efforts(suffix: str, group: str) -> list[Column]:
    return [Column(effort + suffix, group, unit, brief) for effort, unit in UNITS.items()]


COLUMNS = (
    Column("objective", "in the end", "objective", lambda value: f"{value:,.6g}"),
    Column("gap", "in the end", "gap", percent),
    Column("certificate", "in the end", "own gap", percent),
    *(column for each in THRESHOLDS for column in _efforts(f"_to_{gap_name(each)}", f"to {100 * each:g} %")),
    Column("score", "on development data", "score", share),
    *_efforts("_to_score", "on development data"),
    *_efforts("", "the whole run"),
    Column("stopped", "the whole run", "stopped by"),
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


def _spent(moment: Moment | None, suffix: str) -> dict[str, Any]:
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


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns worth showing; those on development data only if a run has a score."""
    scored = any(row["score"] is not None for row in rows)
    return [column for column in COLUMNS if scored or column.group != "on development data"]


def cells(row: Mapping[str, Any], columns: Sequence[Column]) -> list[Cell]:
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
