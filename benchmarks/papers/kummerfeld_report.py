"""Figure 1 and Table 1 of Kummerfeld et al. (2015), and what holds of their five observations."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from drawing import Panel, panels
from experiment import Block, Claim, Measured, Picture, Section, Table
from kummerfeld_methods import BATCHES, METHODS, Epoch
from kummerfeld_panels import PANELS

DUAL, PRIMAL = ("cutting-plane", "online-cutting-plane"), ("adagrad-l1", "adagrad-l2")
MARGIN = (*DUAL, *PRIMAL)
BATCHED = "adagrad-l2-10"
REAL = ("neural", "summarisation")
"""The panels with real-valued features."""
NEARLY = 0.99
"""A method has learnt when it has reached this share of its own best score."""
SAME, LITTLE = 0.001, 0.01
"""Scores that differ by so much tie, and that differ by so much are about as good."""
HEAD = ("method", *(about.title for about in PANELS.values()))
GRIDS: list[tuple[Any, ...]] = [
    ("averaged perceptron", "`perceptron(batch_size=1)`", None),
    ("MIRA, averaged", "`mira(batch_size=1)`", "C = C₀/10, C₀, ∞"),
    ("cutting plane", "`n-slack`, hinge", "C = C₀/10, C₀, 10 C₀"),
    ("online cutting plane", "`ocp(batch_size=1)`, hinge", "the same"),
    ("online primal subgradient, L1", "`adagrad(batch_size=1)`, hinge", "C = 10 C₀, 100 C₀; η = 0.1, 0.3"),
    ("online primal subgradient, L2", "the same", "C = C₀, 10 C₀, 100 C₀; η = 0.1, 0.3"),
    ("likelihood", "`adagrad(batch_size=1)`, softmax-margin", "C = 10 C₀, 100 C₀; η = 0.1, 0.3"),
]
PAPER_TIMES: list[tuple[Any, ...]] = [
    ("averaged perceptron", 1.0, 1.0, 1.0, None, 1.0, 1.0, 1.0),
    ("MIRA", 1.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ("cutting plane", 60.8, 2.7, None, None, 6.8, 8.4, 0.6),
    ("online cutting plane", 2.7, 1.7, 0.9, 0.9, 1.5, 1.6, 1.1),
    ("online primal subgradient", 3.9, 1.3, 1.1, 1.0, 1.8, 2.0, 0.9),
    ("share of decoding", "60%", "20%", "90%", "70%", "70%", "60%", "70%"),
]


class Run(NamedTuple):
    """A run with one setting."""

    setting: str
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

    def stored(self) -> dict[str, Any]:
        """The run as JSON can hold it."""
        return {"setting": self.setting, "epochs": [list(epoch) for epoch in self.epochs]}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Run":
        """A run that was stored."""
        return cls(found["setting"], [Epoch(*row) for row in found["epochs"]])


Chosen = dict[str, dict[str, Run]]


def name_of(panel: str, method: str) -> str:
    """The name of an experiment."""
    return f"{panel}-{method}"


def chosen(found: Measured) -> Chosen:
    """For each panel and method the run with the setting that is best after tuning."""
    runs: Chosen = {panel: {} for panel in PANELS}
    for panel, about in PANELS.items():
        for method in about.methods:
            measured = found[name_of(panel, method)]
            runs[panel][method] = Run.of(measured["tuned"][measured["best"]])
            if measured["batched"]:
                runs[panel][BATCHED] = Run.of(measured["batched"])
    return runs


def methods(_: Measured) -> Iterator[Block]:
    """Methods and grids."""
    yield (
        "C₀ is 0.1 for named entities, 1 for summaries and 0.01 elsewhere. C weighs the losses, as everywhere in this "
        "library; the paper's C weighs the penalty. The setting with the best development score within five epochs "
        "goes on."
    )
    yield Table(("method", "solver", "grid"), GRIDS)
    yield (
        "Coreference hides the antecedents. Perceptron, MIRA and AdaGrad fill them in at every visit, cutting planes "
        "after every epoch, with their cuts rebased. The likelihood sums over them. Summaries have no likelihood: it "
        "would sum over all of them. The neural parser is not linear, so it has neither MIRA nor cutting planes. As "
        "in the paper's note 3, its perceptron is a gradient step for each mistake. Margin and likelihood take "
        "AdaGrad, too; the rate is 0.01 or 0.03. AdaGrad with L2 is also run in batches of 10, with the setting that "
        "is best for batches of 1 (observation 5)."
    )


def figure(found: Measured) -> Iterator[Block]:
    """Figure 1: development scores after every epoch, and the best of them."""
    runs = chosen(found)
    yield Picture(
        "figure-1", panels([drawn(panel, runs[panel]) for panel in PANELS]), "Development scores after every epoch"
    )
    yield "The first epochs of some cutting planes are far below all else; they leave the panel."
    rows = []
    for name, method in METHODS.items():
        cells = [runs[panel].get(name) for panel in PANELS]
        settings = [len(PANELS[panel].settings(name)) > 1 for panel in PANELS]
        shown = (
            run and f"{100 * run.best:.1f}{f' ({run.setting})' if many else ''}"
            for run, many in zip(cells, settings, strict=True)
        )
        rows.append((method.title, *shown))
    yield Table(HEAD, rows, "The best development score in per cent, and the setting that tuning chose")


def drawn(panel: str, runs: Mapping[str, Run]) -> Panel:
    """A panel with its curves, from the height at which they can be told apart."""
    shown = {name: run for name, run in runs.items() if name in METHODS}
    ends = sorted(100 * run.epochs[-1].score for run in shown.values())
    highest = max(100 * run.best for run in shown.values())
    lowest = max(ends[0], highest - max(3 * (highest - ends[len(ends) // 2]), 6.0))
    room = max(0.12 * (highest - lowest), 0.2)
    return Panel(
        PANELS[panel].title,
        "epochs",
        f"{PANELS[panel].score}, %",
        {
            METHODS[name].title: [(k, 100 * epoch.score) for k, epoch in enumerate(run.epochs, 1)]
            for name, run in shown.items()
        },
        low=max(lowest - 3 * room, 0.0),
        high=highest + room,
    )


def times(found: Measured) -> Iterator[Block]:
    """Table 1: the time of an epoch and the share of decoding in it."""
    runs = chosen(found)
    yield Table(HEAD, PAPER_TIMES, "The paper's: time of an epoch relative to the averaged perceptron (or MIRA)")
    rows: list[tuple[Any, ...]] = []
    for name in (*METHODS, BATCHED):
        cells = []
        for methods in runs.values():
            run, base = methods.get(name), methods["perceptron"]
            cells.append(run and f"{run.seconds / max(base.seconds, 1e-9):.1f} · {run.decoding:.0%}")
        rows.append(((BATCHES if name == BATCHED else METHODS[name]).title, *cells))
    rows.append(("an epoch of the perceptron, s", *(methods["perceptron"].seconds for methods in runs.values())))
    yield Table(HEAD, rows, "Here: the same, and the share of decoding in it")
    both = {panel: methods for panel, methods in runs.items() if {*DUAL, *PRIMAL} <= methods.keys()}
    ratios = {
        panel: methods["online-cutting-plane"].seconds / max(methods["adagrad-l2"].seconds, 1e-9)
        for panel, methods in both.items()
    }
    yield almost_all(
        "The online cutting plane takes less time an epoch than the online primal subgradient.",
        [ratio < 1 for ratio in ratios.values()],
        f"Its time as a multiple of the other's, with L2: {listed(ratios, '.2f')}.",
    )


def observations(found: Measured) -> Iterator[Block]:
    """The five observations of §4."""
    runs = chosen(found)
    linear = {panel: methods for panel, methods in runs.items() if methods.keys() >= {*MARGIN}}
    margin = {panel: max(methods[name].best for name in MARGIN if name in methods) for panel, methods in runs.items()}
    ahead = {
        panel: margin[panel] - max(run.best for name, run in methods.items() if name not in (*MARGIN, BATCHED))
        for panel, methods in runs.items()
    }
    yield almost_all(
        "1. Margin methods generally perform best: they equal or surpass likelihood and perceptron.",
        [gain >= -SAME for gain in ahead.values()],
        f"The best margin method is ahead of the best other one by {points(ahead)}; {100 * SAME:g} is a tie.",
    )
    slower = {
        panel: mean(methods[name].learnt_after for name in DUAL) - mean(methods[name].learnt_after for name in PRIMAL)
        for panel, methods in linear.items()
    }
    yield almost_all(
        "2. Dual cutting plane methods learn more slowly.",
        [more > 0 for more in slower.values()],
        f"Epochs more than the primal methods need to {NEARLY:.0%} of their own best score: {listed(slower, '+.1f')}.",
    )
    behind = {panel: margin[panel] - methods["perceptron"].best for panel, methods in runs.items()}
    sparse = [gain for panel, gain in behind.items() if panel not in REAL]
    yield Claim(
        "3. Learning with real-valued features is difficult for perceptron methods.",
        min(behind[panel] for panel in REAL) > max(sparse),
        f"The averaged perceptron is behind the best margin method by {points(behind)}. Rule: by more on "
        f"{' and '.join(REAL)}, whose features are real-valued, than on any other.",
    )
    dual, primal = (spread(found, linear, names) for names in (DUAL, PRIMAL))
    yield Claim(
        "4. The online primal subgradient is robust: its scores depend less on the setting.",
        primal < dual,
        f"Best minus worst score over the grid, mean of panels, is {100 * primal:.1f} points for the primal methods "
        f"and {100 * dual:.1f} for cutting planes. Rule: less for the primal ones.",
    )
    changes = {panel: methods[BATCHED].best - methods["adagrad-l2"].best for panel, methods in linear.items()}
    yield Claim(
        "5. The batch size does not change the scores much.",
        all(abs(change) <= LITTLE for change in changes.values()),
        f"Batches of 10 change the score of the subgradient by {points(changes)}. Rule: by at most "
        f"{100 * LITTLE:g} point on every panel.",
    )
    shares = {
        panel: methods[BATCHED].seconds / max(methods["adagrad-l2"].seconds, 1e-9) for panel, methods in linear.items()
    }
    yield almost_all(
        "5. Larger batches make the subgradient faster: there are fewer updates.",
        [share < 1 for share in shares.values()],
        f"An epoch in batches of 10, as a share of one in batches of 1: {listed(shares, '.2f')}.",
    )


def almost_all(says: str, held: Sequence[bool], because: str) -> Claim:
    """A claim that holds if it holds on all panels but at most one; the paper itself names an exception."""
    rule = f"Rule: on all panels but at most one; it is {sum(held)} of {len(held)}."
    return Claim(says, sum(held) >= len(held) - 1, f"{because} {rule}")


def listed(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{panel} {value:{form}}" for panel, value in values.items())


def points(gains: Mapping[str, float]) -> str:
    return listed({panel: 100 * gain for panel, gain in gains.items()}, "+.1f") + " points"


def spread(found: Measured, shown: Chosen, methods: Sequence[str]) -> float:
    """Best minus worst score over the settings of a method, on average."""
    spreads = []
    for panel in shown:
        for method in methods:
            measured = found[name_of(panel, method)]
            scores = [Run.of(run).tuned(measured["n_tuning"]) for run in measured["tuned"]]
            spreads.append(max(scores) - min(scores))
    return mean(spreads)


NEEDS = tuple(name_of(panel, method) for panel, about in PANELS.items() for method in about.methods)
SECTIONS = (
    Section("Methods and grids", (), methods),
    Section("Figure 1: development scores", NEEDS, figure),
    Section("Table 1: time of an epoch", NEEDS, times),
    Section("The five observations", NEEDS, observations),
)
