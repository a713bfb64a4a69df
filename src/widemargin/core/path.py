"""The regularisation path: one problem for several C, each run starting where the previous one ended.

With C in ascending order the solution moves little from point to point. A dual solver starts from the cuts of the
previous point, which are valid for every C, with their α scaled to the new C (`solvers.dual`). A primal solver starts
from the previous weights.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.core.loop import fit, name_run
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError


def fit_path(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[Solution]:
    """Solve `problem` for every value in `C` instead of its own; each solution has its own certificate.

    Ctrl-C ends the path: the points not reached by then, those with the largest C, are missing.

    Parameters
    ----------
    problem, solver : what to minimise, and how
    C : trade-offs in any order
    options : those of `fit`, except checkpoints; they apply to every point, `w` and `cuts` only to the first

    Returns
    -------
    The solutions in the order of `C`. Only the one with the largest C keeps its `cuts`, which may take much memory.
    """
    return [solution for _, solution in path_points(problem, solver, C, **options)]


def path_points(problem: Problem, solver: Solver, C: Sequence[float], **options: Any) -> list[tuple[float, Solution]]:
    """Like `fit_path`, but with the C of each solution, since Ctrl-C may leave some out."""
    if not len(C):
        raise WidemarginError("a path needs at least one C")
    if options.get("checkpoint") is not None:
        raise WidemarginError("a checkpoint holds one run, not a path; fit one C at a time to have checkpoints")
    points = [replace(problem, C=float(each)) for each in C]  # before any training, so that a bad C is found at once
    found: dict[int, Solution] = {}
    last: int | None = None
    for k in np.argsort([point.C for point in points], kind="stable").tolist():
        if last is not None:
            before = found[last]
            options |= {"w": before.w if before.cuts is None else None, "cuts": before.cuts}
        name_run(f"C {points[k].C:g}", options.get("callbacks", ()))
        try:
            found[k] = fit(points[k], solver, **options)
        except KeyboardInterrupt:
            if not found:
                raise
            break  # nothing was learnt for this C; the points before are worth keeping
        if last is not None:
            found[last] = replace(found[last], cuts=None)
        last = k
        if found[k].stopped == "interrupted":
            break
    return [(points[k].C, found[k]) for k in sorted(found)]
