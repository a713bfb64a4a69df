"""Slack scaling: ξ_i(w) = max_y Δ_i(y) (1 − ⟨w, ψ_i(y)⟩) (Tsochantaridis et al. 2005).

Every output should be at a distance of at least 1, and a shortfall is multiplied by the output's error: outputs that
are far enough away do not matter, however wrong they are. The cut of y is a = Δ_i(y) ψ_i(y), b = Δ_i(y), one block per
example. The most violated cut does not maximise a sum over parts, so structures need a search of their own. The memory
and time of that search grow with the square of an example's length; an example that would need too much memory
(`core.checks`) is refused.

**Approximate slack scaling** (Sarawagi & Gupta 2008, §3) takes the maximum over outputs that decoding finds. A
loss-augmented decoder can find only the argmax over y ≠ y_i of −⟨w, ψ_i(y)⟩ + λ Δ(y), for any λ; `decoders.hull`
searches for the worst of them. The search needs only decoding with errors that count λ times, and the runner-up. An
output that is best for no λ is never found (Claim 3.3): the cuts are valid, but the objective is not `exact`, and no
gap is called proven. Some structures search by themselves (`HullSearch`). For others the search runs for all examples
of a batch at once, with the two best outputs if there is `KBest`, else with the decoded one. Examples made of parts
(`Scorable`) sum up their features only once.

**As printed** the search is a golden section over λ, given the slack ξ that the solver's cuts so far leave to the
example, for comparisons with the paper:

    F(λ) = max over y ≠ y_i of s(y) + λ L(y) − 2√(ξλ)                                              (Claims 3.1, 3.2)

is convex, and its least value bounds s(y) − ξ/L(y), the most violated constraint, from above. Every λ that the search
tries costs a decode of the two best outputs, of which one is not gold. Of all outputs met the one with the largest
s(y) − ξ/L(y) is returned. The search is within

    λ_l = ε / L_max,   λ_u = (s(y₁) − s(y_i) + 1 − ξ / L_max) / L_ε                                            (§3.1)

with y₁ the best output, L_max the largest error and L_ε the least difference between two errors. In code L is `errors`
and s(y) is taken relative to gold, s = −⟨w, ψ_i(y)⟩. `ApproximateSlack` finds the same outputs without ξ, bounds or
L_ε, and in fewer decodes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.checks import MemoryNeed
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Differences, ErrorCounts, Examples, HullSearch, KBest, Scorable
from widemargin.core.objective import Objective
from widemargin.core.sparse import Rows, dots, scaled_rows, stack, take_rows
from widemargin.decoders.hull import SMALL, next_scales


@dataclass(frozen=True, slots=True)
class Slack(Objective):
    """Slack scaling with the exact argmax."""

    requires: ClassVar[tuple[type, ...]] = (ErrorCounts,)
    times_error: ClassVar[bool] = True
    memory: ClassVar[MemoryNeed] = MemoryNeed(
        "slack_bytes",
        "exact slack scaling, which keeps a score for each token, label and number of errors",
        "Use the objective approximate-slack or margin, or cut the example into shorter ones",
    )

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of each example's worst output."""
        outputs = cast("ErrorCounts", examples).decode_slack(w, batch)
        errors, psi = examples.difference(batch, outputs)
        return Cuts(batch, errors, scaled_rows(psi, errors))


@dataclass(frozen=True, slots=True)
class ApproximateSlack(Objective):
    """Slack scaling over the outputs that loss-augmented decoding can find, in at most `most_decodes` an example."""

    most_decodes: int = 12

    exact: ClassVar[bool] = False
    times_error: ClassVar[bool] = True

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of the worst output met for each example."""
        if isinstance(examples, HullSearch):
            errors, psi = examples.difference(batch, examples.decode_hull(w, batch, self.most_decodes))
        else:
            errors, psi = in_pieces(partial(search, most_decodes=self.most_decodes), examples, w, batch)
        return Cuts(batch, errors, scaled_rows(psi, errors))


def in_pieces(
    find: Callable[[Any, FloatVector, IntVector, Any], Differences], examples: Any, w: FloatVector, batch: IntVector
) -> Differences:
    """The result of `find` for each example; `find` gets w, and w or part scores to decode with."""
    if not isinstance(examples, Scorable):
        return find(examples, w, batch, w)
    found = [find(examples, w, piece, examples.scored(w, piece)) for piece in examples.pieces(batch)]
    return Differences(np.concatenate([each.errors for each in found]), stack([each.psi for each in found]))


def search(examples: Any, w: FloatVector, batch: IntVector, scored: Any, most_decodes: int) -> Differences:
    """The worst output met for each example of the batch; gold, with error 0, if none is a violator."""
    n, runner_up = len(batch), isinstance(examples, KBest)
    candidates = first_wrong if runner_up else _decode
    corners, scale, active = np.full((n, 4), np.nan), np.full(n, SMALL if runner_up else 1.0), np.arange(n)
    met = Met(n)
    for _ in range(most_decodes):
        found = candidates(examples, scored, batch[active], scale[active])
        s = -dots(found.psi, w)
        met.add(active, found, found.errors * (1.0 + s))
        next_scales(corners, scale, active, found.errors, s)
        active = active[scale[active] > 0]
        if not len(active):
            break
    return met.best()


class Met:
    """The outputs that `n` searches have met; the best of each has the largest value, or is gold if none > `least`."""

    def __init__(self, n: int, least: float = 0.0) -> None:
        nothing = Rows(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        self._outputs, self._n = [Differences(np.zeros(n), nothing)], n
        self._best, self._largest = np.arange(n), np.full(n, least)

    def add(self, searches: LongVector, outputs: Differences, values: FloatVector) -> None:
        """Add the `outputs` that these `searches` have met, one each, with their values."""
        better = np.flatnonzero(values > self._largest[searches])
        self._best[searches[better]], self._largest[searches[better]] = self._n + better, values[better]
        self._outputs.append(outputs)
        self._n += len(searches)

    def best(self) -> Differences:
        """The best output of each search."""
        errors = np.concatenate([each.errors for each in self._outputs])
        return Differences(errors[self._best], take_rows(stack([each.psi for each in self._outputs]), self._best))


def first_wrong(examples: Any, w: Any, batch: IntVector, scale: FloatVector) -> Differences:
    """The first wrong one of the two best outputs."""
    repeated, outputs = examples.decode_best(w, batch, 2, error_scale=scale)
    errors, psi = examples.difference(repeated, outputs)
    first = np.flatnonzero(np.diff(repeated, prepend=-1))
    last = np.append(first[1:], len(repeated)) - 1
    chosen = np.where(errors[first] > 0, first, last)
    return Differences(errors[chosen], take_rows(psi, chosen))


def _decode(examples: Any, w: Any, batch: IntVector, scale: FloatVector) -> Differences:
    """The decoded output, which may be gold."""
    differences: Differences = examples.difference(batch, examples.decode(w, batch, error_scale=scale))
    return differences


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
        return Cuts(batch, errors, scaled_rows(psi, errors))

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
