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

Examples without a runner-up (`RunnerUp`, `KBest`) are decoded as they can be: where gold wins, λ has to grow.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.cuts import Cuts
from widemargin.objectives.base import Objective
from widemargin.sparse import Rows, dots, scaled, stack, taken
from widemargin.structures.base import Differences, Examples, KBest, RunnerUp

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
    `n_decodes` counts what each example has cost.
    """

    examples: Examples
    w: FloatVector
    batch: IntVector
    most_decodes: int
    candidates: partial[Differences] = field(init=False)
    scale: FloatVector = field(init=False)
    active: LongVector = field(init=False)
    n_decodes: LongVector = field(init=False)
    below: FloatMatrix = field(init=False)
    above: FloatMatrix = field(init=False)
    met: list[Differences] = field(init=False)
    n_met: int = field(init=False)
    best: LongVector = field(init=False)
    best_value: FloatVector = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.batch)
        if isinstance(self.examples, RunnerUp):
            self.candidates = partial(_runners_up, self.examples, self.w)
        elif isinstance(self.examples, KBest):
            self.candidates = partial(_first_wrong, self.examples, self.w)
        else:
            self.candidates = partial(_decoded, self.examples, self.w)
        # The runner-up of plain decoding is no violator for most examples, once training has come far: then it is done.
        self.scale = np.full(n, 1.0 if self.candidates.func is _decoded else SMALL)
        self.active, self.n_decodes = np.arange(n), np.zeros(n, dtype=np.int64)
        self.below, self.above = np.full((n, 2), np.nan), np.full((n, 2), np.nan)
        nothing = Rows(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        self.met, self.n_met = [Differences(np.zeros(n), nothing)], n
        self.best, self.best_value = np.arange(n), np.zeros(n)

    def worst(self) -> Differences:
        """The worst output met of each example; gold, without error, where none is a violator."""
        errors = np.concatenate([each.errors for each in self.met])
        return Differences(errors[self.best], taken(stack([each.psi for each in self.met]), self.best))

    def step(self) -> None:
        """Decode all examples that are not finished at their λ, and choose the next one."""
        mine, scale = self.active, self.scale[self.active]
        found = self.candidates(self.batch[mine], scale)
        error, s = found.errors, -dots(found.psi, self.w)
        value = error * (1.0 + s)
        better = value > self.best_value[mine]
        self.best[mine[better]] = self.n_met + np.flatnonzero(better)
        self.best_value[mine[better]] = value[better]
        self.met.append(found)
        self.n_met += len(mine)
        self.n_decodes[mine] += 1

        below, above = self.below[mine], self.above[mine]
        lies_between = s + scale * error > below[:, 1] + scale * below[:, 0] + SLIGHT * (1.0 + np.abs(below[:, 1]))
        go_on = lies_between | np.isnan(below[:, 0]) | np.isnan(above[:, 0])
        rising = scale * error < 1.0 + s
        below[rising, 0], below[rising, 1] = error[rising], s[rising]
        above[~rising, 0], above[~rising, 1] = error[~rising], s[~rising]
        self.below[mine], self.above[mine] = below, above
        self.scale[mine] = following = _next_scale(scale, error, s, rising, below, above)
        go_on &= (following > 0) & (np.abs(following - scale) > SLIGHT * scale)
        self.active = mine[go_on & (self.n_decodes[mine] < self.most_decodes)]


def _next_scale(
    scale: FloatVector, error: FloatVector, s: FloatVector, rising: BoolVector, below: FloatMatrix, above: FloatMatrix
) -> FloatVector:
    """The slope between the two corners; what the only one asks for; 0 where there is no more to find."""
    own = np.where(error > 0, (1.0 + s) / np.maximum(error, SLIGHT), 4.0 * scale)
    own = np.where(rising | (own > 0), own, np.where(scale > SMALL, SMALL, 0.0))
    width = above[:, 0] - below[:, 0]
    slope = np.where(width > 0, (below[:, 1] - above[:, 1]) / np.where(width > 0, width, 1.0), 0.0)
    return np.where(np.isnan(width), own, slope)


def _runners_up(examples: Any, w: FloatVector, batch: IntVector, scale: FloatVector) -> Differences:
    """y_λ of examples that offer `RunnerUp`."""
    return examples.difference(batch, examples.decode_wrong(w, batch, error_scale=scale))


def _first_wrong(examples: Any, w: FloatVector, batch: IntVector, scale: FloatVector) -> Differences:
    """y_λ of examples that offer `KBest`: the best output that is wrong, of two."""
    repeated, outputs = examples.decode_best(w, batch, 2, error_scale=scale)
    errors, psi = examples.difference(repeated, outputs)
    first = np.flatnonzero(np.diff(repeated, prepend=-1))
    last = np.append(first[1:], len(repeated)) - 1
    chosen = np.where(errors[first] > 0, first, last)
    return Differences(errors[chosen], taken(psi, chosen))


def _decoded(examples: Any, w: FloatVector, batch: IntVector, scale: FloatVector) -> Differences:
    """What all examples can be decoded to, which may be gold."""
    return examples.difference(batch, examples.decode(w, batch, error_scale=scale))
