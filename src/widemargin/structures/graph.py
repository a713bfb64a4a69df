"""Labelled graphs: nodes with labels, of one type or several, and edges between any of them.

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)

The own parts of a graph are the labels of its nodes, node after node, then the pairs of labels of its edges, edge after
edge, the label of the second end running first. There are no shared parts: features say which weights edges have in
common (`structures.part_rows`).

How a graph is decoded depends on its shape. With few loops it is exact (`decoders.elimination`); `ExactGraphs` has only
such graphs, so it can also sum over all outputs. Elsewhere `decoders.block_ascent` finds labels and an upper bound on
the score of every output. So outputs are vectors of numbers: the labels of the nodes, and by how much another output
may score higher. What is learnt from them is proven nonetheless (`core.examples.Bounded`).

The size of an example is its number among the `shapes`.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import boundaries, sums
from widemargin.decoders.elimination import Elimination, elimination
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, places_of
from widemargin.structures.graph_batch import (
    Shape,
    decode,
    draw,
    fill_errors,
    parts_of,
    shapes_of,
    sum_up,
    ways_of,
)
from widemargin.structures.parts import Sums

Inference = Literal["auto", "bounded", "exact", "relaxed"]

ROUNDS = 200
"""How often block ascent passes over a graph there and back, at most."""

PATIENCE = 10
"""After how many rounds that close less than a hundredth of the gap it stops."""

CHOICES = 1 << 14
"""How many choices of labels a search holds, all nodes together: some milliseconds."""

ROUNDING = 1e-13
"""Added to each bound, relative to Σ|θ|: messages are sums of scores, however small the bound that is left of them."""


def shape_of(widths: Sequence[int] | LongVector, ends: Sequence[Sequence[int]] | LongMatrix) -> Shape:
    """The shape of a graph whose nodes have `widths` labels, with an edge between the `ends` in each row."""
    labels = np.asarray(widths, dtype=np.int64).reshape(-1)
    pairs = np.asarray(ends, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and not 0 <= pairs.min() <= pairs.max() < len(labels):
        wrong = int(np.flatnonzero((pairs < 0) | (pairs >= len(labels)))[0]) // 2
        u, v = pairs[wrong].tolist()
        raise DataError(f"edge {wrong} joins {u} and {v}, but the nodes are 0 … {len(labels) - 1}")
    if np.any(pairs[:, 0] == pairs[:, 1]):
        wrong = int(np.flatnonzero(pairs[:, 0] == pairs[:, 1])[0])
        raise DataError(f"edge {wrong} joins the node {pairs[wrong, 0]} with itself")
    ends_of_nodes, ends_of_edges = boundaries(labels), boundaries(labels[pairs[:, 0]] * labels[pairs[:, 1]])
    at_edge = ends_of_nodes[-1] + ends_of_edges
    return Shape(labels, pairs, ends_of_nodes[:-1], at_edge[:-1], int(at_edge[-1]))


class Graphs(Flat):
    """Graphs of any shape; those with many loops are decoded with a bound.

    Parameters
    ----------
    shapes : a shape for each example
    plans : how to decode each exactly; None, for one or for all, if block ascent is to decode it
    rounds, patience, choices : when block ascent stops, and how many labels its searches try (`decoders.block_ascent`)
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        plans: Sequence[Elimination | None] | None = None,
        *,
        rounds: int = ROUNDS,
        patience: int = PATIENCE,
        choices: int = CHOICES,
    ) -> None:
        self.shapes, self.rounds, self.patience, self.choices = shapes, rounds, patience, choices
        self.flat, self.ways = shapes_of(shapes), ways_of(shapes, plans or [None] * len(shapes))
        self._n_nodes = np.diff(self.flat.nodes)

    @property
    def about(self) -> str:
        """How many shapes are decoded with bounds; many graphs may have the same one."""
        n_bounded = int((np.diff(self.ways.net_at[1]) > 0).sum())
        return f"{n_bounded} of {len(self.shapes)} shapes of graphs are decoded with bounds" if n_bounded else ""

    def n_own(self, sizes: LongVector) -> LongVector:
        """The labels of nodes and the pairs of edges."""
        return self.flat.n_own[sizes]

    def lengths(self, sizes: LongVector) -> LongVector:
        """A label for each node, and the excess."""
        return self._n_nodes[sizes] + 1

    def parts(self, sizes: LongVector, outputs: FloatVector) -> Numbers:
        """The label of each node and the pair of each edge."""
        return Numbers(*parts_of(self.flat, sizes, outputs))

    def excess(self, sizes: LongVector, outputs: FloatVector) -> FloatVector:
        """By how much another output may score higher than each of these, which `best` has returned."""
        return outputs[np.cumsum(self.lengths(sizes)) - 1]

    def labels(self, sizes: LongVector, outputs: FloatVector) -> list[IntVector]:
        """The labels of the nodes of each example."""
        return [each[:-1].astype(np.int32) for each in np.split(outputs, np.cumsum(self.lengths(sizes))[:-1])]

    def outputs_of(self, sizes: LongVector, labels: Sequence[Sequence[int] | IntVector]) -> FloatVector:
        """These labels as outputs, end to end; the excess of each is 0."""
        return np.concatenate([np.empty(0), *(np.append(np.asarray(each, dtype=np.float64), 0.0) for each in labels)])

    def wrong(self, sizes: LongVector, outputs: FloatVector, gold: IntVector) -> FloatVector:
        """1 for each node whose label is not the gold one, 0 for all others."""
        labels = np.delete(outputs, np.cumsum(self.lengths(sizes)) - 1)
        return (labels != gold).astype(np.float64)

    def best(self, scores: Scores) -> FloatVector:
        """The best labels, or labels with a bound on the best score."""
        found, limits = (
            np.empty(int(self.lengths(scores.sizes).sum())),
            (self.rounds, self.patience, self.choices, ROUNDING),
        )
        decode(self.flat, self.ways, scores.sizes, scores.starts, scores.own, *limits, found)
        return found


class ExactGraphs(Graphs):
    """Graphs with few loops: sums over all outputs, max-marginals and samples are exact as well."""

    def __init__(self, shapes: Sequence[Shape], plans: Sequence[Elimination | None] | None = None) -> None:
        plans = plans_of(shapes) if plans is None else plans
        if None in plans:
            raise DataError(f"graph {plans.index(None)} has too many loops to be decoded exactly")
        super().__init__(shapes, plans)

    def sums(self, scores: Scores) -> Sums:
        """log Z, and the probabilities of labels and pairs."""
        counts, log_z = self.no_counts(scores), np.empty(len(scores.sizes))
        self._sum_up(scores, True, log_z, counts.own)
        return Sums(log_z, counts)

    def through(self, scores: Scores) -> FloatMatrix:
        """A row for each node: the score of the best output with each label; −∞ for labels that others have."""
        own = np.empty(len(scores.own))
        self._sum_up(scores, False, np.empty(len(scores.sizes)), own)
        return self._rows(scores.starts, scores.sizes, own, -np.inf)

    def own(self, counts: Counts) -> FloatMatrix:
        """The labels of nodes, a row for each node; 0 for labels that only other nodes have."""
        return self._rows(counts.starts, counts.sizes, counts.own, 0.0)

    def positions(self, sizes: LongVector) -> LongVector:
        """A position per node."""
        return self._n_nodes[sizes]

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> FloatMatrix:
        """Sums on the way there, a draw for each node on the way back."""
        found = np.zeros((n, int(self.lengths(scores.sizes).sum())))
        draw(self.flat, self.ways, scores.sizes, scores.starts, scores.own, rng.random(found.shape), found)
        return found

    def _sum_up(self, scores: Scores, summing: bool, totals: FloatVector, found: FloatVector) -> None:
        sum_up(self.flat, self.ways, scores.sizes, scores.starts, scores.own, summing, totals, found)

    def _rows(self, starts: LongVector, graphs: LongVector, own: FloatVector, empty: float) -> FloatMatrix:
        """The labels of all nodes, a row for each node, as wide as the widest of all graphs."""
        nodes = [self.shapes[graph] for graph in graphs.tolist()]
        widths = np.concatenate([np.empty(0, np.int64), *(shape.widths for shape in nodes)])
        first = np.concatenate([np.empty(0, np.int64), *(s + n.at_node for s, n in zip(starts, nodes, strict=True))])
        column = np.arange(self.flat.widths.max(initial=1))
        there = column < widths[:, None]
        rows = np.full(there.shape, empty)
        rows[there] = own[(first[:, None] + column)[there]]
        return rows


def plans_of(shapes: Sequence[Shape]) -> list[Elimination | None]:
    """How to decode each graph exactly; None for those with too many loops."""
    return [elimination(*shape) for shape in shapes]


def graphs(shapes: Sequence[Shape], *, inference: Inference = "auto") -> Graphs:
    """The structure of these graphs.

    `auto` decodes graphs with few loops exactly, and others with a bound; if all have few loops, the structure is
    `ExactGraphs`. `bounded` decodes all of them with a bound. `exact` is `auto`, but integer programmes close the gaps
    that bounds leave. `relaxed` has fractions of labels as outputs, the solutions of linear programmes
    (`structures.graph_programmes`).
    """
    if inference in ("exact", "relaxed"):
        from widemargin.structures.graph_programmes import RelaxedGraphs, SolvedGraphs

        plans = plans_of(shapes) if inference == "exact" else None
        if plans is not None and None not in plans:
            return ExactGraphs(shapes, plans)
        return RelaxedGraphs(shapes) if plans is None else SolvedGraphs(shapes, plans)
    if inference == "bounded":
        return Graphs(shapes)
    plans = plans_of(shapes)
    return Graphs(shapes, plans) if None in plans else ExactGraphs(shapes, plans)


class GraphCosts:
    """Δ(y) = Σ_v weight_v [y_v ≠ gold_v] (`structures.parts.Costs`); a gold label of −1 is unknown and costs nothing.

    Parameters
    ----------
    structure, sizes : the graphs, and which of them each example is
    gold : the gold labels of all examples, end to end
    weights : of each node's error, in the same order
    """

    def __init__(self, structure: Graphs, sizes: LongVector, gold: IntVector, weights: FloatVector) -> None:
        self.structure, self.sizes, self.gold, self.weights = structure, sizes, gold, weights
        self.places = boundaries(np.array([len(structure.shapes[size].widths) for size in sizes.tolist()]))

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of labels, times each example's scale; pairs cost nothing."""
        gold = (self.places[batch], self.gold, self.weights)
        fill_errors(self.structure.flat, self.sizes[batch], *gold, scales, room.starts, room.own)

    def errors(self, batch: IntVector, outputs: FloatVector) -> FloatVector:
        """The weights of wrong labels, summed for each example."""
        sizes, first = self.sizes[batch], self.places[batch]
        n_nodes = self.places[batch + 1] - first
        at, example = places_of(first, n_nodes), np.repeat(np.arange(len(batch)), n_nodes)
        gold = self.gold[at]
        wrong = np.where(gold >= 0, self.structure.wrong(sizes, outputs, gold), 0.0)
        errors: FloatVector = np.bincount(example, weights=wrong * self.weights[at], minlength=len(batch)).astype(float)
        return errors

    def most(self) -> FloatVector:
        """The error with all labels wrong."""
        return sums(self.weights, self.places)


class GraphLimits(GraphCosts):
    """Limits of partly known gold: labels other than the known ones cost −∞."""

    def __init__(self, structure: Graphs, sizes: LongVector, gold: IntVector, weights: FloatVector) -> None:
        super().__init__(structure, sizes, gold, np.full(len(weights), -np.inf))


def gold_outputs(structure: Graphs, sizes: LongVector, labels: Sequence[Sequence[int] | IntVector]) -> FloatVector:
    """These labels as outputs, end to end: nothing scores higher than gold needs to."""
    return structure.outputs_of(sizes, labels)
