"""Optimisation problems on the small structures, and the solvers to try on them.

A solver in `widemargin.solvers.SOLVERS` is tested as it is; variants worth testing are rows of `SOLVERS` here.
"""

from typing import Any

import numpy as np

from helpers.data import Small
from helpers.structures import STRUCTURES, VARIANTS
from widemargin import solvers
from widemargin.core.loop import Callback
from widemargin.core.problem import Problem
from widemargin.objectives import PositionWise, Slack
from widemargin.solvers import (
    MIRA,
    SGD,
    Auto,
    DualCoordinateDescent,
    FrankWolfe,
    OnlineCuttingPlane,
    Perceptron,
    SequentialDual,
)

PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {"C": 0.5}) for name in STRUCTURES if name not in VARIANTS},
    "weighted": ("chain", {"C": 1.0, "sample_weight": np.array([1.0, 0.0, 2.5, 0.5, 1.0, 1.0, 3.0, 1.0, 0.0])}),
    "weak": ("chain", {"C": 0.01}),
    "strong": ("chain, real-valued", {"C": 10.0}),
    "slack": ("chain", {"C": 0.5, "objective": Slack()}),
    "slack, costs": ("chain, costs", {"C": 0.5, "objective": Slack()}),
    "positions": ("chain", {"C": 0.5, "objective": PositionWise()}),
    "positions, weighted": (
        "chain, costs",
        {"C": 0.5, "objective": PositionWise(), "sample_weight": np.array([1.0, 0.0, 2.5, 0.5, 1.0, 1.0])},
    ),
    "segments, slack": ("segments", {"C": 0.5, "objective": Slack()}),
    "trees, positions": ("trees", {"C": 0.5, "objective": PositionWise()}),
    "segments, positions": ("segments", {"C": 0.5, "objective": PositionWise()}),
}
"""Optimisation problems by name: a structure and what `Problem` is given besides."""

SOLVERS = {
    **solvers.SOLVERS,
    "perceptron, one by one": Perceptron(batch_size=1),
    "mira, one by one": MIRA(batch_size=1),
    "mira, 5 best": MIRA(k=5, batch_size=3),
    "mira, hard margin": MIRA(C=np.inf, average=False, batch_size=1),
    "mira, 5 best by plain scores": MIRA(C=np.inf, k=5, plain=True, batch_size=1),
    "sgd, printed": SGD(average=False, printed=True, batch_size=1),
    "ocp, one pair": OnlineCuttingPlane(steps=1, batch_size=1),
    "sdm, one by one": SequentialDual(batch_size=1),
    "bcfw, one by one": FrankWolfe(batch_size=1),
    "auto, partial": Auto(period=2, share=0.5),
    "dcd, one by one": DualCoordinateDescent(batch_size=1),
    "dcd-light, one by one": DualCoordinateDescent(sweeps=0, batch_size=1),
    "dcd, pairs": DualCoordinateDescent(sweeps=1, batch_size=2),
}

SUBLINEAR = {"bcfw": 2e-2, "bcfw, one by one": 2e-2, "proximal": 1e-5}
"""The relative gap that solvers reach whose convergence is not linear; others reach any."""


class Exposed(Callback):
    """A solver whose state can be looked at while it trains; a callback as well."""

    def __init__(self, solver):
        self.solver, self.state = solver, None

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def start(self, training, w=None, cuts=None):
        self.state = self.solver.start(training, w, cuts)
        return self.state


def problem(name, **changes) -> tuple[Problem, Small]:
    """The problem `name` of the table, and its structure to enumerate."""
    structure, options = PROBLEMS[name]
    small = STRUCTURES[structure]()
    return Problem(small.examples, **options | changes), small


def taken_by(solver):
    """The loss and the penalty that a solver prefers."""
    return {"loss": solver.losses[0], "penalty": solver.penalties[0]}
