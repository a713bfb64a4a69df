"""The certificate of a run: P at some weights by a full pass, and the best lower bound that evidence has proven.

What a solver says about its own dual decides when it is worth looking; it is never part of a proof. The bound comes
from the evidence in the α of the solver's cuts (`core.evidence`), or else from the tangents that the pass itself finds.
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solution import proven_gap
from widemargin.core.solver import Solver


class Certificate(NamedTuple):
    """P by a full pass, the bound, the gap that they prove, and why they prove nothing; each None if there is none."""

    primal: float
    dual: float | None
    gap: float | None
    doubt: str | None


class Certifier:
    """Proves how far weights are from the optimum.

    `bound` is the best lower bound so far; `slacks` are those that the last full pass has found, and `at` is where.
    """

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self.problem, self.solver = problem, solver
        self.bound = -np.inf
        self.slacks = np.zeros(problem.n_blocks)
        self.at: FloatVector | None = None

    def look(self, state: Any) -> float | None:
        """The best bound so far, with what the cuts of this state prove; None if that takes a full pass."""
        evidence = self.solver.evidence(self.problem, state) if self.problem.convex else None
        if evidence is None:
            return None
        self.bound = max(self.bound, self.problem.bound(evidence))
        return self.bound

    def certify(self, w: FloatVector, state: Any) -> Certificate:
        """The certificate of `w`, by a full pass of the oracle there."""
        self.at, bound = None, self.look(state)
        if bound is not None or not self.problem.convex:
            primal = self.problem.primal(w, self.slacks)
        else:
            primal, own = self.problem.bounds(w, self.slacks)
            bound = self.bound = max(self.bound, own)
        self.at = w  # not a copy, which may be large: whoever changes w forgets it before
        gap, doubt = proven_gap(primal, bound)
        if self.problem.misjudged:
            gap, doubt = None, self.problem.misjudged
        return Certificate(primal, bound, gap, doubt)

    def slacks_at(self, w: FloatVector) -> FloatVector | None:
        """The exact slacks at `w`, if that is where the last full pass was made."""
        return self.slacks.copy() if self.at is not None and np.array_equal(w, self.at) else None
