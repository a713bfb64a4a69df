"""Which weights a run returns: the last ones, or those that score best on development data; never worse than zero.

While a dual method has a gap above `EARLY`, its weights jump from epoch to epoch, and a good score is mere luck. During
that time their average is scored instead, w̄ ← w̄ + 2 / (t + 1) · (w − w̄), t = 1, 2, … (Lacoste-Julien et al. 2013).
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.stop import Score

if TYPE_CHECKING:
    from widemargin.core.problem import Trainable

EARLY = 0.2
SHORTER = [2.0**-k for k in range(1, 7)]  # scales to try on weights that are worse than zero
SLIGHTLY = 1e-9  # how much worse than zero, relatively, weights may be


class Best(NamedTuple):
    """The weights that scored best so far, and the epoch that they come from."""

    score: float
    epoch: int
    w: FloatVector


class Keeper:
    """Keeps the best weights so far; `waited` counts epochs in a row without a better score, except early ones."""

    def __init__(self, score: Score | None = None) -> None:
        self.score = score
        self.best: Best | None = None
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
            self.best = Best(score, epoch, w.copy())
        return score

    def choice(self, w: FloatVector, epoch: int) -> tuple[FloatVector, int]:
        """The weights to return and their epoch: the best, or else `w`, those after the last epoch."""
        return (w, epoch) if self.best is None else (self.best.w, self.best.epoch)


def shorten(problem: "Trainable", w: FloatVector, primal: float) -> tuple[FloatVector, float]:
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
