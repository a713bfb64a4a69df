"""Approximate slack scaling (Sarawagi & Gupta 2008, §3): the worst output met by decoders that weigh errors by λ.

With s(y) = −⟨w, ψ_i(y)⟩ slack scaling wants the largest Δ(1 + s). All that a loss-augmented decoder can find is

    y_λ = argmax over y ≠ y_i of s(y) + λ Δ(y),

the corners of the upper hull of the points (Δ, s): the smaller λ, the smaller the error. Along the hull Δ(1 + s) rises,
then falls; at y_λ it still rises if λ Δ < 1 + s. So two corners with the best one between them are soon found: a
violator asks for λ = (1 + s)/Δ itself, any other output for a λ close to 0. From there on λ is the slope between the
two, until no corner lies between. The paper looks for the λ of the least upper bound F(λ) by golden section between
given bounds; with the slack ξ_i that is found in the end this is the same λ, reached in fewer decodes, and without
bounds. An output below the hull is never found (Claim 3.3): the cuts are valid, but the objective is not `exact`, and
no gap is called proven.

Where examples tell their `least_error`, the least Δ > 0, a gold output that wins at λ = 1/least_error has no violator.
Where gold wins at another λ, the runner-up is asked for; structures without `KBest` go on without it.
"""

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from widemargin._types import BoolVector, FloatVector, IntVector, LongVector
from widemargin.cuts import Cuts
from widemargin.objectives.base import Objective
from widemargin.sparse import Rows, dots, scaled, stack, taken
from widemargin.structures.base import Differences, Examples, KBest

SMALL = 1e-6  # λ that all but ignores errors; among equal scores the larger error still wins
SLIGHT = 1e-9  # a difference that rounding may have made


@dataclass(frozen=True, slots=True)
class ApproximateSlack(Objective):
    """Slack scaling over the outputs that loss-augmented decoding can find, with at most so many decodes each."""

    most_decodes: int = 12

    exact: ClassVar[bool] = False

    def blocks(self, examples: Examples) -> IntVector:
        """One block per example."""
        return np.arange(examples.n_examples, dtype=np.int32)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The cut Δψ, Δ of the worst output met for each example."""
        search = Search(examples, w, batch, self.most_decodes)
        while len(search.active):
            search.step()
        errors, psi = search.worst()
        return Cuts(batch, errors, scaled(psi, errors))


@dataclass(slots=True)
class Search:
    """The search for λ, for all examples of a batch at once.

    `below` and `above` are the corners (Δ, s) known on either side of the best, a row per example, NaN before any;
    gold is known to win up to the λ in `gold_wins`; `n_decodes` counts what each example has cost.
    """

    examples: Examples
    w: FloatVector
    batch: IntVector
    most_decodes: int
    scale: FloatVector = field(init=False)
    active: LongVector = field(init=False)
    gold_wins: FloatVector = field(init=False)
    n_decodes: LongVector = field(init=False)
    below: FloatVector = field(init=False)
    above: FloatVector = field(init=False)
    met: list[Differences] = field(init=False)
    n_met: int = field(init=False)
    best: LongVector = field(init=False)
    best_value: FloatVector = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.batch)
        least = getattr(self.examples, "least_error", None)
        self.scale = np.full(n, 1.0 if least is None else 1.0 / least)
        self.active = np.arange(n)
        self.gold_wins, self.n_decodes = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.below, self.above = np.full((n, 2), np.nan), np.full((n, 2), np.nan)
        nothing = Rows(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        self.met, self.n_met = [Differences(np.zeros(n), nothing)], n
        self.best, self.best_value = np.arange(n), np.zeros(n)
        self.step(runner_up=least is None)

    def worst(self) -> Differences:
        """The worst output met of each example; gold, without error, where none is a violator."""
        errors = np.concatenate([each.errors for each in self.met])
        return Differences(errors[self.best], taken(stack([each.psi for each in self.met]), self.best))

    def step(self, runner_up: bool = True) -> None:
        """Decode all examples that are not finished at their λ, and choose the next one."""
        found = self._candidates(runner_up and isinstance(self.examples, KBest))
        mine, scale = self.active, self.scale[self.active]
        error, s = found.errors, -dots(found.psi, self.w)
        value = error * (1.0 + s)
        better = value > self.best_value[mine]
        self.best[mine[better]] = self.n_met + np.flatnonzero(better)
        self.best_value[mine[better]] = value[better]
        self.met.append(found)
        self.n_met += len(mine)

        corner = np.stack([error, s], axis=1)
        bracketed = ~np.isnan(self.below[mine, 0]) & ~np.isnan(self.above[mine, 0])
        ends = self.below[mine]
        lies_between = s + scale * error > ends[:, 1] + scale * ends[:, 0] + SLIGHT * (1.0 + np.abs(ends[:, 1]))
        rising = scale * error < 1.0 + s
        self.below[mine[rising]], self.above[mine[~rising]] = corner[rising], corner[~rising]
        following = self._next_scale(mine, corner, rising)
        # Without a runner-up, a gold output that wins at the first λ leaves nothing to look for.
        go_on = np.where(bracketed, lies_between, True) & (following > 0) & (runner_up | (error > 0))
        # One decode may turn out to be two, when gold wins.
        go_on &= (np.abs(following - scale) > SLIGHT * scale) & (self.n_decodes[mine] + 2 <= self.most_decodes)
        self.scale[mine] = following
        self.active = mine[go_on]

    def _next_scale(self, mine: LongVector, corner: FloatVector, rising: BoolVector) -> FloatVector:
        """The slope between the two corners; what the only one asks for; 0 where there is no more to find."""
        below, above, scale = self.below[mine], self.above[mine], self.scale[mine]
        error, s = corner.T
        width = above[:, 0] - below[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(width > 0, (below[:, 1] - above[:, 1]) / width, 0.0)
            own = np.where(error > 0, (1.0 + s) / error, 4.0 * scale)
        own = np.where(~rising & (own <= 0), np.where(scale > SMALL, SMALL, 0.0), own)
        return np.where(np.isnan(width), own, slope)

    def _candidates(self, runner_up: bool) -> Differences:
        """y_λ of the active examples: what is decoded, or the runner-up, if wanted, where that has no error."""
        mine, scale = self.active, self.scale[self.active]
        numbers, known = np.empty(len(mine), dtype=np.int64), runner_up & (scale <= self.gold_wins[mine])
        plain = np.flatnonzero(~known)
        found = self._differences(mine[plain])
        numbers[plain] = np.arange(len(plain))
        right = plain[found.errors == 0]
        self.gold_wins[mine[right]] = np.maximum(self.gold_wins[mine[right]], scale[right])
        second = np.sort(np.concatenate([np.flatnonzero(known), right])) if runner_up else right[:0]
        if not len(second):
            return found
        best, rows = self._runners_up(mine[second])
        numbers[second] = len(plain) + rows
        return Differences(
            np.concatenate([found.errors, best.errors])[numbers], taken(stack([found.psi, best.psi]), numbers)
        )

    def _differences(self, which: LongVector) -> Differences:
        batch = self.batch[which]
        self.n_decodes[which] += 1
        return self.examples.difference(batch, self.examples.decode(self.w, batch, error_scale=self.scale[which]))

    def _runners_up(self, which: LongVector) -> tuple[Differences, LongVector]:
        """The two best outputs of these examples, and for each the number of the first that is not right."""
        self.n_decodes[which] += 1
        examples = cast("KBest", self.examples)
        repeated, outputs = examples.decode_best(self.w, self.batch[which], 2, error_scale=self.scale[which])
        best = self.examples.difference(repeated, outputs)
        first = np.flatnonzero(np.diff(repeated, prepend=-1))
        last = np.append(first[1:], len(repeated)) - 1
        return best, np.where(best.errors[first] > 0, first, last)
