"""Flat part scores: the operations that need only the numbers of an output's parts, written once for all structures.

    total     ⟨θ, z(y)⟩                      the scores of the parts of an output, added up
    change    z(gold) − z(y)                 +1 for the parts of gold, −1 for those of the output
    residual  z(gold) − counts               the gradient of a likelihood
    plus      θ + c                          scores added to costs

Example k of a batch has `n_own` parts of its own, with the numbers 0 … n_own − 1 and the scores
own[starts[k]:starts[k] + n_own]. The parts that all examples share, such as pairs of neighbouring labels, have the
numbers from n_own on and the scores `shared`.

`starts` say where each example begins. So a selection of examples needs only other `starts` and `sizes`, no copies.
"""

from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.examples import whole_costs


class Scores(NamedTuple):
    """θ of a batch: scores of the own parts of all examples, and of shared parts; costs have no `shared` entries."""

    starts: LongVector
    sizes: LongVector
    own: FloatVector
    shared: FloatVector


class Counts(NamedTuple):
    """A number for every part of a batch, such as its probability; `shared` has a row for each example."""

    starts: LongVector
    sizes: LongVector
    own: FloatVector
    shared: FloatMatrix


class Numbers(NamedTuple):
    """The parts of outputs: example k has numbers[indptr[k]:indptr[k + 1]], in which −1 is no part.

    If two outputs of an example agree somewhere, they have the same part at the same place there. So comparing place by
    place finds most of the parts that they share.
    """

    indptr: LongVector
    numbers: LongVector


class Parts(NamedTuple):
    """Sparse coefficients: example k of a batch has values[indptr[k]:indptr[k + 1]] at these numbers of its parts."""

    indptr: LongVector
    numbers: LongVector
    values: FloatVector


NOTHING: FloatVector = np.empty(0)


def some(scores: Scores, places: LongVector) -> Scores:
    """The scores of the examples at these places of a batch."""
    return scores._replace(starts=scores.starts[places], sizes=scores.sizes[places])


@kernel
def _plus(starts: LongVector, own: FloatVector, n_own: LongVector, others: LongVector, other: FloatVector) -> None:
    for k in range(len(starts)):
        target, source = own[starts[k] : starts[k] + n_own[k]], other[others[k] : others[k] + n_own[k]]
        for p in range(len(target)):
            target[p] += source[p]


@kernel
def total_of_parts(scores: Scores, n_own: LongVector, parts: Numbers) -> FloatVector:
    """⟨θ, z(y)⟩ of each example; without shared scores, as in costs, shared parts count as 0."""
    totals, shared = np.empty(len(n_own)), scores.shared
    for k in range(len(n_own)):
        total = 0.0
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            number = parts.numbers[j]
            if number >= n_own[k]:
                total += shared[number - n_own[k]] if len(shared) > 0 else 0.0
            elif number >= 0:
                total += scores.own[scores.starts[k] + number]
        totals[k] = total
    return totals


@kernel
def _change(indptr: LongVector, gold: LongVector, numbers: LongVector) -> tuple[LongVector, LongVector, FloatVector]:
    found, values = np.empty(2 * len(gold), dtype=np.int64), np.empty(2 * len(gold))
    ends, write = np.zeros(len(indptr), dtype=np.int64), 0
    for k in range(len(indptr) - 1):
        for j in range(indptr[k], indptr[k + 1]):
            if gold[j] == numbers[j]:
                continue
            if gold[j] >= 0:
                found[write], values[write] = gold[j], 1.0
                write += 1
            if numbers[j] >= 0:
                found[write], values[write] = numbers[j], -1.0
                write += 1
        ends[k + 1] = write
    return ends, found[:write], values[:write]


@kernel
def _residual(counts: Counts, n_own: LongVector, parts: Numbers) -> None:
    for k in range(len(n_own)):
        own, common = counts.own[counts.starts[k] : counts.starts[k] + n_own[k]], counts.shared[k]
        for p in range(len(own)):
            own[p] = -own[p]
        for p in range(len(common)):
            common[p] = -common[p]
        for j in range(parts.indptr[k], parts.indptr[k + 1]):
            number = parts.numbers[j]
            if number >= n_own[k]:
                common[number - n_own[k]] += 1.0
            elif number >= 0:
                own[number] += 1.0


@kernel
def grown(outputs: IntVector, used: int, wanted: int) -> IntVector:
    """The outputs with room for `wanted` more entries or rows after the first `used`."""
    if used + wanted <= len(outputs):
        return outputs
    larger = np.empty((2 * (used + wanted), *outputs.shape[1:]), dtype=np.int32)
    larger[:used] = outputs[:used]
    return larger


class Padding(NamedTuple):
    """The places of the examples' own parts in one padded, flattened array.

    Parts firsts[b] … firsts[b] + sizes[b] − 1 of example b stand in runs of runs[b] neighbours. Each i has widths[b]
    runs, and run (i, j) begins at bases[b] + i · outer + j · inner.
    """

    firsts: LongVector
    sizes: LongVector
    bases: LongVector
    widths: LongVector
    runs: LongVector
    outer: int
    inner: int


@kernel
def copy_own(padding: Padding, padded: FloatVector, starts: LongVector, own: FloatVector, back: bool) -> None:
    """Copy the parts of a padded array to their places among own scores, or `back` to the array."""
    for b in range(len(starts)):
        at, base, run = starts[b] + padding.firsts[b], padding.bases[b], padding.runs[b]
        width, left = padding.widths[b], padding.sizes[b] // run if run > 0 else 0
        while left > 0:
            for j in range(min(width, left)):
                inside, outside = own[at : at + run], padded[base + j * padding.inner :][:run]
                if back:
                    for r in range(run):
                        outside[r] = inside[r]
                else:
                    for r in range(run):
                        inside[r] = outside[r]
                at += run
            left -= width
            base += padding.outer


@kernel
def visit_parts(parts: Numbers, weights: FloatVector, padding: Padding, padded: FloatVector, total: bool) -> None:
    """Add each example's weight at the places of its parts in the padded array; or the `total` there to its weight."""
    for b in range(len(weights)):
        first, size, width, length = padding.firsts[b], padding.sizes[b], padding.widths[b], padding.runs[b]
        for p in range(parts.indptr[b], parts.indptr[b + 1]):
            number = parts.numbers[p] - first
            if 0 <= number < size:
                run = number // length if number >= length else 0  # division is slow, and most often there is one run
                i = run // width if run >= width else 0
                at = padding.bases[b] + i * padding.outer + (run - i * width) * padding.inner
                at += number - run * length
                if total:
                    weights[b] += padded[at]
                else:
                    padded[at] += weights[b]


@kernel
def places_of(begins: LongVector, counts: LongVector) -> LongVector:
    """begins[k], …, begins[k] + counts[k] − 1 for each k, one after the other."""
    # A kernel, since it is called for every batch: NumPy takes ten times as long for a few examples.
    places, write = np.empty(counts.sum(), dtype=np.int64), 0
    for k in range(len(begins)):
        for j in range(counts[k]):
            places[write] = begins[k] + j
            write += 1
    return places


@kernel
def longest_of(sizes: LongVector) -> int:
    """The largest size, at least 1."""
    longest = 1
    for size in sizes:
        longest = max(longest, size)
    return longest


class Flat:
    """Base of structures: everything that follows from `n_own` and `parts`, which subclasses define with searches."""

    __slots__ = ()

    scores: ClassVar[type[Any]] = Scores
    """The named tuple of scores; fields beyond those of `Scores` have defaults."""

    has_blanks: ClassVar[bool] = False
    """Whether entries of outputs may be −1, for no part."""

    @property
    def n_shared(self) -> int:
        """How many parts all examples share."""
        return 0

    def n_own(self, sizes: LongVector) -> LongVector:
        """How many parts of its own an example of each size has."""
        raise NotImplementedError

    def parts(self, sizes: LongVector, outputs: Any) -> Numbers:
        """The parts of an output of each example."""
        raise NotImplementedError

    def room(self, sizes: LongVector) -> Any:
        """Uninitialised scores of examples of these sizes; features and costs fill in all that is read."""
        n_own = self.n_own(sizes)
        ends = np.cumsum(n_own)
        return Scores(ends - n_own, sizes, np.empty(ends[-1] if len(ends) else 0), NOTHING)

    def plus(self, costs: Any, scores: Any) -> Any:
        """Scores plus costs of the same examples, written over the costs; shared scores are those of `scores`."""
        _plus(costs.starts, costs.own, self.n_own(costs.sizes), scores.starts, scores.own)
        return costs._replace(shared=scores.shared)

    def total(self, scores: Any, outputs: Any) -> FloatVector:
        """⟨θ, z(y)⟩ of an output of each example."""
        return total_of_parts(scores, self.n_own(scores.sizes), self.parts(scores.sizes, outputs))

    def change(self, sizes: LongVector, gold: Any, outputs: Any) -> Parts:
        """z(gold) − z(output); each part of gold is followed by the output's part at the same place."""
        right = self.parts(sizes, gold)
        return Parts(*_change(right.indptr, right.numbers, self.parts(sizes, outputs).numbers))

    def residual(self, counts: Counts, gold: Any) -> Counts:
        """z(gold) − counts, written over the counts."""
        _residual(counts, self.n_own(counts.sizes), self.parts(counts.sizes, gold))
        return counts

    def no_counts(self, scores: Any) -> Counts:
        """Counts of the same parts, to be filled in: zeros for shared parts and for entries between examples."""
        room = np.empty if self.n_own(scores.sizes).sum() == len(scores.own) else np.zeros
        shared = np.zeros((len(scores.sizes), len(scores.shared)))
        return Counts(scores.starts, scores.sizes, room(len(scores.own)), shared)


def leading(counts: Counts, n_parts: LongVector, width: int) -> FloatMatrix:
    """The numbers of the first `n_parts` own parts of each example, in rows of this width."""
    ends = counts.starts + n_parts
    rows = [counts.own[begin:end] for begin, end in zip(counts.starts.tolist(), ends.tolist(), strict=True)]
    return np.concatenate([*rows, np.empty(0)]).reshape(-1, width)


def violators_through(structure: Any, scores: Any, costs: Any, gold: Any) -> tuple[FloatVector, Any]:
    """The worst output wrong at each position, for structures without `violators`; rows of `through` are positions.

    To find the best output that has a part, the part's score is raised until outputs without it cannot win.
    """
    n_positions, n_own = structure.positions(scores.sizes), structure.n_own(scores.sizes)
    places = np.repeat(np.arange(len(scores.sizes)), n_positions)
    best, gold_total = structure.total(scores, structure.best(scores)), structure.total(scores, gold)
    through, of_parts = structure.through(scores), structure.own(costs)
    numbers = structure.own(scores._replace(own=np.arange(len(scores.own)))).astype(np.int64)
    values = np.multiply(
        of_parts, 1.0 + through - gold_total[places][:, None], where=of_parts > 0.0, out=0.0 * of_parts
    )
    rows, worst = np.arange(len(values)), values.argmax(axis=1)
    errors = np.where(values[rows, worst] > 0.0, of_parts[rows, worst], 0.0)
    outputs = [gold[:0]]
    for row in np.flatnonzero(errors).tolist():
        k, part = int(places[row]), numbers[row, worst[row]]
        own = scores.own[scores.starts[k] : scores.starts[k] + n_own[k]].copy()
        own[part - scores.starts[k]] += best[k] - through[row, worst[row]] + 1.0
        at = slice(k, k + 1)
        outputs.append(structure.best(scores._replace(starts=np.zeros(1, np.int64), sizes=scores.sizes[at], own=own)))
    return errors, np.concatenate(outputs)


class InUnits:
    """Costs that can be counted (`structures.parts.CountableCosts`): all costs of parts follow from `costs`."""

    costs: FloatMatrix

    def whole(self) -> tuple[Self, float]:
        """The costs in units."""
        costs, unit = whole_costs(self.costs)
        other = copy(self)
        other.costs = costs.astype(np.float64)
        return other, unit
