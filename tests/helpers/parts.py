"""Problems split into parts, in this process, and data and settings for training on a cluster."""

from dataclasses import replace

import numpy as np

from widemargin.core.problem import Meter
from widemargin.data.generators import addresses
from widemargin.parts import part_of
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import LocalCarrier, Team

X, Y = addresses(60, seed=3)
SETTINGS = {"templates": ["word", "lower[-1]", "suffix2"], "n_jobs": 1, "tol": 0.01, "max_epochs": 60}


def own_problem(whole, k, n_parts):
    """Part k as all examples, with weight 0 for those of others."""
    weight = whole.example_weight.copy()
    weight[np.arange(len(weight)) % n_parts != k] = 0.0
    return replace(whole, sample_weight=weight, meter=Meter())


def parted(whole, solver, n_parts=3, journal=None, carrier=LocalCarrier):
    makers = [lambda k=k: part_of(own_problem(whole, k, n_parts), solver, k) for k in range(n_parts)]
    team = Team(carrier(makers), journal)
    team.start(lambda: None)
    return PartedProblem(team, whole.objective, whole.C, whole.loss, whole.penalty)
