"""Training examples made of a structure, features, costs and gold outputs: every ability, written once.

    θ = F w,   Δ(y) = ⟨c, z(y)⟩,   ψ(y) = Fᵀ(z(gold) − z(y))                                        (`structures.parts`)

    margin            best(θ + s c)
    k best            best_k(θ + s c)
    approximate slack hull(θ, c): the worst of best(θ + λ c) over all λ
    slack             worst(θ, c): max over y of Δ(1 − ⟨w, ψ⟩), by the number of errors
    positions         violators(θ, c): the same for each position
    likelihood        log Z(θ + s c) − total(θ + s c, gold), with Fᵀ(z(gold) − E[z]), from sums(θ + s c)
    partial labels    best(θ + limits): limits are −∞ for parts that the known labels rule out

`part_examples` gives examples the abilities that follow from the methods of their structure, and no others. So an
objective that needs more is refused before the run.
"""

from collections.abc import Sequence
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Outputs, Scale, at_positions, per_example
from widemargin.core.sparse import boundaries, dots, stack
from widemargin.structures.flat import Counts, Scores, places_of, some, violators_through
from widemargin.structures.parts import Costs, CountableCosts, Features, Summed

MOST_SCORES = 1 << 16
"""How many part scores are held at a time: half a megabyte stays in the cache. A larger example is held alone."""

MOST_SUMMED = 1 << 20
"""The same while ψ is made from sums: joining the long rows of several pieces costs more than the cache saves."""


class Scored(NamedTuple):
    """θ of some examples; searches that decode many times take it instead of w."""

    examples: IntVector
    scores: Scores


class PartExamples:
    """Examples with their gold outputs (or without, for prediction only).

    Wherever weights are asked for, `Scored` examples may be given instead.

    Parameters
    ----------
    structure : what outputs are (`structures.parts.Structure`)
    features : from weights to part scores and back
    costs : the errors of parts
    gold : the gold outputs of all examples, end to end; empty when there are none
    """

    exact = True
    features: Any
    """`Features`, with the methods that the abilities of the structure need (`structures.parts`)."""

    costs: Any
    """`Costs`."""

    bounds: Costs | None = None
    """Costs of 0 for allowed parts, and of −∞ for all others; None allows all."""

    def __init__(self, structure: Any, features: Features, costs: Costs, gold: Outputs) -> None:
        self.structure, self.features, self.costs, self.gold = structure, features, costs, gold
        self.sizes = features.sizes
        self.n_examples, self.n_weights = len(self.sizes), features.n_weights

    # Predicting one example takes less time than working out what only training needs.
    @cached_property
    def lengths(self) -> LongVector:
        """How many entries the outputs of each example have."""
        lengths: LongVector = self.structure.lengths(self.sizes)
        return lengths

    @cached_property
    def _places(self) -> LongVector:
        """Where the gold outputs of each example begin."""
        return boundaries(self.lengths)

    @cached_property
    def _n_own(self) -> LongVector:
        """How many parts of its own each example has."""
        n_own: LongVector = self.structure.n_own(self.sizes)
        return n_own

    @cached_property
    def _most_own(self) -> int:
        return int(self._n_own.max(initial=0))

    @cached_property
    def work(self) -> FloatVector | None:
        """The estimated decoding time of each example in microseconds."""
        return self.features.work

    @property
    def about(self) -> str:
        """How the structure decodes, for the certificate; "" if there is nothing to say (`core.solution.Solution`)."""
        about: str = getattr(self.structure, "about", "")
        return about

    def decode(self, w: Any, batch: IntVector, *, error_scale: Scale = 0.0) -> Outputs:
        """The best outputs of the batch, end to end."""
        scales = per_example(error_scale, batch)
        return _joined([self.structure.best(self._scores(w, batch[at], scales[at])) for at in self._pieces(batch)])

    def difference(self, batch: IntVector, outputs: Outputs) -> Differences:
        """Errors and feature differences of outputs laid end to end."""
        parts = self.structure.change(self.sizes[batch], self.gold_of(batch), outputs)
        return Differences(self.costs.errors(batch, outputs), self.features.gather(batch, parts))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that decoding the batch reads."""
        return self.features.support(batch)

    def scores(self, w: Any, batch: IntVector, outputs: Outputs) -> FloatVector:
        """⟨w, φ(x_i, y)⟩ of the batch's outputs, laid end to end."""
        ends, found = boundaries(self.lengths[batch]), []
        for at in self._pieces(batch):
            begin, end, _ = at.indices(len(batch))
            found.append(self.structure.total(self._plain(w, batch[at]), outputs[ends[begin] : ends[end]]))
        return _joined(found)

    def scored(self, w: Any, batch: IntVector) -> Scored:
        """The batch with its part scores; no example may occur twice."""
        return Scored(batch, self._plain(w, batch))

    def pieces(self, batch: IntVector) -> list[IntVector]:
        """The batch in pieces whose part scores fit into the cache."""
        return [batch[at] for at in self._pieces(batch)]

    def gold_of(self, batch: IntVector) -> Outputs:
        """The gold outputs of the batch, end to end."""
        begin, counts = self._places[batch], self.lengths[batch]
        if len(batch) == 1:
            return self.gold[begin[0] : begin[0] + counts[0]]
        return self.gold[places_of(begin, counts)]

    def with_gold(self, gold: Outputs) -> Self:
        """The same examples with other gold outputs."""
        return self._with(gold=gold)

    def within(self, bounds: Costs) -> Self:
        """The same examples, whose outputs may only have parts with a cost of 0 in `bounds`."""
        return self._with(bounds=bounds)

    def _with(self, **changed: Any) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changed)
        return other

    def _scores(self, w: Any, batch: IntVector, scales: FloatVector, costs: Costs | None = None) -> Any:
        """θ + s c of the batch."""
        room = self.structure.room(self.sizes[batch])
        (self.costs if costs is None else costs).fill(batch, scales, room)
        if isinstance(w, Scored):
            order = np.argsort(w.examples)
            places = order[np.searchsorted(w.examples[order], batch)]
            return self.structure.plus(room, some(w.scores, places))
        scores = self.features.scores(w, batch, room)
        return scores if self.bounds is None else self.structure.plus(self._costs(batch, self.bounds), scores)

    def _plain(self, w: Any, batch: IntVector) -> Any:
        """θ of the batch."""
        return self._scores(w, batch, np.zeros(len(batch)))

    def _costs(self, batch: IntVector, costs: Costs) -> Any:
        """c of the batch."""
        room = self.structure.room(self.sizes[batch])
        costs.fill(batch, np.ones(len(batch)), room)
        return room

    def _pieces(self, batch: IntVector, most: int = MOST_SCORES) -> list[slice]:
        if len(batch) == 1 or len(batch) * self._most_own <= most:  # the usual batch while training
            return [slice(None)]
        return slices(self._n_own[batch], most)


def slices(n_own: LongVector, most: int) -> list[slice]:
    """Runs of examples with about `most` own parts together; a larger example is a run by itself."""
    if len(n_own) <= 1:  # no example at all is a run, too: outputs of nothing can then be joined
        return [slice(None)]
    done = np.cumsum(n_own)
    edges = np.flatnonzero(np.diff(done // most, prepend=-1, append=-1)).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]


def best_outputs(structure: Any, features: Features, w: Any) -> Outputs:
    """The best outputs of all examples, end to end: all that prediction needs."""
    sizes, batch, found = features.sizes, np.arange(len(features.sizes), dtype=np.int32), []
    for at in slices(structure.n_own(sizes), MOST_SCORES):
        room = structure.room(sizes[at])
        room.own[:] = 0.0
        found.append(structure.best(features.scores(w, batch[at], room)))
    return _joined(found)


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class WithBestK(PartExamples):
    """Examples of structures that have `best_k` (`core.examples.KBest`)."""

    def decode_best(self, w: Any, batch: IntVector, k: int, *, error_scale: Scale = 0.0) -> tuple[IntVector, Outputs]:
        """The batch with each example repeated per output, and the `k` best outputs, best first, end to end."""
        scales = per_example(error_scale, batch)
        found = [self.structure.best_k(self._scores(w, batch[at], scales[at]), k) for at in self._pieces(batch)]
        return np.repeat(batch, _joined([each.counts for each in found])), _joined([each.outputs for each in found])


class WithHull(PartExamples):
    """Examples of structures that have `hull` (`core.examples.HullSearch`)."""

    def decode_hull(self, w: Any, batch: IntVector, most_decodes: int) -> Outputs:
        """The worst outputs under slack scaling that decoding finds, gold if none is a violator."""
        found = [
            self.structure.hull(self._plain(w, each), self._costs(each, self.costs), self.gold_of(each), most_decodes)
            for each in self.pieces(batch)
        ]
        return _joined(found)


class WithWorst(PartExamples):
    """Examples of structures that have `worst` (`core.examples.ErrorCounts`)."""

    def decode_slack(self, w: Any, batch: IntVector) -> Outputs:
        """The worst outputs under slack scaling, gold if none is a violator."""
        costs, unit = self._countable()
        found = [
            self.structure.worst(self._plain(w, each), self._costs(each, costs), unit, self.gold_of(each))
            for each in self.pieces(batch)
        ]
        return _joined(found)

    def _countable(self) -> tuple[CountableCosts, float]:
        """The costs, in whole units if the structure counts errors, and the unit."""
        return self.costs.whole() if self.structure.counts_errors else (self.costs, 1.0)

    def slack_bytes(self) -> FloatVector:
        """The memory of `decode_slack` for each example."""
        costs, _ = self._countable()
        needed: FloatVector = self.structure.worst_bytes(self.sizes, costs.most())
        return needed


class WithPositions(PartExamples):
    """Examples of structures that have `violators`, or `through` alone (`core.examples.Positions`)."""

    @property
    def n_positions(self) -> LongVector:
        """The number of positions of each example."""
        positions: LongVector = self.structure.positions(self.sizes)
        return positions

    def violators(self, w: Any, batch: IntVector) -> Differences:
        """The worst outputs that are wrong at each position."""
        search = getattr(self.structure, "violators", None) or partial(violators_through, self.structure)
        found = [
            search(self._plain(w, each), self._costs(each, self.costs), self.gold_of(each))
            for each in self.pieces(batch)
        ]
        errors, outputs = _joined([each[0] for each in found]), _joined([each[1] for each in found])
        wrong = np.repeat(batch, self.n_positions[batch])[errors > 0]
        return at_positions(errors, self.difference(wrong, outputs).psi)

    def violator_bytes(self) -> FloatVector:
        """An upper bound of the memory of `violators`: an output for each position, with the longest ψ it may have."""
        return self.n_positions * (BYTES_PER_ENTRY * self.features.most_entries() + 8.0 * self.lengths)


class WithThrough(WithPositions):
    """Examples of structures that have `through`."""

    def max_marginals(self, w: Any, batch: IntVector) -> FloatMatrix:
        """For each part of the batch, the score of the best output that has it."""
        return _joined([self.structure.through(self._plain(w, each)) for each in self.pieces(batch)])


class WithSums(PartExamples):
    """Examples of structures that have `sums` (`core.examples.Marginals`, `core.examples.SummedMarginals`)."""

    def expectation(self, w: Any, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the gold outputs and the expected feature differences."""
        return self._expected(w, batch, error_scale, self.costs)

    def totals(self, batches: Sequence[IntVector], error_scale: float) -> "PartTotals | None":
        """Sums over all examples; None if the features have no quicker way than a row for each example."""
        accumulator = getattr(self.features, "summed", None)
        summed = None if accumulator is None else accumulator(batches)
        return None if summed is None else PartTotals(self, summed, batches, error_scale)

    def probabilities(self, w: Any, batch: IntVector) -> tuple[FloatMatrix, FloatVector]:
        """The probabilities of the batch's parts, in the order of `max_marginals`, and log Z of each example."""
        found = [self.structure.sums(self._plain(w, each)) for each in self.pieces(batch)]
        return _joined([self.structure.own(each.counts) for each in found]), _joined([each.log_z for each in found])

    def _expected(self, w: Any, batch: IntVector, error_scale: float, costs: Costs) -> Differences:
        found, rows = [], []
        for each in (batch[at] for at in self._pieces(batch, MOST_SUMMED)):
            losses, counts = self.losses(w, each, error_scale, costs)
            found.append(losses)
            rows.append(self.features.gather_counts(each, counts))
        return Differences(_joined(found), stack(rows))

    def losses(
        self, w: Any, batch: IntVector, error_scale: float, costs: Costs | None = None
    ) -> tuple[FloatVector, Counts]:
        """−log p of the gold outputs, and z(gold) − E[z]."""
        scores = self._scores(w, batch, np.full(len(batch), error_scale), costs)
        log_z, counts = self.structure.sums(scores)
        gold = self.gold_of(batch)
        losses = np.maximum(log_z - self.structure.total(scores, gold), 0.0)
        return losses, self.structure.residual(counts, gold)


class WithExcess(PartExamples):
    """Examples of structures that bound what decoding missed (`core.examples.Bounded`)."""

    def excess(self, batch: IntVector, outputs: Outputs) -> FloatVector:
        """By how much the score and cost of any output may exceed those of the one that `decode` returned."""
        excess: FloatVector = self.structure.excess(self.sizes[batch], outputs)
        return excess


class PartTotals:
    """Σ_i c_i Fᵀ(z(gold) − E[z]) over all examples of these batches (`core.examples.Totals`)."""

    def __init__(self, examples: WithSums, summed: Summed, batches: Sequence[IntVector], error_scale: float) -> None:
        self.examples, self.summed, self.batches, self.error_scale = examples, summed, batches, error_scale

    def visit(self, w: FloatVector, number: int, c: FloatVector) -> FloatVector:
        """−log p of the gold outputs of a batch."""
        losses, counts = self.examples.losses(w, self.batches[number], self.error_scale)
        self.summed.put(number, counts, c)
        return losses

    def total(self, n_threads: int) -> FloatVector:
        """The weighted sum of the expected differences of all batches."""
        return self.summed.total(n_threads)


ABILITIES: dict[str, type[PartExamples]] = {
    "best_k": WithBestK,
    "hull": WithHull,
    "worst": WithWorst,
    "through": WithThrough,
    "violators": WithPositions,
    "sums": WithSums,
    "excess": WithExcess,
}


class WithLimits(PartExamples):
    """Examples whose gold outputs are partly known; the unknown rest is latent (Yu & Joachims 2009).

    Parameters
    ----------
    limits : costs of 0 for the parts that agree with the partial labels, and of −∞ for all others
    gold : any outputs that agree with the partial labels
    others : as for `PartExamples`; costs compare parts with the partial labels
    """

    limits: Costs

    def complete(self, w: Any, batch: IntVector) -> Outputs:
        """The best outputs that agree with the partial labels, end to end."""
        return _joined([self._best_within(self._limited(w, each)) for each in self.pieces(batch)])

    def completed(self, completions: Outputs) -> PartExamples:
        """The same examples with these outputs as gold."""
        return self.with_gold(completions)

    def guess(self, rng: np.random.Generator) -> Outputs:
        """Completions of all examples by random scores."""
        scores = self._costs(np.arange(self.n_examples, dtype=np.int32), self.limits)
        scores.own[:] += rng.random(len(scores.own))
        return self.structure.best(scores)

    def _best_within(self, scores: Scores) -> Outputs:
        return self.structure.best(scores)

    def _limited(self, w: Any, batch: IntVector) -> Scores:
        """θ of the batch, −∞ for the parts that disagree with the partial labels."""
        return self._scores(w, batch, np.ones(len(batch)), self.limits)


class Partial(WithLimits, WithSums):
    """Examples with partly known gold outputs, of structures that have `sums`."""

    def uncertainty(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The entropy of the completions (`core.examples.Uncertain`): E[−log p(h)] = −log p(h') + ⟨w, φ(h') − E[φ]⟩."""
        surprise, psi = self._expected(w, batch, 1.0, self.limits)
        return np.maximum(surprise + dots(psi, w), 0.0)


class Hidden(Partial):
    """Examples that can also be learnt from sums over all completions (`core.examples.LatentMarginals`)."""

    def expectation_over_completions(self, w: Any, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the partial labels, and the expected features of their completions minus those of all outputs."""
        found, rows = [], []
        for each in (batch[at] for at in self._pieces(batch, MOST_SUMMED)):
            plain = self.scored(w, each)
            log_z, counts = self.structure.sums(self._scores(plain, each, np.full(len(each), error_scale)))
            log_right, right = self.structure.sums(self._limited(plain, each))
            own, shared = right.own - counts.own, right.shared - counts.shared
            found.append(np.maximum(log_z - log_right, 0.0))
            rows.append(self.features.gather_counts(each, counts._replace(own=own, shared=shared)))
        return Differences(_joined(found), stack(rows))


@cache
def _kind(abilities: tuple[str, ...], limited: bool) -> type[PartExamples]:
    kinds = {**ABILITIES, "sums": Hidden} if limited else ABILITIES
    bases = [kinds[name] for name in abilities] + ([WithLimits] if limited and "sums" not in abilities else [])
    return type("PartExamples", tuple(bases) or (PartExamples,), {})


def part_examples(
    structure: Any, features: Features, costs: Costs, gold: Outputs, limits: Costs | None = None
) -> PartExamples:
    """Examples with all abilities that follow from the methods of the structure.

    If gold is only partly known, `limits` say which parts agree with it (`WithLimits`).
    """
    kind = _kind(tuple(name for name in ABILITIES if hasattr(structure, name)), limits is not None)
    examples = kind(structure, features, costs, gold)
    if isinstance(examples, WithLimits) and limits is not None:
        examples.limits = limits
    return examples
