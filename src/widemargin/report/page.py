"""A comparison as a picture, and as one self-contained web page, which opens with the verdict; pictures are inside.

The picture shows the progress of each run by seconds, epochs and oracle calls. Each row of panels shows one quantity,
each column one way of counting effort. A run has its colour, marker and line everywhere, and one legend beside the
panels names them all. Dashes tell runs apart, so duals are not drawn: a single dotted line is the best bound that any
run has proven.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from widemargin.report.curves import (
    AGAINST,
    Curve,
    check_can_draw,
    draw,
    frame,
    gap_axis,
    heading,
    horizontal_axis,
    names,
    points,
)
from widemargin.report.svg import web_page
from widemargin.report.text import MARK, UNKNOWN
from widemargin.report.verdict import THRESHOLDS, TableColumn, cells, columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PANEL_INCHES = (4.2, 3.4)
LEGEND_INCHES = 2.2
TALLEST = 1.5  # the objective's axis ends at this multiple of the least value: what lies above is far from the optimum
DEEPEST = 0.03  # the score's axis goes down from the best by this share of it, or more if the middle run is far off
FAINT = "0.6"


class Row(NamedTuple):
    """A row of panels: one quantity (a field of `Epoch`) of some runs; `bound` is its best lower bound."""

    quantity: str
    title: str
    curves: Sequence[Curve]
    bound: float | None = None

    def values(self) -> list[list[float]]:
        """The known values of every run that has any."""
        known = [[point.value for point in points(curve, self.quantity)] for curve in self.curves]
        return [values for values in known if values]


class Plot(NamedTuple):
    """A quantity against each way of counting effort: a title, how to read it, and a PNG for each."""

    title: str
    explanation: str
    panels: list[tuple[str, bytes]]


def plots_of(rows: Sequence[Row]) -> list[Plot]:
    """The `rows` that have a value, each panel as a picture of its own, so that a page can lay them out."""
    rows = [row for row in rows if row.values()]
    everyone = _everyone(rows)
    return [Plot(row.title, *_panels(row, everyone)) for row in rows]


def _panels(row: Row, everyone: Sequence[Curve]) -> tuple[str, list[tuple[str, bytes]]]:
    check_can_draw()
    from matplotlib.figure import Figure  # takes longer to import than a small training run takes

    panels, explanation = [], ""
    for against, words in AGAINST.items():
        figure = Figure(figsize=PANEL_INCHES, dpi=200, layout="constrained")
        explanation = _panel(figure.subplots(), row, everyone, against)
        panels.append((words, _png(figure)))
    return explanation, panels


def one_picture(rows: Sequence[Row]) -> bytes:
    """The `rows` as one PNG; at least one of them must have a value."""
    check_can_draw()
    from matplotlib.figure import Figure

    rows = [row for row in rows if row.values()]
    everyone = _everyone(rows)
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(AGAINST) + LEGEND_INCHES, height * len(rows)), dpi=110, layout="constrained")
    grid = figure.subplots(len(rows), len(AGAINST), squeeze=False, sharex="col", sharey="row")
    for line, row in zip(grid, rows, strict=True):
        for axes, against in zip(line, AGAINST, strict=True):
            explanation = _panel(axes, row, everyone, against)
            axes.xaxis.set_tick_params(labelbottom=True)
        heading(line[0], row.title, explanation)
    figure.legend(handles=names(everyone), loc="outside right upper", frameon=False, handlelength=4, labelspacing=0.8)
    return _png(figure)


def _everyone(rows: Sequence[Row]) -> list[Curve]:
    """All curves, each once."""
    return list({curve.name: curve for row in rows for curve in row.curves if curve.trace}.values())


def _panel(axes: "Axes", row: Row, everyone: Sequence[Curve], against: str) -> str:
    """Draw a quantity against an effort, on an axis that fits `everyone`; return an explanation of the panel."""
    for curve in row.curves:
        draw(axes, curve, points(curve, row.quantity, against))
    panels: dict[str, Callable[[Axes, Row], str]] = {"primal": _objective, "gap": _gap, "score": _score}
    explanation = panels[row.quantity](axes, row)
    horizontal_axis(axes, everyone, against)
    frame(axes)
    return explanation


def _png(figure: "Figure") -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _objective(axes: "Axes", row: Row) -> str:
    least = min(map(min, row.values()))
    bottom = least if row.bound is None else min(row.bound, least)
    top = min(max(map(max, row.values())), TALLEST * least) if least > 0 else max(map(max, row.values()))
    room = 0.05 * (top - bottom) or 1.0
    axes.set_ylim(bottom - room, top + room)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    explanation = "regularised training loss, lower is better"
    if row.bound is not None:
        axes.axhline(row.bound, color=FAINT, linestyle=":")
        explanation += "; dotted: the best proven lower bound"
    return explanation + _beyond("above", row, lambda value: value > top)


def _gap(axes: "Axes", row: Row) -> str:
    values = [value for values in row.values() for value in values]
    gap_axis(axes, values)
    for threshold in THRESHOLDS:
        if min(values) / 2 < threshold < max(values) * 2:
            axes.axhline(threshold, color=FAINT, linestyle=":")
    return "how much smaller the objective could be at most, judged by the best bound of all runs; lower is better"


def _score(axes: "Axes", row: Row) -> str:
    ends = sorted(map(max, row.values()), reverse=True)
    best, middle = ends[0], ends[len(ends) // 2]
    lowest = max(min(map(min, row.values())), best - max(DEEPEST * abs(best), 3.0 * (best - middle)))
    if lowest < best:
        room = 0.05 * (best - lowest)
        axes.set_ylim(lowest - room, best + room)
    return "higher is better" + _beyond("below", row, lambda value: value < lowest)


def _beyond(side: str, row: Row, outside: Callable[[float], bool]) -> str:
    """A remark on runs whose values all lie outside the panel; empty if there are none."""
    known = {curve.name: points(curve, row.quantity) for curve in row.curves}
    lost = [name for name, values in known.items() if values and all(outside(point.value) for point in values)]
    return f"; {side} the panel: {', '.join(lost)}" if lost else ""


STYLE = """
body { max-width: 96rem; }
h2 { margin-top: 2.5rem; } h3 { margin: 2rem 0 0; }
p, dl { max-width: 50rem; } .verdict p { max-width: 65rem; }
.verdict { border-left: 4px solid var(--accent); background: var(--tint); padding: 0.25rem 1rem; font-size: 1.15rem; }
dl { display: grid; grid-template-columns: fit-content(40%) 1fr; gap: 0 1.5rem; } dt { color: var(--faint); }
dd { margin: 0; }
.wide { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { font-weight: 500; color: var(--faint); }
tbody th { font-weight: 600; }
th.name { position: sticky; left: 0; background: var(--paper); text-align: left; white-space: normal;
  overflow-wrap: anywhere; min-width: min(14rem, 30vw); }
td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 15rem; }
th.group { text-align: center; } .first { border-left: 1px solid var(--strong); }
td.won { font-weight: 700; background: var(--tint); }
.note { color: var(--faint); margin: 0.25rem 0 0.75rem; }
.plots { display: grid; gap: 0.75rem; } @media (min-width: 60rem) { .plots { grid-template-columns: repeat(3, 1fr); } }
.plots img { background: #fff; border-radius: 6px; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; margin: 1rem 0 0; padding: 0; }
.legend svg { vertical-align: middle; margin-right: 0.4rem; background: #fff; border-radius: 4px; }
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


SHAPES = {
    "o": '<circle cx="20" cy="8" r="4"/>',
    "s": '<path d="M16 4h8v8h-8z"/>',
    "^": '<path d="M20 3l5 9h-10z"/>',
    "v": '<path d="M20 13l5-9h-10z"/>',
    "D": '<path d="M20 3l5 5-5 5-5-5z"/>',
    "P": '<path d="M18 3h4v3h3v4h-3v3h-4v-3h-3v-4h3z"/>',
}
DASHES = {"-": "", "--": "6 3", ":": "2 2"}


class Section(NamedTuple):
    """A heading, a remark, a table of runs, and plots with a legend."""

    heading: str
    remark: str = ""
    rows: Sequence[Mapping[str, Any]] = ()
    curves: Sequence[Curve] = ()
    plots: Sequence[Plot] = ()


def page(title: str, verdict: Sequence[str], facts: Iterable[tuple[str, str]], sections: Iterable[Section]) -> str:
    """The whole page."""
    said = "".join(f"<p>{_prose(sentence)}</p>\n" for sentence in verdict)
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in facts)
    body = (
        f'<h1>{escape(title)}</h1>\n<div class="verdict">\n{said}</div>\n{"".join(map(_section, sections))}'
        f"<h2>How to read this</h2>\n{READING}<h2>Settings</h2>\n<dl>\n{listed}</dl>\n"
    )
    return web_page(title, body, STYLE)


def _prose(text: str) -> str:
    """Sentences whose numbers are not torn from their units."""
    return re.sub(r"(?<=\d) (?=[%s]\b|%)", "&nbsp;", escape(text))


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.heading)}</h2>\n"]
    if section.remark:
        parts.append(f"<p>{_prose(section.remark)}</p>\n")
    if section.rows:
        parts.append(_table(section.rows))
    if section.curves:
        entries = "".join(f"<li>{_sample(curve)}{escape(curve.name)}</li>\n" for curve in section.curves)
        parts.append(f'<ul class="legend">\n{entries}</ul>\n')
    return "".join([*parts, *map(_plot, section.plots)])


def _sample(curve: Curve) -> str:
    """A piece of a curve, for the legend."""
    return (
        f'<svg width="40" height="16" fill="{curve.colour}" stroke="{curve.colour}" aria-hidden="true">'
        f'<path d="M2 8h36" stroke-width="2" stroke-dasharray="{DASHES[curve.line]}"/>{SHAPES[curve.marker]}</svg>'
    )


def _plot(plot: Plot) -> str:
    images = "".join(
        f'<img alt="{escape(plot.title)} against {escape(against)}; results.json has the numbers" '
        f'src="data:image/png;base64,{b64encode(png).decode("ascii")}">\n'
        for against, png in plot.panels
    )
    return (
        f'<h3>{escape(plot.title)}</h3>\n<p class="note">{escape(plot.explanation)}</p>\n'
        f'<div class="plots">\n{images}</div>\n'
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = columns_of(rows)
    groups = [(group, len(list(members))) for group, members in groupby(columns, key=lambda column: column.group)]
    over = "".join(
        f'<th class="group first" colspan="{n}" scope="colgroup">{escape(group)}</th>' for group, n in groups
    )
    under = "".join(f'<th{_classes(column, columns)} scope="col">{escape(column.name)}</th>' for column in columns)
    body = "".join(_row(row, columns) for row in rows)
    return (
        '<div class="wide" tabindex="0"><table>\n<thead>\n'
        f'<tr><th class="name" rowspan="2" scope="col">solver</th>{over}</tr>\n'
        f"<tr>{under}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _row(row: Mapping[str, Any], columns: Sequence[TableColumn]) -> str:
    if row["failure"] is not None:
        return (
            f'<tr><th class="name" scope="row">{escape(row["solver"])}</th>'
            f'<td class="text first" colspan="{len(columns)}">{escape(row["failure"])}</td></tr>\n'
        )
    name, *rest = cells(row, columns)
    shown = "".join(
        f"<td{_classes(column, columns, cell.won)}>{escape(cell.label)}</td>"
        for column, cell in zip(columns, rest, strict=True)
    )
    return f'<tr><th class="name" scope="row">{escape(name.text)}</th>{shown}</tr>\n'


def _classes(column: TableColumn, columns: Sequence[TableColumn], won: bool = False) -> str:
    """The classes of a cell: whether it begins a group, and whether it has won."""
    begins = next(each for each in columns if each.group == column.group) is column
    names = " ".join(name for name, holds in (("first", begins), ("won", won)) if holds)
    return f' class="{names}"' if names else ""
