"""The certificate of a run: P at some weights by a full pass, and the best lower bound that evidence has proven.

What a solver says about its own dual decides when it is worth looking; it is never part of a proof. The bound comes
from the evidence in the α of the solver's cuts (`core.evidence`), or else from the tangents that the pass itself finds.
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.problem import Trainable
from widemargin.core.solution import Epoch, proven_gap, relative_gap
from widemargin.core.solver import Solver

EMPTY = 0.999  # a relative gap above which, rounded up, "proven to be within 100 %" is all there is to say


class Certificate(NamedTuple):
    """P and a bound, the gap between them, why they prove nothing, and whether a pass of an exact oracle found P.

    Whatever is not known is None.
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
        """The certificate of other weights, where P is known, too."""
        return self._replace(primal=primal, gap=None if self.doubt else relative_gap(primal, self.dual))

    def or_doubt(self) -> "Certificate":
        """The same, unless its bound is so low that nothing is proven to speak of."""
        if not self.exact or self.gap is None or self.gap <= EMPTY:
            return self
        doubt = f"the best lower bound so far is {self.dual:.3g}, which says next to nothing"
        return self._replace(gap=None, doubt=doubt)


class Certifier:
    """Proves how far weights are from the optimum.

    `bound` is the best lower bound so far; `slacks` are those that the last full pass has found, and `place` is where.
    """

    def __init__(self, problem: Trainable, solver: Solver) -> None:
        self.problem, self.solver = problem, solver
        self.bound = -np.inf
        self.slacks = np.zeros(problem.n_blocks)
        self.place: FloatVector | None = None

    def look(self, state: Any) -> float | None:
        """The best bound so far, with what the cuts of this state prove; None if that takes a full pass."""
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
        self.place = w  # not a copy, which may be large: whoever changes w forgets it before
        gap, doubt = proven_gap(primal, bound)
        if self.problem.misjudgement:
            gap, doubt = None, self.problem.misjudgement
        return Certificate(primal, bound, gap, doubt, self.problem.exact)

    def slacks_at(self, w: FloatVector) -> FloatVector | None:
        """The exact slacks at `w`, if that is where the last full pass was made."""
        return self.slacks.copy() if self.place is not None and np.array_equal(w, self.place) else None
