"""Batches of graphs: all shapes end to end, and kernels that visit the graphs of a batch one after the other."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, LongMatrix, LongVector
from widemargin.core.sparse import boundaries
from widemargin.decoders.block_ascent import ascend
from widemargin.decoders.cut import cut
from widemargin.decoders.cycles import cycles
from widemargin.decoders.elimination import Elimination, eliminate, marginals, read_back
from widemargin.decoders.messages import Graph

T = TypeVar("T", bound=tuple[Any, ...])


class Shape(NamedTuple):
    """A graph without scores: how many labels each node has, the ends of its edges, and where their parts begin."""

    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector
    n_own: int


class Shapes(NamedTuple):
    """All shapes end to end: graph i has the nodes nodes[i] … nodes[i + 1] − 1, n_own[i] parts."""

    nodes: LongVector
    edges: LongVector
    n_own: LongVector
    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector


class Net(NamedTuple):
    """What block ascent asks of a graph's shape: `messages.Graph` without scores, and its triples.

    The last edges are chords with no scores. The edges of node v that are none end at near[last[v]].
    """

    ends: LongMatrix
    at_edge: LongVector
    first: LongVector
    last: LongVector
    near: LongVector
    places: LongMatrix
    triples: LongMatrix
    sides: LongMatrix


class Ways(NamedTuple):
    """How to decode each graph: by its `Elimination`, or else by its `Net`; both end to end, those of one graph empty.

    Field f of graph i's elimination has the entries plan_at[f, i] … plan_at[f, i + 1] − 1 of `plans[f]`.
    """

    plan_at: LongMatrix
    plans: Elimination
    net_at: LongMatrix
    nets: Net


NO_PLAN = Elimination(*(np.empty(0, dtype=np.int64) for _ in Elimination._fields))
NO_GRAPH = Shape(NO_PLAN.widths, np.empty((0, 2), dtype=np.int64), NO_PLAN.widths, NO_PLAN.widths, 0)


def shapes_of(shapes: Sequence[Shape]) -> Shapes:
    """Shapes end to end."""
    at, each = _joined([shape[:-1] for shape in [*shapes, NO_GRAPH]])
    return Shapes(at[0], at[1], np.array([shape.n_own for shape in shapes], dtype=np.int64), *each)


def net_of(shape: Shape) -> Net:
    """The net of a graph."""
    n = len(shape.widths)
    found = cycles(shape.widths, shape.ends)
    ends = np.concatenate([shape.ends, found.chords])
    pairs = boundaries(shape.widths[ends].prod(axis=1))[:-1]
    first = boundaries(np.bincount(ends.ravel(), minlength=n))[:-1]
    return Net(
        ends,
        shape.widths.sum() + pairs,
        first,
        first + np.bincount(shape.ends.ravel(), minlength=n),
        np.argsort(ends.ravel(), kind="stable") // 2,
        boundaries(shape.widths[ends].ravel())[:-1].reshape(-1, 2),
        found.triples,
        found.sides,
    )


def ways_of(shapes: Sequence[Shape], plans: Sequence[Elimination | None]) -> Ways:
    """How to decode each shape: by its plan, where there is one."""
    nets = [net_of(shape if plan is None else NO_GRAPH) for shape, plan in zip(shapes, plans, strict=True)]
    plan_at, flat = _joined([*(NO_PLAN if plan is None else plan for plan in plans), NO_PLAN])
    net_at, flat_nets = _joined([*nets, net_of(NO_GRAPH)])
    return Ways(plan_at, Elimination(*flat), net_at, Net(*flat_nets))


def _joined(each: Sequence[tuple[Any, ...]]) -> tuple[LongMatrix, list[Any]]:
    """The arrays of all items, end to end for each field, and where those of each item begin."""
    fields = list(zip(*each, strict=True))
    at = np.stack([boundaries([len(array) for array in field]) for field in fields])
    return at, [np.concatenate(field) for field in fields]


@kernel
def _plan_of(ways: Ways, i: int) -> Elimination:
    """The elimination of graph i; all of its fields are empty if there is none."""
    at, all_ = ways.plan_at, ways.plans
    return Elimination(
        all_.nodes[at[0, i] : at[0, i + 1]],
        all_.widths[at[1, i] : at[1, i + 1]],
        all_.scopes[at[2, i] : at[2, i + 1]],
        all_.scope[at[3, i] : at[3, i + 1]],
        all_.sizes[at[4, i] : at[4, i + 1]],
        all_.tables[at[5, i] : at[5, i + 1]],
        all_.bases[at[6, i] : at[6, i + 1]],
        all_.strides[at[7, i] : at[7, i + 1]],
        all_.steps[at[8, i] : at[8, i + 1]],
        all_.messages[at[9, i] : at[9, i + 1]],
    )


@kernel
def _net_of(ways: Ways, i: int) -> Net:
    at, all_ = ways.net_at, ways.nets
    return Net(
        all_.ends[at[0, i] : at[0, i + 1]],
        all_.at_edge[at[1, i] : at[1, i + 1]],
        all_.first[at[2, i] : at[2, i + 1]],
        all_.last[at[3, i] : at[3, i + 1]],
        all_.near[at[4, i] : at[4, i + 1]],
        all_.places[at[5, i] : at[5, i + 1]],
        all_.triples[at[6, i] : at[6, i + 1]],
        all_.sides[at[7, i] : at[7, i + 1]],
    )


class Effort(NamedTuple):
    """The ways to decode graphs without a plan: cuts, and limits of block ascent (`decoders.block_ascent`)."""

    cuts: bool
    rounds: int
    patience: int
    choices: int
    rounding: float


@kernel
def _bounded(
    shapes: Shapes, net: Net, i: int, own: FloatVector, effort: Effort, out: FloatVector
) -> tuple[float, float]:
    """Decode graph i by a cut or by block ascent; return the score of its labels and the bound."""
    begin, end, n_edges = shapes.nodes[i], shapes.nodes[i + 1], shapes.edges[i + 1] - shapes.edges[i]
    widths, at_node, n_parts, n_messages = shapes.widths[begin:end], shapes.at_node[begin:end], len(own), 0
    for e in range(len(net.ends)):
        u, v = net.ends[e]
        n_parts += widths[u] * widths[v] if e >= n_edges else 0
        n_messages += widths[u] + widths[v]
    ends, at_edge, m = net.ends[:n_edges], net.at_edge[:n_edges], np.zeros(n_messages)
    plain = Graph(own, widths, ends, at_node, at_edge, net.first, net.last, net.near, net.places, m)
    if effort.cuts:
        done, score, bound = cut(plain, out)
        if done:
            return score, bound
    theta = np.zeros(n_parts)
    theta[: len(own)] = own
    last = np.empty(len(net.first), dtype=np.int64)
    last[:-1], last[-1:] = net.first[1:], len(net.near)
    wide = Graph(theta, widths, net.ends, at_node, net.at_edge, net.first, last, net.near, net.places, m)
    return ascend(plain, wide, net.triples, net.sides, effort.rounds, effort.patience, effort.choices, out)


@kernel
def decode(
    shapes: Shapes,
    ways: Ways,
    graphs: LongVector,
    starts: LongVector,
    own: FloatVector,
    effort: Effort,
    out: FloatVector,
) -> None:
    """The best labels of each graph, or good ones, and behind them by how much others may score higher."""
    write = 0
    for k in range(len(graphs)):
        i = graphs[k]
        scores, n = own[starts[k] : starts[k] + shapes.n_own[i]], shapes.nodes[i + 1] - shapes.nodes[i]
        found, plan = out[write : write + n + 1], _plan_of(ways, i)
        found[n] = 0.0
        if len(plan.messages) > 0:
            values = np.empty(plan.messages[-1])
            values[: len(scores)] = scores
            eliminate(plan, values, False)
            read_back(plan, values, np.empty(0), found)
        elif n > 0:
            total, bound = _bounded(shapes, _net_of(ways, i), i, scores, effort, found)
            size = 1.0
            for score in scores:
                size += abs(score) if abs(score) < np.inf else 0.0
            found[n] = effort.rounding * size + (max(bound - total, 0.0) if bound > -np.inf else 0.0)
        write += n + 1


@kernel
def sum_up(
    shapes: Shapes,
    ways: Ways,
    graphs: LongVector,
    starts: LongVector,
    own: FloatVector,
    summing: bool,
    totals: FloatVector,
    found: FloatVector,
) -> None:
    """log Z and the probability of each part; or the best score and that of the best output with each part."""
    for k in range(len(graphs)):
        begin, end, plan = starts[k], starts[k] + shapes.n_own[graphs[k]], _plan_of(ways, graphs[k])
        values, out = np.empty(plan.messages[-1]), np.empty(plan.messages[-1])
        values[: end - begin] = own[begin:end]
        totals[k] = eliminate(plan, values, summing)
        marginals(plan, values, totals[k], summing, out)
        found[begin:end] = out[: end - begin]


@kernel
def draw(
    shapes: Shapes,
    ways: Ways,
    graphs: LongVector,
    starts: LongVector,
    own: FloatVector,
    uniforms: FloatMatrix,
    out: FloatMatrix,
) -> None:
    """A sample of each graph in each row: sums on the way there, a uniform number for each node on the way back."""
    write = 0
    for k in range(len(graphs)):
        plan, n_own = _plan_of(ways, graphs[k]), shapes.n_own[graphs[k]]
        n = len(plan.nodes)
        values = np.empty(plan.messages[-1])
        values[:n_own] = own[starts[k] : starts[k] + n_own]
        eliminate(plan, values, True)
        for row in range(len(out)):
            read_back(plan, values, uniforms[row, write : write + n], out[row, write : write + n])
        write += n + 1


@kernel
def parts_of(shapes: Shapes, graphs: LongVector, outputs: FloatVector) -> tuple[LongVector, LongVector]:
    """The label of each node and the pair of each edge, where those of each graph begin first."""
    count = 0
    for i in graphs:
        count += shapes.nodes[i + 1] - shapes.nodes[i] + shapes.edges[i + 1] - shapes.edges[i]
    indptr, numbers = np.zeros(len(graphs) + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
    write = read = 0
    for k in range(len(graphs)):
        first, last = shapes.nodes[graphs[k]], shapes.nodes[graphs[k] + 1]
        for v in range(first, last):
            numbers[write] = shapes.at_node[v] + int(outputs[read + v - first])
            write += 1
        for e in range(shapes.edges[graphs[k]], shapes.edges[graphs[k] + 1]):
            u, v = shapes.ends[e, 0], shapes.ends[e, 1]
            pair = int(outputs[read + u]) * shapes.widths[first + v] + int(outputs[read + v])
            numbers[write] = shapes.at_edge[e] + pair
            write += 1
        read += last - first + 1
        indptr[k + 1] = write
    return indptr, numbers
