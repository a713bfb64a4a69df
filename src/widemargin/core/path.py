"""The regularisation path: one problem with several C, each solved from where the one before has ended.

With C in ascending order the solution moves little from point to point. A dual solver goes on from the cuts it has met,
which are valid whatever C is, with their α scaled to the new C (`solvers.dual`); a primal one from the weights.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.core.loop import fit
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError


def fit_path(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[Solution]:
    """Solve `problem` for every one of the `C`, whose own C does not matter; each point has its own certificate.

    Ctrl-C ends the path: points that were not reached by then are missing, which are those of the largest C.

    Parameters
    ----------
    problem, solver : what to minimise, and how
    C : trade-offs in any order
    options : of `fit`, for every point; `w` or `cuts` to start the first one from. A checkpoint is of one point only.

    Returns
    -------
    The solutions in the order of `C`. Only the one with the largest C keeps its `cuts`, which may take much memory.
    """
    return [solution for _, solution in path_points(problem, solver, C, **options)]


def path_points(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[tuple[float, Solution]]:
    """As `fit_path`, each solution with its C: Ctrl-C may have left some out."""
    if not len(C):
        raise WidemarginError("a path needs at least one C")
    if options.get("checkpoint") is not None:
        raise WidemarginError("a checkpoint holds one run, not a path; fit one C at a time to have checkpoints")
    points = [replace(problem, C=float(each)) for each in C]  # all of them first: a bad C is found before any training
    found: dict[int, Solution] = {}
    last: int | None = None
    for k in np.argsort([point.C for point in points], kind="stable").tolist():
        if last is not None:
            before = found[last]
            options |= {"w": before.w if before.cuts is None else None, "cuts": before.cuts}
        found[k] = fit(points[k], solver, **options)
        if last is not None:
            found[last] = replace(found[last], cuts=None)
        last = k
        if found[k].stopped == "interrupted":
            break
    return [(points[k].C, found[k]) for k in sorted(found)]
