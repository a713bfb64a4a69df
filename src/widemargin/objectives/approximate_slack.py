"""Approximate slack scaling (Sarawagi & Gupta 2008, §3): ξ_i(w) = max Δ(1 − ⟨w, ψ_i⟩) over outputs that decoding finds.

A loss-augmented decoder can find only the argmax over y ≠ y_i of −⟨w, ψ_i(y)⟩ + λ Δ(y), for any λ; `decoders.hull`
searches for the worst of them. The search needs only decoding with errors that count λ times, and the runner-up. An
output that is best for no λ is never found (Claim 3.3): the cuts a = Δψ, b = Δ are valid, but the objective is not
`exact`, and no gap is called proven.

Some structures search by themselves (`HullSearch`). For others the search runs for all examples of a batch at once,
with the two best outputs if there is `KBest`, else with the decoded one. Examples made of parts (`Scorable`) sum up
their features only once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.cuts import Cuts
from widemargin.core.examples import Differences, Examples, HullSearch, KBest, Scorable
from widemargin.core.objective import Objective
from widemargin.core.sparse import Rows, dots, scaled, stack, taken
from widemargin.decoders.hull import SMALL, next_scales


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
        return Cuts(batch, errors, scaled(psi, errors))


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
    candidates = first_wrong if runner_up else _decoded
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
        return Differences(errors[self._best], taken(stack([each.psi for each in self._outputs]), self._best))


def first_wrong(examples: Any, w: Any, batch: IntVector, scale: FloatVector) -> Differences:
    """The first wrong one of the two best outputs."""
    repeated, outputs = examples.decode_best(w, batch, 2, error_scale=scale)
    errors, psi = examples.difference(repeated, outputs)
    first = np.flatnonzero(np.diff(repeated, prepend=-1))
    last = np.append(first[1:], len(repeated)) - 1
    chosen = np.where(errors[first] > 0, first, last)
    return Differences(errors[chosen], taken(psi, chosen))


def _decoded(examples: Any, w: Any, batch: IntVector, scale: FloatVector) -> Differences:
    """The decoded output, which may be gold."""
    differences: Differences = examples.difference(batch, examples.decode(w, batch, error_scale=scale))
    return differences
