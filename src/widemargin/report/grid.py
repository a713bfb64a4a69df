"""A comparison as a picture: the progress of each run by seconds, epochs and oracle calls.

Each row of panels shows one quantity, each column one way of counting effort. A run has its colour, marker and line
everywhere, and one legend beside the panels names them all. Dashes tell runs apart, so duals are not drawn: a single
dotted line is the best bound that any run has proven.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

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
from widemargin.report.verdict import THRESHOLDS

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


def plotted(rows: Sequence[Row]) -> list[Plot]:
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


def drawn(rows: Sequence[Row]) -> bytes:
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
