"""Labelled graphs: nodes with labels, of one type or several, and edges between any of them.

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)

The own parts of a graph are the labels of its nodes, node after node, then the pairs of labels of its edges, edge after
edge, the label of the second end running first. There are no shared parts: features say which weights edges have in
common (`structures.tied_rows`).

How a graph is decoded depends on its shape. With few loops it is exact (`decoders.elimination`); `ExactGraphs` has only
such graphs, so it can also sum over all outputs. Elsewhere `decoders.block_ascent` finds labels and an upper bound on
the score of every output. So outputs are vectors of numbers: the labels of the nodes, and by how much another output
may score higher. What is learnt from them is proven nonetheless (`core.examples.Bounded`).

The size of an example is its number among the `shapes`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import boundaries
from widemargin.decoders.block_ascent import Graph, ascend
from widemargin.decoders.elimination import Elimination, eliminate, elimination, marginals, read_back
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Flat, Numbers, Scores
from widemargin.structures.parts import Sums

ROUNDS = 200
"""How often block ascent passes over a graph there and back, at most."""

PATIENCE = 10
"""After how many rounds that close less than a hundredth of the gap it stops."""

ROUNDING = 1e-13
"""Added to each bound, relative to Σ|θ|: messages are sums of scores, however small the bound that is left of them."""


class Shape(NamedTuple):
    """A graph without scores: how many labels each node has, the ends of its edges, and where their parts begin."""

    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector
    n_own: int


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


class _Flat(NamedTuple):
    """All shapes end to end: graph i has the nodes nodes[i] … nodes[i + 1] − 1 and the edges edges[i] …"""

    nodes: LongVector
    edges: LongVector
    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector


@kernel
def _parts(flat: _Flat, graphs: LongVector, outputs: FloatVector) -> tuple[LongVector, LongVector]:
    count = 0
    for i in graphs:
        count += flat.nodes[i + 1] - flat.nodes[i] + flat.edges[i + 1] - flat.edges[i]
    indptr, numbers = np.zeros(len(graphs) + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
    write = read = 0
    for k in range(len(graphs)):
        first, last = flat.nodes[graphs[k]], flat.nodes[graphs[k] + 1]
        for v in range(first, last):
            numbers[write] = flat.at_node[v] + int(outputs[read + v - first])
            write += 1
        for e in range(flat.edges[graphs[k]], flat.edges[graphs[k] + 1]):
            u, v = flat.ends[e, 0], flat.ends[e, 1]
            pair = int(outputs[read + u]) * flat.widths[first + v] + int(outputs[read + v])
            numbers[write] = flat.at_edge[e] + pair
            write += 1
        read += last - first + 1
        indptr[k + 1] = write
    return indptr, numbers


class Graphs(Flat):
    """Graphs of any shape; those with many loops are decoded with a bound.

    Parameters
    ----------
    shapes : a shape for each example
    rounds, patience : when block ascent stops
    """

    def __init__(self, shapes: Sequence[Shape], *, rounds: int = ROUNDS, patience: int = PATIENCE) -> None:
        self.shapes, self.rounds, self.patience = shapes, rounds, patience
        self._n_own = np.array([shape.n_own for shape in shapes], dtype=np.int64)
        self._n_nodes = np.array([len(shape.widths) for shape in shapes], dtype=np.int64)
        self._plans: dict[int, Elimination | None] = {}

    def n_own(self, sizes: LongVector) -> LongVector:
        """The labels of nodes and the pairs of edges."""
        return self._n_own[sizes]

    def lengths(self, sizes: LongVector) -> LongVector:
        """A label for each node, and the excess."""
        return self._n_nodes[sizes] + 1

    def parts(self, sizes: LongVector, outputs: FloatVector) -> Numbers:
        """The label of each node and the pair of each edge."""
        return Numbers(*_parts(self._flat, sizes, outputs))

    def excess(self, sizes: LongVector, outputs: FloatVector) -> FloatVector:
        """By how much another output may score higher than each of these, which `best` has returned."""
        return outputs[np.cumsum(self.lengths(sizes)) - 1]

    def labels(self, sizes: LongVector, outputs: FloatVector) -> list[IntVector]:
        """The labels of the nodes of each example."""
        return [each[:-1].astype(np.int32) for each in np.split(outputs, np.cumsum(self.lengths(sizes))[:-1])]

    def plan(self, graph: int) -> Elimination | None:
        """How to decode this graph exactly; None if it has too many loops."""
        if graph not in self._plans:
            self._plans[graph] = elimination(*self.shapes[graph])
        return self._plans[graph]

    def best(self, scores: Scores) -> FloatVector:
        """The best labels, or labels with a bound on the best score."""
        found, write = np.empty(int(self.lengths(scores.sizes).sum())), 0
        for graph, begin in zip(scores.sizes.tolist(), scores.starts.tolist(), strict=True):
            own, plan, n = scores.own[begin : begin + self._n_own[graph]], self.plan(graph), int(self._n_nodes[graph])
            out = found[write : write + n + 1]
            if plan is None:
                total, bound = self._ascended(graph, own, out)
                size = np.abs(own[np.isfinite(own)]).sum()
                out[n] = max(bound - total, 0.0) + ROUNDING * (1.0 + size)
            else:
                values = _with_messages(plan, own)
                eliminate(plan, values, False)
                read_back(plan, values, np.empty(0), out)
                out[n] = 0.0
            write += n + 1
        return found

    def _ascended(self, graph: int, own: FloatVector, out: FloatVector) -> tuple[float, float]:
        shape = self.shapes[graph]
        edges, near, places = self._near[graph]
        messages = np.zeros(int(shape.widths[shape.ends].sum()))
        given = Graph(own, shape.widths, shape.ends, shape.at_node, shape.at_edge, edges, near, places, messages)
        return ascend(given, self.rounds, self.patience, out)

    @cached_property
    def _near(self) -> list[tuple[LongVector, LongVector, LongMatrix]]:
        """For each graph where the edges of each node begin, their numbers, and where the messages over them begin."""
        found = []
        for shape in self.shapes:
            edges = boundaries(np.bincount(shape.ends.ravel(), minlength=len(shape.widths)))
            near = np.argsort(shape.ends.ravel(), kind="stable") // 2
            places = boundaries(shape.widths[shape.ends].ravel())[:-1].reshape(-1, 2)
            found.append((edges, near, places))
        return found

    @cached_property
    def _flat(self) -> _Flat:
        ends = [shape.ends for shape in self.shapes]
        return _Flat(
            boundaries(self._n_nodes),
            boundaries([len(each) for each in ends]),
            np.concatenate([np.empty(0, np.int64), *(shape.widths for shape in self.shapes)]),
            np.concatenate([np.empty((0, 2), np.int64), *ends]),
            np.concatenate([np.empty(0, np.int64), *(shape.at_node for shape in self.shapes)]),
            np.concatenate([np.empty(0, np.int64), *(shape.at_edge for shape in self.shapes)]),
        )


def _with_messages(plan: Elimination, own: FloatVector) -> FloatVector:
    values = np.empty(plan.messages[-1])
    values[: len(own)] = own
    return values


class ExactGraphs(Graphs):
    """Graphs with few loops: sums over all outputs, max-marginals and samples are exact as well."""

    def _plan(self, graph: int) -> Elimination:
        plan = self.plan(graph)
        assert plan is not None, f"graph {graph} has too many loops"
        return plan

    def sums(self, scores: Scores) -> Sums:
        """log Z, and the probabilities of labels and pairs."""
        counts, log_z = self.no_counts(scores), np.empty(len(scores.sizes))
        for k, (graph, begin) in enumerate(zip(scores.sizes.tolist(), scores.starts.tolist(), strict=True)):
            end = begin + self._n_own[graph]
            log_z[k], found = self._marginals(graph, scores.own[begin:end], summing=True)
            counts.own[begin:end] = found
        return Sums(log_z, counts)

    def through(self, scores: Scores) -> FloatMatrix:
        """A row for each node: the score of the best output with each label; −∞ for labels that others have."""
        own = np.empty(len(scores.own))
        for graph, begin in zip(scores.sizes.tolist(), scores.starts.tolist(), strict=True):
            end = begin + self._n_own[graph]
            own[begin:end] = self._marginals(graph, scores.own[begin:end], summing=False)[1]
        return self._rows(scores.starts, scores.sizes, own, -np.inf)

    def own(self, counts: Counts) -> FloatMatrix:
        """The labels of nodes, a row for each node; 0 for labels that only other nodes have."""
        return self._rows(counts.starts, counts.sizes, counts.own, 0.0)

    def positions(self, sizes: LongVector) -> LongVector:
        """A position per node."""
        return self._n_nodes[sizes]

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> FloatMatrix:
        """Sums on the way there, a draw for each node on the way back."""
        lengths = self.lengths(scores.sizes)
        found, uniforms, write = np.zeros((n, int(lengths.sum()))), rng.random((n, int(lengths.sum()))), 0
        for graph, begin in zip(scores.sizes.tolist(), scores.starts.tolist(), strict=True):
            plan, at = self._plan(graph), slice(write, write + int(self._n_nodes[graph]))
            values = _with_messages(plan, scores.own[begin : begin + self._n_own[graph]])
            eliminate(plan, values, True)
            for draw, chance in zip(found, uniforms, strict=True):
                read_back(plan, values, chance[at], draw[at])
            write += int(self._n_nodes[graph]) + 1
        return found

    def _marginals(self, graph: int, own: FloatVector, *, summing: bool) -> tuple[float, FloatVector]:
        plan = self._plan(graph)
        values, out = _with_messages(plan, own), np.empty(plan.messages[-1])
        total = eliminate(plan, values, summing)
        marginals(plan, values, total, summing, out)
        return total, out[: len(own)]

    def _rows(self, starts: LongVector, graphs: LongVector, own: FloatVector, empty: float) -> FloatMatrix:
        """The labels of all nodes, a row for each node, as wide as the widest of all graphs."""
        nodes = [self.shapes[graph] for graph in graphs.tolist()]
        widths = np.concatenate([np.empty(0, np.int64), *(shape.widths for shape in nodes)])
        first = np.concatenate([np.empty(0, np.int64), *(s + n.at_node for s, n in zip(starts, nodes, strict=True))])
        column = np.arange(self._flat.widths.max(initial=1))
        there = column < widths[:, None]
        rows = np.full(there.shape, empty)
        rows[there] = own[(first[:, None] + column)[there]]
        return rows


def graphs(shapes: Sequence[Shape]) -> Graphs:
    """The structure of these graphs: `ExactGraphs` if all of them can be decoded exactly."""
    found = ExactGraphs(shapes)
    return found if all(found.plan(graph) is not None for graph in range(len(shapes))) else Graphs(shapes)


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
        self.places = boundaries(structure.lengths(sizes) - 1)

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of labels, times each example's scale; pairs cost nothing."""
        room.own[:] = 0.0
        for i, scale, begin in zip(batch.tolist(), scales.tolist(), room.starts.tolist(), strict=True):
            if scale:
                self._fill(i, scale, begin, room.own)

    def _fill(self, i: int, scale: float, begin: int, own: FloatVector) -> None:
        shape, at = self.structure.shapes[self.sizes[i]], slice(self.places[i], self.places[i + 1])
        gold, weights = self.gold[at], np.where(self.gold[at] < 0, 0.0, scale * self.weights[at])
        labels = own[begin : begin + shape.widths.sum()]
        labels[:] = np.repeat(weights, shape.widths)
        labels[(shape.at_node + gold)[gold >= 0]] = 0.0

    def errors(self, batch: IntVector, outputs: FloatVector) -> FloatVector:
        """The weights of wrong labels, summed for each example."""
        lengths = self.structure.lengths(self.sizes[batch])
        ends = boundaries(lengths)
        labels = np.delete(outputs, ends[1:] - 1)
        at = np.concatenate([np.arange(self.places[i], self.places[i + 1]) for i in batch])
        wrong = (self.gold[at] >= 0) & (labels != self.gold[at])
        example = np.repeat(np.arange(len(batch)), lengths - 1)
        errors: FloatVector = np.bincount(example, weights=wrong * self.weights[at], minlength=len(batch)).astype(float)
        return errors

    def most(self) -> FloatVector:
        """The error with all labels wrong."""
        return np.array([self.weights[a:b].sum() for a, b in zip(self.places[:-1], self.places[1:], strict=True)])


class GraphLimits(GraphCosts):
    """Limits of partly known gold: labels other than the known ones cost −∞."""

    def _fill(self, i: int, scale: float, begin: int, own: FloatVector) -> None:
        shape, at = self.structure.shapes[self.sizes[i]], slice(self.places[i], self.places[i + 1])
        gold = self.gold[at]
        labels = own[begin : begin + shape.widths.sum()]
        labels[np.repeat(gold >= 0, shape.widths)] = -np.inf
        labels[(shape.at_node + gold)[gold >= 0]] = 0.0


def gold_outputs(structure: Graphs, sizes: LongVector, labels: Sequence[Sequence[int] | IntVector]) -> FloatVector:
    """These labels as outputs, end to end: nothing scores higher than gold needs to."""
    return np.concatenate([np.empty(0), *(np.append(np.asarray(each, dtype=np.float64), 0.0) for each in labels)])
