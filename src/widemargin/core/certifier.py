"""The certificate of a run: P at some weights by a full pass, and the best lower bound that evidence has proven.

A solver's own estimate of its dual only decides when a full pass is worthwhile; it is never part of a proof. The bound
comes from the evidence in the α of the solver's cuts (`core.evidence`), or else from the tangents that the pass finds.
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.problem import Trainable
from widemargin.core.solution import Epoch, proven_gap, relative_gap
from widemargin.core.solver import Solver

EMPTY = 0.999  # a larger relative gap would be printed as "proven to be within 100 %", which says nothing


class Certificate(NamedTuple):
    """P, a lower bound and the gap between them.

    `doubt` says why they prove nothing, and `exact` whether a pass of an exact oracle found P. Unknown values are None.
    """

    primal: float | None
    dual: float | None
    gap: float | None
    doubt: str | None = None
    exact: bool = False

    @classmethod
    def of_row(cls, row: Epoch) -> "Certificate":
        """The certificate in a row of a trace."""
        return cls(row.primal, row.dual, relative_gap(row.primal, row.dual), exact=row.certified)

    def at(self, primal: float) -> "Certificate":
        """The certificate of other weights whose P is `primal`; the bound is the same."""
        return self._replace(primal=primal, gap=None if self.doubt else relative_gap(primal, self.dual))

    def or_doubt(self) -> "Certificate":
        """The same certificate, or one with a doubt if its bound is too low to prove anything useful."""
        if not self.exact or self.gap is None or self.gap <= EMPTY:
            return self
        doubt = f"the best lower bound so far is {self.dual:.3g}, which says next to nothing"
        return self._replace(gap=None, doubt=doubt)


class Certifier:
    """Proves how far weights are from the optimum.

    `bound` is the best lower bound so far. `slacks` were found by the last full pass, at the weights `place`.
    """

    def __init__(self, problem: Trainable, solver: Solver) -> None:
        self.problem, self.solver = problem, solver
        self.bound = -np.inf
        self.slacks = np.zeros(problem.n_blocks)
        self.place: FloatVector | None = None

    def look(self, state: Any) -> float | None:
        """The best bound so far, including the one that this state's cuts prove; None if a bound takes a full pass."""
        evidence = self.solver.evidence(self.problem, state) if self.problem.convex else None
        if evidence is None:
            return None
        self.bound = max(self.bound, self.problem.bound(evidence))
        return self.bound

    def certify(self, w: FloatVector, state: Any) -> Certificate:
        """The certificate of `w`, by a full pass of the oracle there."""
        self.place, bound = None, self.look(state)
        if bound is not None or not self.problem.convex:
            primal = self.problem.primal(w, self.slacks)
        else:
            primal, own = self.problem.bounds(w, self.slacks)
            bound = self.bound = max(self.bound, own)
        self.place = w  # not a copy, which may be large: the loop sets `place` to None before w changes
        gap, doubt = proven_gap(primal, bound)
        if self.problem.misjudgement:
            gap, doubt = None, self.problem.misjudgement
        return Certificate(primal, bound, gap, doubt, self.problem.exact)

    def slacks_at(self, w: FloatVector) -> FloatVector | None:
        """The exact slacks at `w`, if that is where the last full pass was made."""
        return self.slacks.copy() if self.place is not None and np.array_equal(w, self.place) else None
