"""Approximate slack scaling as printed (Sarawagi & Gupta 2008, §3): golden section over λ, given the slack ξ.

    F(λ) = max over y ≠ y_i of s(y) + λ L(y) − 2√(ξλ)                                              (Claims 3.1, 3.2)

is convex, and its least value bounds s(y) − ξ/L(y), the most violated constraint, from above. Every λ that the search
tries costs a decode of the two best outputs, of which one is not gold. Of all outputs met the one with the largest
s(y) − ξ/L(y) is returned. The search is within

    λ_l = ε / L_max,   λ_u = (s(y₁) − s(y_i) + 1 − ξ / L_max) / L_ε                                            (§3.1)

with y₁ the best output, L_max the largest error and L_ε the least difference between two errors. In code L is `errors`
and s(y) is taken relative to gold, s = −⟨w, ψ_i(y)⟩.

ξ is the slack that the solver's cuts so far leave to the example. `approximate_slack` finds the same outputs without ξ,
bounds or L_ε, and in fewer decodes. This objective is for comparisons with the paper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Differences, Examples, KBest
from widemargin.core.objective import Objective
from widemargin.core.sparse import dots, scaled
from widemargin.objectives.approximate_slack import Met, first_wrong, in_pieces

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class GoldenSlack(Objective):
    """Slack scaling over the outputs that golden section finds.

    Parameters
    ----------
    epsilon : ε, the tolerance of the solver; smaller λ than ε / L_max are not tried
    step : L_ε, the least difference between two errors; 1 where errors are counted
    decodes : how many λ are tried for an example, besides one decode each for y₁ and L_max
    """

    epsilon: float = 0.01
    step: float = 1.0
    decodes: int = 20

    exact: ClassVar[bool] = False
    times_error: ClassVar[bool] = True
    requires: ClassVar[tuple[type, ...]] = (KBest,)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of the worst output met for each example, with ξ = 0."""
        return self.cuts_beyond(np.zeros(examples.n_examples), examples, w, batch)

    def cuts_beyond(self, xi: FloatVector, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of the worst output met for each example, given the slacks ξ of all examples."""
        errors, psi = in_pieces(partial(self._search, xi), examples, w, batch)
        return Cuts(batch, errors, scaled(psi, errors))

    def _search(self, xi: FloatVector, examples: Any, w: FloatVector, batch: IntVector, scored: Any) -> Differences:
        """The worst output met for each example of the batch."""
        met, all_of_them, slack = Met(len(batch), -np.inf), np.arange(len(batch)), xi[batch]

        def upper_bound(scale: FloatVector) -> FloatVector:
            """F(λ) of every example, each at its own λ."""
            found = first_wrong(examples, scored, batch, scale)
            L, s = found.errors, -dots(found.psi, w)
            with np.errstate(divide="ignore", invalid="ignore"):
                # An output that does not violate ξ ≥ 0, or has no error, constrains nothing.
                met.add(all_of_them, found, np.where(L * (1.0 + s) > 0.0, s - slack / L, -np.inf))
            return s + scale * L - 2.0 * np.sqrt(slack * scale)

        largest = examples.difference(batch, examples.decode(np.zeros_like(w), batch, error_scale=1.0)).errors
        largest = np.where(largest > 0.0, largest, 1.0)
        best = -dots(examples.difference(batch, examples.decode(scored, batch)).psi, w)
        low = self.epsilon / largest
        high = np.maximum((best + 1.0 - slack / largest) / self.step, low)
        golden_section(upper_bound, low, high, self.decodes)
        return met.best()


def golden_section(
    F: Callable[[FloatVector], FloatVector], low: FloatVector, high: FloatVector, evaluations: int
) -> None:
    """Evaluate the convex F ever closer to its minimum between `low` and `high`, for many searches at once.

    Both ends are tried as well: some outputs are found only from λ_u on.
    """
    F(low)
    F(high)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = F(left), F(right)
    for _ in range(evaluations - 4):
        lower = at_left <= at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        new = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_new = F(new)
        left, right = np.where(lower, new, right), np.where(lower, left, new)
        at_left, at_right = np.where(lower, at_new, at_right), np.where(lower, at_left, at_new)
