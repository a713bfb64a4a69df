"""Panels of curves side by side, as the papers print them: a name has the same colour everywhere, and one legend."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widemargin.report.curves import COLOURS, LINES, MARKERS

Curve = Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """Curves by their names, each a sequence of points; `low` and `high` limit what is shown of them."""

    title: str
    x: str
    y: str
    curves: Mapping[str, Curve]
    log_x: bool = False
    log_y: bool = False
    low: float | None = None
    high: float | None = None
    errors: Mapping[str, Sequence[float]] | None = None
    """One standard deviation, for each point of some curves."""


def panels(shown: Sequence[Panel], columns: int = 3) -> Figure:
    """The figure with all panels."""
    names = list(dict.fromkeys(name for panel in shown for name in panel.curves))
    looks = {
        name: {
            "color": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
            "linestyle": LINES[k // len(COLOURS) % len(LINES)],
            "markersize": 3.5,
            "linewidth": 1.4,
        }
        for k, name in enumerate(names)
    }
    columns = min(columns, len(shown))
    rows = ceil(len(shown) / columns)
    figure = Figure(figsize=(3.6 * columns, 2.9 * rows + 0.5), layout="constrained")
    places = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, axes in zip(shown, places, strict=False):
        for name, curve in panel.curves.items():
            xs, ys = zip(*curve, strict=True) if curve else ((), ())
            spread = None if panel.errors is None else panel.errors.get(name)
            axes.errorbar(xs, ys, yerr=spread, markevery=max(len(xs) // 10, 1), **looks[name])
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.x, fontsize=9)
        axes.set_ylabel(panel.y, fontsize=9)
        axes.set(xscale="log" if panel.log_x else "linear", yscale="log" if panel.log_y else "linear")
        axes.set_ylim(panel.low, panel.high)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    for axes in places[len(shown) :]:
        axes.set_axis_off()
    handles = [Line2D([], [], label=name, **look) for name, look in looks.items()]
    # Names side by side as far as there is room: a letter has about 0.07 inches, the sample before it 0.6.
    room = int(3.6 * columns / (0.6 + 0.07 * max(map(len, names), default=1)))
    figure.legend(handles=handles, loc="outside lower center", ncols=max(room, 1), frameon=False, fontsize=9)
    return figure
