"""The certificate of a run, P and the best lower bound that evidence has proven, and the weights that it is about.

A solver's own estimate of its dual only decides when a full pass is worthwhile; it is never part of a proof. The bound
comes from the evidence in the α of the solver's cuts (`core.evidence`), or else from the tangents that the pass finds.

A run returns its last weights, or those that score best on development data; never worse ones than zero. While a dual
method has a gap above `EARLY`, its weights jump from epoch to epoch, and a good score is mere luck. During that time
their average is scored instead, w̄ ← w̄ + 2 / (t + 1) · (w − w̄), t = 1, 2, … (Lacoste-Julien et al. 2013).
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.problem import Trainable
from widemargin.core.solution import Epoch, proven_gap, relative_gap
from widemargin.core.solver import Solver
from widemargin.core.stop import Score

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


EARLY = 0.2
SHORTER = [2.0**-k for k in range(1, 7)]  # scales to try on weights that are worse than zero
SLIGHTLY = 1e-9  # how much worse than zero, relatively, weights may be


class BestWeights(NamedTuple):
    """The weights that scored best so far, and the epoch that they come from."""

    score: float
    epoch: int
    w: FloatVector


class Keeper:
    """Keeps the best weights so far; `waited` counts epochs in a row without a better score, except early ones."""

    def __init__(self, score: Score | None = None) -> None:
        self.score = score
        self.best: BestWeights | None = None
        self.average: FloatVector | None = None
        self.waited = 0

    def look(self, w: FloatVector, epoch: int, gap: float | None, *, has_dual: bool) -> float | None:
        """The score of `w` or, early on, of the average, after an epoch; None without development data."""
        if self.score is None:
            return None
        early = has_dual and gap is not None and gap > EARLY
        if has_dual:
            if self.average is None:
                self.average = w.copy()
            self.average += 2.0 / (epoch + 1.0) * (w - self.average)
            w = self.average if early else w
        score, so_far = float(self.score(w)), -np.inf if self.best is None else self.best.score
        self.waited = 0 if early or score > so_far else self.waited + 1
        if score >= so_far:  # of equal scores the last, since its weights are nearest to the optimum
            self.best = BestWeights(score, epoch, w.copy())
        return score

    def choice(self, w: FloatVector, epoch: int) -> tuple[FloatVector, int]:
        """The weights to return and their epoch: the best, or else `w`, those after the last epoch."""
        return (w, epoch) if self.best is None else (self.best.w, self.best.epoch)


def no_worse_than_zero(
    problem: Trainable, w: FloatVector, found: Certificate, *, missed: bool
) -> tuple[FloatVector, Certificate]:
    """`w`, or shorter weights if P(w) may exceed P(0), with their certificate; `missed` says that its gap is large."""
    if not found.exact or found.primal is None:
        return w, found
    # Where cuts bound P(0) from below, most weights are known to be better without another pass.
    at_zero = problem.least_at_zero()
    if not (missed if at_zero is None else found.primal > at_zero):
        return w, found
    w, primal = shorten(problem, w, found.primal)
    return w, found.at(primal)


def shorten(problem: Trainable, w: FloatVector, primal: float) -> tuple[FloatVector, float]:
    """`w` and P(w), or a shorter tw and P(tw) if P(w) > P(0); tw makes the same predictions.

    The w of a dual method may be far too long on the way. P is convex, so P(tw) ≤ P(0) + t(P(w) − P(0)).
    """
    zero = problem.primal(np.zeros(len(w)))
    last = SLIGHTLY * zero / max(primal - zero, SLIGHTLY * zero)
    for scale in (1.0, *SHORTER, last):
        value = primal if scale == 1.0 else problem.primal(scale * w)
        if value <= zero * (1.0 + SLIGHTLY):
            return scale * w, value
    return w, primal
