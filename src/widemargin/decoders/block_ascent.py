"""Decoding any graph with a bound: TRW-S, dual block ascent over messages (Kolmogorov 2006).

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)                                        for any messages m
             = Σ_v θ̂_v(y_v) + Σ_uv (θ_uv(y_u, y_v) − m_vu(y_u) − m_uv(y_v)),    θ̂_v = θ_v + Σ_u m_uv

Nodes are visited in their order and back. Node v hands γ_v θ̂_v on to each node ahead of it:

    m_vu(y_u) = max over y_v of γ_v θ̂_v(y_v) − m_uv(y_v) + θ_uv(y_u, y_v),    γ_v = 1 / max(edges ahead, edges behind)

After the way back, no term of an edge is above 0 if it takes the γ_v θ̂_v that has been handed on over it. So what is
left of the nodes bounds the score of every output, whenever one stops:

    B = Σ_v (1 − γ_v · edges to earlier nodes) max θ̂_v

Labels are read off on the way there, each the best next to those before it, and then improved one at a time.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector

SWEEPS = 20
"""How often all labels are improved one at a time, at most."""


class Graph(NamedTuple):
    """The scores of a graph's parts, its shape (`structures.graph.Shape`), and messages.

    The edges of node v are near[edges[v]] … near[edges[v + 1] − 1]. The message to end k of edge e begins at
    m[places[e, k]].
    """

    theta: FloatVector
    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector
    edges: LongVector
    near: LongVector
    places: LongMatrix
    m: FloatVector


@kernel
def _add_pairs(graph: Graph, e: int, v: int, other: int, out: FloatVector) -> None:
    """Add the scores of the pairs that the labels of node v make on edge e with the label `other` at its other end."""
    width = graph.widths[graph.ends[e, 1]]
    if graph.ends[e, 0] == v:
        place, step = graph.at_edge[e] + other, width
    else:
        place, step = graph.at_edge[e] + other * width, 1
    for label in range(graph.widths[v]):
        out[label] += graph.theta[place + label * step]


@kernel
def _read_off(graph: Graph, v: int, y: LongVector, out: FloatVector) -> int:
    """The best label of node v next to those of the nodes before it; nodes behind it speak by their messages."""
    for label in range(graph.widths[v]):
        out[label] = graph.theta[graph.at_node[v] + label]
    for k in range(graph.edges[v], graph.edges[v + 1]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        if u < v:
            _add_pairs(graph, e, v, y[u], out)
        else:
            for label in range(graph.widths[v]):
                out[label] += graph.m[graph.places[e, end] + label]
    best = 0
    for label in range(graph.widths[v]):
        best = label if out[label] > out[best] else best
    return best


@kernel
def _collect(graph: Graph, v: int, backward: bool, hat: FloatVector) -> tuple[int, int]:
    """θ̂ of node v, into `hat`; return how many of its edges lead ahead, and how many back."""
    ahead = 0
    for label in range(graph.widths[v]):
        hat[label] = graph.theta[graph.at_node[v] + label]
    for k in range(graph.edges[v], graph.edges[v + 1]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        ahead += 1 if (graph.ends[e, 1 - end] > v) != backward else 0
        for label in range(graph.widths[v]):
            hat[label] += graph.m[graph.places[e, end] + label]
    return ahead, graph.edges[v + 1] - graph.edges[v] - ahead


@kernel
def _hand_on(graph: Graph, v: int, backward: bool, gamma: float, hat: FloatVector) -> None:
    """The messages of node v to the nodes ahead."""
    for k in range(graph.edges[v], graph.edges[v + 1]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        if (u > v) == backward:
            continue
        to, back, width = graph.places[e, 1 - end], graph.places[e, end], graph.widths[graph.ends[e, 1]]
        message = graph.m[to : to + graph.widths[u]]
        message[:] = -np.inf
        for label in range(graph.widths[v]):
            if hat[label] == -np.inf:
                continue  # no output has it
            given = gamma * hat[label] - graph.m[back + label]
            place, step = graph.at_edge[e] + (label * width if end == 0 else label), 1 if end == 0 else width
            for other in range(len(message)):
                message[other] = max(message[other], given + graph.theta[place + other * step])


@kernel
def _go(graph: Graph, backward: bool, hat: FloatVector, y: LongVector) -> float:
    """Visit all nodes, there or back. On the way there, read off labels; on the way back, return the bound."""
    n, bound = len(graph.widths), 0.0
    for step in range(n):
        v = n - 1 - step if backward else step
        if not backward:
            y[v] = _read_off(graph, v, y, hat)
        ahead, behind = _collect(graph, v, backward, hat)
        gamma = 1.0 / max(ahead, behind, 1)
        if backward and ahead < max(behind, 1):
            best = -np.inf
            for label in range(graph.widths[v]):
                best = max(best, hat[label])
            bound += (1.0 - gamma * ahead) * best
        _hand_on(graph, v, backward, gamma, hat)
    return bound


@kernel
def _improve(graph: Graph, y: LongVector, room: FloatVector) -> None:
    """Change one label at a time for a better one, until there is none (iterated conditional modes)."""
    changed = True
    for _ in range(SWEEPS):
        if not changed:
            return
        changed = False
        for v in range(len(graph.widths)):
            for label in range(graph.widths[v]):
                room[label] = graph.theta[graph.at_node[v] + label]
            for k in range(graph.edges[v], graph.edges[v + 1]):
                e = graph.near[k]
                _add_pairs(graph, e, v, y[graph.ends[e, 0] + graph.ends[e, 1] - v], room)
            best = y[v]
            for label in range(graph.widths[v]):
                best = label if room[label] > room[best] else best
            changed, y[v] = changed or best != y[v], best


@kernel
def _total(graph: Graph, y: LongVector) -> float:
    total = 0.0
    for v in range(len(graph.widths)):
        total += graph.theta[graph.at_node[v] + y[v]]
    for e in range(len(graph.ends)):
        u, v = graph.ends[e]
        total += graph.theta[graph.at_edge[e] + y[u] * graph.widths[v] + y[v]]
    return total


@kernel
def ascend(graph: Graph, rounds: int, patience: int, out: FloatVector) -> tuple[float, float]:
    """Decode into `out`; return the score of these labels, and the bound.

    Messages start from those given. It ends after `rounds` there and back, once labels and bound agree, or after
    `patience` rounds that together close less than a hundredth of the gap.
    """
    n, width, waited = len(graph.widths), 1, 0
    for v in range(n):
        width = max(width, graph.widths[v])
    room, y, best, bound, least = np.empty(width), np.zeros(n, dtype=np.int64), -np.inf, np.inf, np.inf
    out[:n] = 0.0
    for _ in range(rounds):
        _go(graph, False, room, y)
        _improve(graph, y, room)
        total = _total(graph, y)
        if total > best:
            best = total
            for v in range(n):
                out[v] = y[v]
        bound = min(bound, _go(graph, True, room, y))
        gap = bound - best
        if gap <= 1e-9 * (1.0 + abs(bound)):
            break
        waited = waited + 1 if gap > 0.99 * least else 0
        least = least if waited else gap
        if waited >= patience:
            break
    return best, bound
