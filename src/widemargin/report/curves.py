"""Training traces as a picture: how the objective fell, how far it can still be from the optimum, and the dev score.

The primal objective is an upper bound on the optimum and the dual a lower one, so the optimum lies in the shaded band
between the two. A trace has one colour and one marker in every panel; filled markers are certified values and hollow
ones estimates. The colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from math import isfinite, nan
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from widemargin.core.atomic import replacing
from widemargin.core.solution import Epoch
from widemargin.errors import UnsupportedError, WidemarginError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P")  # not as many as colours, so that together they tell 42 traces apart
Line: TypeAlias = Literal["-", "--", ":"]
LINES: tuple[Line, ...] = ("-", "--", ":")  # the next one when all colours are used up
AGAINST = {"seconds": "training time in seconds", "epoch": "epochs", "oracle_calls": "oracle calls"}
PANEL_INCHES = (4.6, 4.0)
MOST_MARKERS = 10  # on one curve; more would hide it
TALLEST = 3.0  # the objective's axis ends at this multiple of the worst run's best value: early epochs run off its top
LOGARITHMIC = 20.0  # the axis of time is logarithmic when the longest run takes this many times the shortest


class Curve(NamedTuple):
    """One trace and its looks."""

    name: str
    trace: Sequence[Epoch]
    colour: str
    marker: str
    line: Line = "-"


class CurvePoint(NamedTuple):
    """A value at some moment of a run; moments count seconds, epochs or oracle calls."""

    at: float
    value: float
    certified: bool


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def check_can_draw() -> None:
    """Raise an error unless matplotlib is installed."""
    if not can_draw():
        raise UnsupportedError("drawing needs matplotlib; install widemargin[plots]")


def plot_curves(traces: Mapping[str, Sequence[Epoch]], path: str | PathLike[str], *, title: str = "") -> None:
    """Draw training traces, each with its name, into a PNG file at `path`.

    One panel shows the objective against time, one the relative gap and one the score on the development data. Panels
    without any value are left out.
    """
    check_can_draw()
    # matplotlib takes longer to import than a small training run takes, and most runs draw nothing.
    from matplotlib.figure import Figure

    curves = [curve._replace(line="-") for curve in distinct(traces)]  # dashes mean the dual here
    panels: dict[str, Callable[[Axes, Sequence[Curve]], None]] = {"primal": _objective, "gap": _gap, "score": _score}
    drawn = [panel for quantity, panel in panels.items() if any(points(curve, quantity) for curve in curves)]
    if not drawn:
        raise WidemarginError("there is nothing to plot: no epoch of any trace has an objective, a gap or a score")

    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(drawn), height), dpi=150, layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        panel(axes, curves)
        horizontal_axis(axes, curves)
        frame(axes)
    figure.suptitle(title)
    figure.legend(handles=names(curves), loc="outside lower center", ncols=2 * len(drawn), frameon=False)
    with replacing(path, "wb") as file:
        figure.savefig(file, format="png")


def distinct(traces: Mapping[str, Sequence[Epoch]]) -> list[Curve]:
    """Curves with distinct combinations of colour, marker and line."""
    return [
        Curve(
            name,
            trace,
            COLOURS[number % len(COLOURS)],
            MARKERS[number % len(MARKERS)],
            LINES[number // len(COLOURS) % len(LINES)],
        )
        for number, (name, trace) in enumerate(traces.items())
    ]


def names(curves: Sequence[Curve]) -> "list[Line2D]":
    """The entries of a legend."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=curve.colour, marker=curve.marker, linestyle=curve.line, label=curve.name)
        for curve in curves
    ]


def frame(axes: "Axes") -> None:
    """A light grid, and no box around it."""
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def points(curve: Curve, quantity: str, against: str = "seconds") -> list[CurvePoint]:
    """The known values of a field of the trace, without gaps of zero or less, which a logarithmic axis cannot show."""
    values = [(epoch, getattr(epoch, quantity)) for epoch in curve.trace]
    return [
        CurvePoint(getattr(epoch, against), value, epoch.certified)
        for epoch, value in values
        if value is not None and isfinite(value) and (quantity != "gap" or value > 0)
    ]


def draw(axes: "Axes", curve: Curve, points: Sequence[CurvePoint]) -> None:
    """A line with markers, filled where certified."""
    axes.plot([point.at for point in points], [point.value for point in points], curve.line, color=curve.colour)
    for certified, face in ((False, "white"), (True, curve.colour)):
        marked = [point for point in points if point.certified == certified]
        # Counted from the end, so that the last value has a marker.
        marked = marked[:: -(1 + len(marked) // MOST_MARKERS)]
        axes.plot(
            [point.at for point in marked],
            [point.value for point in marked],
            linestyle="none",
            marker=curve.marker,
            markersize=5,
            color=curve.colour,
            markerfacecolor=face,
        )


def heading(axes: "Axes", title: str, explanation: str) -> None:
    """Write the title of a panel, and below it how to read the panel."""
    axes.set_title(title, loc="left", fontweight="bold", pad=20)
    below = axes.text(0, 1.025, explanation, transform=axes.transAxes, color="0.35", fontsize="small")
    below.set_in_layout(False)  # it may be wider than its panel


def _objective(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Primal and dual objective with the band between them."""
    best = 0.0
    explanation = "solid line: primal"
    for curve in curves:
        primal, dual = points(curve, "primal"), points(curve, "dual")
        draw(axes, curve, primal)
        best = max(best, min((point.value for point in primal), default=best))
        if dual:
            seconds, bound = [point.at for point in dual], [point.value for point in dual]
            axes.plot(seconds, bound, color=curve.colour, linestyle="--", marker="_", markevery=[-1])
            above = {point.at: point.value for point in primal}
            band = [above.get(moment, nan) for moment in seconds]
            axes.fill_between(seconds, bound, band, color=curve.colour, alpha=0.16 / len(curves), linewidth=0)
            explanation = "solid: primal, dashed: dual, the optimum between"
    bottom, top = axes.get_ylim()
    # The objective is never negative, so a bound below zero says nothing.
    axes.set_ylim(max(bottom, 0.0), min(top, TALLEST * best) if best > 0 else top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.set_ylabel("regularised training loss")
    heading(axes, "Objective", explanation)


def _gap(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Relative gap of each trace by itself."""
    values = []
    for curve in curves:
        known = points(curve, "gap")
        draw(axes, curve, known)
        values += [point.value for point in known]
    gap_axis(axes, values)
    axes.set_ylabel("(primal − dual) / primal")
    heading(axes, "Relative gap to the optimum", "filled markers: certified, hollow: estimated")


def gap_axis(axes: "Axes", values: Sequence[float]) -> None:
    """A logarithmic axis in per cent, with room for the `values`."""
    from matplotlib.ticker import LogLocator, NullFormatter

    lowest, highest = min(values) / 2, max(values) * 2
    axes.set_yscale("log")
    axes.set_ylim(lowest, highest)
    if highest < 1000 * lowest:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _score(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Score on the development data."""
    for curve in curves:
        draw(axes, curve, [point._replace(certified=True) for point in points(curve, "score")])
    axes.set_ylabel("score")
    heading(axes, "Score on development data", "higher is better")


def horizontal_axis(axes: "Axes", curves: Sequence[Curve], against: str = "seconds") -> None:
    """The axis of effort; logarithmic if short runs would vanish beside long ones."""
    ends = [getattr(curve.trace[-1], against) for curve in curves if curve.trace]
    if max(ends) > LOGARITHMIC * min(ends) > 0:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value >= 10_000 else f"{value:,.6g}")
    axes.set_xlabel(AGAINST[against])


LARGEST = 400.0  # the area of a point that stands for all predictions, in square points
INCHES = (4.6, 4.6)


def plot_reliability(report: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Draw a panel for labels, and one for spans if the report has them, into a PNG file at `path`.

    `report` has for each of them an object with `n`, `after` and `bins` (`tasks.calibration.Reliability`).
    """
    check_can_draw()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(INCHES[0] * len(report), INCHES[1]), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(report), squeeze=False)[0]
    for axes, (kind, found), colour in zip(panels, report.items(), COLOURS, strict=False):
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        x, y = [each.confidence for each in found.bins], [each.right for each in found.bins]
        axes.plot(x, y, color=colour, linewidth=1)
        sizes = [max(LARGEST * each.n / found.n, 12.0) for each in found.bins]
        axes.scatter(x, y, s=sizes, color=colour, alpha=0.8, linewidths=0, zorder=3, clip_on=False)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="confidence", ylabel="share that is right")
        axes.set_title(f"{found.n:,} {kind}: expected calibration error {found.after:.3f}", fontsize=10)
        axes.set_aspect("equal")
        frame(axes)
    with replacing(path, "wb") as file:
        figure.savefig(file, format="png")
