"""Graphs that HiGHS solves (`decoders.polytope`): exactly, or relaxed to fractions of labels."""

from collections.abc import Sequence

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.decoders.coverage import Limits
from widemargin.decoders.elimination import Elimination
from widemargin.decoders.polytope import Polytope, polytope, solve
from widemargin.errors import DataError
from widemargin.structures.flat import NOTHING, Numbers, Parts, Scores, some
from widemargin.structures.graph import Graphs
from widemargin.structures.graph_batch import Shape

OPEN = 1e-5
"""A gap that is larger than this, beside the scores, is closed by an integer programme."""

LIMITS = Limits(nodes=10_000)
"""When HiGHS gives up a graph. Its bound counts then, so what is learnt is proven nonetheless."""


class SolvedGraphs(Graphs):
    """Graphs whose gap, where elimination or block ascent leaves one, is closed by an integer programme."""

    def __init__(
        self, shapes: Sequence[Shape], plans: Sequence[Elimination | None] | None = None, limits: Limits = LIMITS
    ) -> None:
        super().__init__(shapes, plans)
        self.limits, self._polytopes = limits, dict[int, Polytope]()

    @property
    def about(self) -> str:
        """How many graphs may need programmes."""
        bounded = super().about
        return f"{bounded}, whose gaps integer programmes close" if bounded else ""

    def best(self, scores: Scores) -> FloatVector:
        """The best labels; with a bound if HiGHS gives up."""
        found = super().best(scores)
        lengths = self.lengths(scores.sizes)
        ends = np.cumsum(lengths)
        totals = self.total(scores, found)
        for k in np.flatnonzero(found[ends - 1] > OPEN * (1.0 + np.abs(totals))).tolist():
            at, output = np.array([k]), found[ends[k] - lengths[k] : ends[k]]
            theta = theta_of(self, scores, k)
            point = solve(self.polytope_of(int(scores.sizes[k])), theta, whole=True, limits=self.limits)
            total = totals[k]
            if point.mu is not None:
                other = np.append(labels_of(self.shapes[scores.sizes[k]], point.mu), 0.0)
                better = self.total(some(scores, at), other)[0]
                if better > total:
                    output[:-1], output[-1], total = other[:-1], output[-1] - (better - total), better
            output[-1] = max(min(output[-1], point.bound - total), 0.0)
        return found

    def polytope_of(self, size: int) -> Polytope:
        """The equations of a graph."""
        if size not in self._polytopes:
            self._polytopes[size] = polytope(*self.shapes[size])
        return self._polytopes[size]


class RelaxedGraphs(SolvedGraphs):
    """Graphs whose outputs may have fractions of labels: the best one is that of a linear programme.

    An output is a number between 0 and 1 for each part, then the excess. There are outputs of this kind that no labels
    have, so what is proven is about this larger problem.
    """

    @property
    def about(self) -> str:
        """That the proof is not about labels."""
        return "of the relaxed problem, whose outputs may have fractions of labels"

    def lengths(self, sizes: LongVector) -> LongVector:
        """A number for each part, and the excess."""
        return self.n_own(sizes) + 1

    def parts(self, sizes: LongVector, outputs: FloatVector) -> Numbers:
        """Refused: fractions are no set of parts."""
        raise DataError("relaxed outputs have fractions of parts, not a set of them")

    def best(self, scores: Scores) -> FloatVector:
        """The solution of each graph's linear programme."""
        found = np.empty(int(self.lengths(scores.sizes).sum()))
        write = 0
        for k, size in enumerate(scores.sizes.tolist()):
            theta, n = theta_of(self, scores, k), self.shapes[size].n_own
            point = solve(self.polytope_of(size), theta, whole=False) if n else None
            output = found[write : write + n + 1]
            output[n] = 0.0
            if point is not None and point.mu is not None:
                output[:n] = point.mu
                there = point.mu > 0.0
                output[n] = max(point.bound - float((theta[there] * point.mu[there]).sum()), 0.0)
            elif n:
                raise DataError("scores of −∞ forbid all outputs of a graph")
            write += n + 1
        return found

    def total(self, scores: Scores, outputs: FloatVector) -> FloatVector:
        """⟨θ, μ⟩ of each example."""
        totals = []
        for k, mu in enumerate(self._each(scores.sizes, outputs)):
            there = mu > 0.0
            totals.append((theta_of(self, scores, k)[there] * mu[there]).sum())
        return np.array(totals, dtype=np.float64)

    def change(self, sizes: LongVector, gold: FloatVector, outputs: FloatVector) -> Parts:
        """μ of gold minus μ of the output, where they differ."""
        apart = [right - mu for right, mu in zip(self._each(sizes, gold), self._each(sizes, outputs), strict=True)]
        where = [np.flatnonzero(each) for each in apart]
        values = [each[at] for each, at in zip(apart, where, strict=True)]
        return Parts(
            boundaries([len(at) for at in where]),
            np.concatenate([np.empty(0, dtype=np.int64), *where]),
            np.concatenate([NOTHING, *values]),
        )

    def outputs_of(self, sizes: LongVector, labels: Sequence[Sequence[int] | IntVector]) -> FloatVector:
        """1 for the parts that these labels have."""
        plain = super().outputs_of(sizes, labels)
        chosen = super().parts(sizes, plain)
        found = np.zeros(int(self.lengths(sizes).sum()))
        first = np.repeat(boundaries(self.lengths(sizes))[:-1], np.diff(chosen.indptr))
        found[first + chosen.numbers] = 1.0
        return found

    def labels(self, sizes: LongVector, outputs: FloatVector) -> list[IntVector]:
        """The label with the largest share of each node."""
        each = zip(sizes.tolist(), self._each(sizes, outputs), strict=True)
        return [labels_of(self.shapes[size], mu) for size, mu in each]

    def wrong(self, sizes: LongVector, outputs: FloatVector, gold: IntVector) -> FloatVector:
        """How much of each node has another label than gold."""
        places, at = [NOTHING], 0
        for size, mu in zip(sizes.tolist(), self._each(sizes, outputs), strict=True):
            shape = self.shapes[size]
            right = gold[at : at + len(shape.widths)]
            at += len(right)
            places.append(1.0 - mu[shape.at_node + np.maximum(right, 0)])
        return np.concatenate(places)

    def _each(self, sizes: LongVector, outputs: FloatVector) -> list[FloatVector]:
        return [each[:-1] for each in np.split(outputs, np.cumsum(self.lengths(sizes))[:-1])]


def theta_of(structure: Graphs, scores: Scores, k: int) -> FloatVector:
    """θ of example k of a batch."""
    begin = int(scores.starts[k])
    return scores.own[begin : begin + structure.shapes[scores.sizes[k]].n_own]


def labels_of(shape: Shape, mu: FloatVector) -> IntVector:
    """The label with the largest μ of each node."""
    at = zip(shape.at_node.tolist(), shape.widths.tolist(), strict=True)
    return np.array([mu[begin : begin + width].argmax() for begin, width in at], dtype=np.int32)
