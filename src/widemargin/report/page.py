"""A comparison as one self-contained web page: no scripts, no network, pictures inside."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from widemargin.report.numbers import MARK, UNKNOWN
from widemargin.report.tables import Column, cells, columns_of

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 96rem; margin: 2rem auto;
  padding: 0 1.5rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
p, dl, ul { max-width: 50rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1.5rem; } dt { color: #555; } dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd; }
thead th { font-weight: 500; color: #555; } tbody th, td.text { text-align: left; } tbody th { font-weight: 600; }
th.group { text-align: center; } .first { border-left: 1px solid #bbb; }
td.won { font-weight: 700; background: #eef5fb; }
img { max-width: 100%; height: auto; }
"""

READING = f"""
<p>Every run is judged by the same yardstick. Each dual value that a solver reaches is a proven lower bound on the least
possible objective; the largest of them is the bound for all runs that minimise the same function. The <em>gap</em> is
(best objective so far − bound) / best objective so far: no weights whatever make the objective smaller by more than
that. It is an upper limit, since the true optimum may lie above the bound. <em>Own gap</em> is the gap that a solver
can prove without the others' help; it is large where a solver has poor bounds of its own, even if its weights are good.
Mistake-driven solvers such as the perceptron do not try to minimise the objective, so their gap says little about how
well they predict: look at their score.</p>
<p>Values are known at the ends of epochs, so <em>to 1 %</em> means: by the end of the first epoch with a gap
of at most 1 %. {UNKNOWN} means that this never happened. {MARK} marks the least of a column among the runs on the same
function, and the best score of all; whoever is within 1 % of the least is marked, too. Seconds and oracle calls are
those of training alone: compiling, measuring the objective and scoring development data are not counted.</p>
"""


class Section(NamedTuple):
    """A heading, a remark, a table of runs, and a picture with its alternative text."""

    heading: str
    remark: str = ""
    rows: Sequence[Mapping[str, Any]] = ()
    picture: bytes = b""
    words: str = ""


def page(title: str, facts: Iterable[tuple[str, str]], sections: Iterable[Section]) -> str:
    """The whole page."""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in facts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{escape(title)}</h1>\n{''.join(map(_section, sections))}"
        f"<h2>How to read this</h2>\n{READING}<h2>Settings</h2>\n<dl>\n{listed}</dl>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.heading)}</h2>\n"]
    if section.remark:
        parts.append(f"<p>{escape(section.remark)}</p>\n")
    if section.rows:
        parts.append(_table(section.rows))
    if section.picture:
        data = b64encode(section.picture).decode("ascii")
        parts.append(f'<p class="wide"><img alt="{escape(section.words)}" src="data:image/png;base64,{data}"></p>\n')
    return "".join(parts)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = columns_of(rows)
    groups = [(group, len(list(members))) for group, members in groupby(columns, key=lambda column: column.group)]
    over = "".join(
        f'<th class="group first" colspan="{n}" scope="colgroup">{escape(group)}</th>' for group, n in groups
    )
    under = "".join(f'<th{_classes(column, columns)} scope="col">{escape(column.name)}</th>' for column in columns)
    body = "".join(_row(row, columns) for row in rows)
    return (
        f'<div class="wide"><table>\n<thead>\n<tr><th rowspan="2" scope="col">solver</th>{over}</tr>\n'
        f"<tr>{under}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _row(row: Mapping[str, Any], columns: Sequence[Column]) -> str:
    if row["failure"] is not None:
        return (
            f'<tr><th scope="row">{escape(row["solver"])}</th>'
            f'<td class="text first" colspan="{len(columns)}">{escape(row["failure"])}</td></tr>\n'
        )
    name, *rest = cells(row, columns)
    shown = "".join(
        f"<td{_classes(column, columns, cell.won)}>{escape(cell.marked)}</td>"
        for column, cell in zip(columns, rest, strict=True)
    )
    return f'<tr><th scope="row">{escape(name.text)}</th>{shown}</tr>\n'


def _classes(column: Column, columns: Sequence[Column], won: bool = False) -> str:
    """The classes of a cell: whether it begins a group, and whether it has won."""
    begins = next(each for each in columns if each.group == column.group) is column
    names = " ".join(name for name, holds in (("first", begins), ("won", won)) if holds)
    return f' class="{names}"' if names else ""
