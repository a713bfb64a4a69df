"""The picture of `kummerfeld`, its table of times, and what holds of the paper's five observations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import matplotlib as mpl
from kummerfeld_panels import METHODS, PANELS, Epoch, Setting
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

COLOURS = {
    "perceptron": "#7f7f7f",
    "mira": "#e6a700",
    "cutting-plane": "#2ca02c",
    "online-cutting-plane": "#8fce6a",
    "adagrad-l1": "#d62728",
    "adagrad-l2": "#1f4fd8",
    "likelihood": "#9b3fc4",
}
DASHES = {"perceptron": ":", "mira": "--", "cutting-plane": "-.", "likelihood": (0, (4, 1.5))}
MARKERS = {"perceptron": "v", "mira": "^", "cutting-plane": "s", "online-cutting-plane": "D", "likelihood": "x"}
DUAL, PRIMAL = ("cutting-plane", "online-cutting-plane"), ("adagrad-l1", "adagrad-l2")
MARGIN = (*DUAL, *PRIMAL)
BATCHED = "adagrad-l2-10"
REAL = ("neural", "summarisation")
"""The panels with real-valued features."""
NEARLY = 0.99
"""A method has learnt when it has reached this share of its own best score."""
SAME = 0.001


class Run(NamedTuple):
    """A run of a method on a panel."""

    panel: str
    method: str
    setting: Setting
    epochs: list[Epoch]

    @property
    def best(self) -> float:
        """The best development score."""
        return self.tuned(len(self.epochs))

    def tuned(self, n: int) -> float:
        """The best score of the first `n` epochs."""
        return max(epoch.score for epoch in self.epochs[:n])

    @property
    def seconds(self) -> float:
        """Seconds an epoch."""
        return self.epochs[-1].seconds / len(self.epochs)

    @property
    def decoding(self) -> float:
        """The share of decoding."""
        return self.epochs[-1].decoding / max(self.epochs[-1].seconds, 1e-9)

    @property
    def learnt_after(self) -> int:
        """The first epoch with nearly the best score."""
        return next(k for k, epoch in enumerate(self.epochs, 1) if epoch.score >= NEARLY * self.best)


Chosen = dict[str, dict[str, Run]]


def best_of(runs: Sequence[Run], tuning: int) -> Chosen:
    """For each panel and method the run with the setting that is best after tuning."""
    found: Chosen = {}
    for run in runs:
        methods = found.setdefault(run.panel, {})
        if run.method not in methods or run.tuned(tuning) > methods[run.method].tuned(tuning):
            methods[run.method] = run
    return found


def report(out: Path, runs: Sequence[Run], tuning: int, scale: float) -> None:
    """Write figure.png and table1.md."""
    chosen = best_of(runs, tuning)
    draw(out / "figure.png", chosen)
    lines = [*times(chosen), "", *scores(chosen, scale), "", *observations(chosen, runs, tuning)]
    (out / "table1.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(path: Path, chosen: Chosen) -> None:
    """All panels, two in a row as in the paper, and the legend in the last place."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(4, 2, figsize=(8.6, 11), layout="constrained")
        for panel, place in zip(PANELS, axes.flat, strict=False):
            draw_panel(place, panel, chosen.get(panel, {}))
        legend(axes.flat[-1])
        figure.supxlabel("Epochs", fontsize=10)
        figure.savefig(path, dpi=110)
        plt.close(figure)


def draw_panel(place: Axes, panel: str, runs: dict[str, Run]) -> None:
    place.set_title(PANELS[panel].title, fontsize=10, fontweight="bold")
    place.set_ylabel(f"{PANELS[panel].score}, %")
    place.grid(alpha=0.25)
    shown = {name: run for name, run in runs.items() if name in COLOURS}
    if not shown:
        place.text(0.5, 0.5, "not run", ha="center", transform=place.transAxes)
        return
    for name, run in shown.items():
        values = [100 * epoch.score for epoch in run.epochs]
        style = {"color": COLOURS[name], "linestyle": DASHES.get(name, "-"), "marker": MARKERS.get(name, "o")}
        place.plot(range(1, len(values) + 1), values, linewidth=1.5, markersize=3.5, **style)
    # Early epochs of a cutting plane are far below all else; they leave the panel, so that the rest can be told apart.
    ends = [100 * run.epochs[-1].score for run in shown.values()]
    highest = max(100 * run.best for run in shown.values())
    lowest = max(min(ends), highest - max(3 * (highest - sorted(ends)[len(ends) // 2]), 6.0))
    room = max(0.12 * (highest - lowest), 0.2)
    place.set_ylim(max(lowest - 3 * room, 0.0), highest + room)
    place.set_xlim(0.5, max(len(run.epochs) for run in shown.values()) + 0.5)


def legend(place: Axes) -> None:
    """One legend, by kinds."""
    place.set_axis_off()
    handles = []
    for kind in ("margin", "mistake driven", "likelihood"):
        handles.append(Line2D([], [], linestyle="", label=kind.capitalize()))
        for name, method in METHODS.items():
            if method.kind == kind:
                style = {"linestyle": DASHES.get(name, "-"), "marker": MARKERS.get(name, "o")}
                handles.append(Line2D([], [], color=COLOURS[name], label=method.title, linewidth=1.5, **style))
    drawn = place.legend(handles=handles, loc="center left", frameon=False, fontsize=9.5, handlelength=3)
    titles = {method.title for method in METHODS.values()}
    for text in drawn.get_texts():
        text.set_fontweight("normal" if text.get_text() in titles else "bold")


def times(chosen: Chosen) -> Iterator[str]:
    """Table 1."""
    yield "Time of an epoch relative to the averaged perceptron, and the share of decoding in it:"
    yield ""
    yield "| method | " + " | ".join(PANELS[panel].title for panel in chosen) + " |"
    yield "| --- |" + " ---: |" * len(chosen)
    for name in (*METHODS, BATCHED):
        title = METHODS[name].title if name in METHODS else f"{METHODS['adagrad-l2'].title}, batches of 10"
        cells = []
        for runs in chosen.values():
            run, base = runs.get(name), runs.get("perceptron")
            relative = f"{run.seconds / max(base.seconds, 1e-9):.1f} · " if run and base else ""
            cells.append(f"{relative}{run.decoding:.0%}" if run else "–")
        yield f"| {title} | " + " | ".join(cells) + " |"
    seconds = (f"{runs['perceptron'].seconds:.2f} s" if "perceptron" in runs else "–" for runs in chosen.values())
    yield "| an epoch of the perceptron | " + " | ".join(seconds) + " |"


def scores(chosen: Chosen, scale: float) -> Iterator[str]:
    """The best development scores and the settings that were chosen."""
    yield f"Best development score in per cent, and the setting chosen after tuning (data at scale {scale:g}):"
    yield ""
    yield "| method | " + " | ".join(PANELS[panel].title for panel in chosen) + " |"
    yield "| --- |" + " --- |" * len(chosen)
    for name, method in METHODS.items():
        cells = []
        for panel, runs in chosen.items():
            run = runs.get(name)
            setting = ", ".join(f"{key} {value:g}" for key, value in run.setting.items()) if run else ""
            tuned = f" ({setting})" if len(PANELS[panel].settings(name)) > 1 else ""
            cells.append(f"{100 * run.best:.1f}{tuned}" if run else "–")
        yield f"| {method.title} | " + " | ".join(cells) + " |"


def observations(chosen: Chosen, runs: Sequence[Run], tuning: int) -> Iterator[str]:
    """The five observations, each with the numbers that it rests on."""
    yield "What holds here of the paper's observations:"
    yield ""
    ahead = {}
    for panel, methods in chosen.items():
        margin = [methods[name].best for name in MARGIN if name in methods]
        others = [run.best for name, run in methods.items() if name not in (*MARGIN, BATCHED)]
        if margin and others:
            ahead[panel] = max(margin) - max(others)
    yield (
        f"1. *Margin methods perform best.* {_count(gain >= -SAME for gain in ahead.values())}, if ties within "
        f"{100 * SAME:g} points count. The best of them ahead of the best other method: {_points(ahead)}."
    )
    slow = {
        panel: _mean(methods, DUAL, "learnt_after") - _mean(methods, PRIMAL, "learnt_after")
        for panel, methods in chosen.items()
        if _has(methods, DUAL) and _has(methods, PRIMAL)
    }
    yield (
        f"2. *Cutting planes learn more slowly.* {_count(value > 0 for value in slow.values())}. Epochs more than the "
        f"primal methods need to {NEARLY:.0%} of their own best score: "
        + ", ".join(f"{panel} {value:+.1f}" for panel, value in slow.items())
    )
    behind = {
        panel: max(methods[name].best for name in MARGIN if name in methods) - methods["perceptron"].best
        for panel, methods in chosen.items()
        if "perceptron" in methods and _has(methods, MARGIN)
    }
    yield f"3. *Real-valued features are hard for the perceptron.* Behind the best margin method: {_points(behind)}."
    yield f"   The features of {' and '.join(REAL)} are real-valued."
    spread = {kind: _spread(runs, names, tuning) for kind, names in (("dual", DUAL), ("primal", PRIMAL))}
    named = ", ".join(f"{kind} {value:.1f}" for kind, value in spread.items() if value is not None)
    yield f"4. *The primal subgradient is robust.* Best minus worst score over the grid, mean of panels: {named}."
    pairs = {
        panel: (methods[BATCHED], methods["adagrad-l2"])
        for panel, methods in chosen.items()
        if BATCHED in methods and "adagrad-l2" in methods
    }
    yield "5. *Batches of 10 do as well as single examples, and are faster.* " + ", ".join(
        f"{panel} {100 * (ten.best - one.best):+.1f} points in {ten.seconds / max(one.seconds, 1e-9):.2f} of the time"
        for panel, (ten, one) in pairs.items()
    )


def _count(held: Iterator[bool]) -> str:
    values = list(held)
    return f"Holds on {sum(values)} of {len(values)} panels"


def _points(gains: dict[str, float]) -> str:
    return ", ".join(f"{panel} {100 * gain:+.1f}" for panel, gain in gains.items()) + " points"


def _has(methods: dict[str, Run], names: Sequence[str]) -> bool:
    return any(name in methods for name in names)


def _mean(methods: dict[str, Run], names: Sequence[str], what: str) -> float:
    return mean(getattr(methods[name], what) for name in names if name in methods)


def _spread(runs: Sequence[Run], names: Sequence[str], tuning: int) -> float | None:
    """Best minus worst score over the settings of a method, on average."""
    spreads = []
    for panel in PANELS:
        for name in names:
            values = [run.tuned(tuning) for run in runs if (run.panel, run.method) == (panel, name)]
            if len(values) > 1:
                spreads.append(100 * (max(values) - min(values)))
    return mean(spreads) if spreads else None
