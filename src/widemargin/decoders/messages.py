"""Messages between the nodes of a graph: the passes of TRW-S (Kolmogorov 2006), which bound the score of every output.

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)                                        for any messages m
             = Σ_v θ̂_v(y_v) + Σ_uv (θ_uv(y_u, y_v) − m_vu(y_u) − m_uv(y_v)),    θ̂_v = θ_v + Σ_u m_uv

Nodes are visited in their order and back. Node v hands γ_v θ̂_v on to each node ahead of it:

    m_vu(y_u) = max over y_v of γ_v θ̂_v(y_v) − m_uv(y_v) + θ_uv(y_u, y_v),    γ_v = 1 / max(edges ahead, edges behind)

After the way back, no term of an edge is above 0 if it takes the γ_v θ̂_v that has been handed on over it. So what is
left of the nodes bounds the score of every output, whenever one stops:

    B = Σ_v (1 − γ_v · edges to earlier nodes) max θ̂_v
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector


class Graph(NamedTuple):
    """The scores of a graph's parts, its shape (`structures.graph.Shape`), and messages.

    The edges of node v are near[first[v]] … near[last[v] − 1]. The message to end k of edge e begins at
    m[places[e, k]].
    """

    theta: FloatVector
    widths: LongVector
    ends: LongMatrix
    at_node: LongVector
    at_edge: LongVector
    first: LongVector
    last: LongVector
    near: LongVector
    places: LongMatrix
    m: FloatVector


@kernel
def add_pairs(graph: Graph, e: int, v: int, other: int, out: FloatVector) -> None:
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
    for k in range(graph.first[v], graph.last[v]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        if u < v:
            add_pairs(graph, e, v, y[u], out)
        else:
            for label in range(graph.widths[v]):
                out[label] += graph.m[graph.places[e, end] + label]
    best = 0
    for label in range(graph.widths[v]):
        best = label if out[label] > out[best] else best
    return best


@kernel
def collect(graph: Graph, v: int, backward: bool, hat: FloatVector) -> tuple[int, int]:
    """θ̂ of node v, into `hat`; return how many of its edges lead ahead, and how many back."""
    ahead = 0
    for label in range(graph.widths[v]):
        hat[label] = graph.theta[graph.at_node[v] + label]
    for k in range(graph.first[v], graph.last[v]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        ahead += 1 if (graph.ends[e, 1 - end] > v) != backward else 0
        for label in range(graph.widths[v]):
            hat[label] += graph.m[graph.places[e, end] + label]
    return ahead, graph.last[v] - graph.first[v] - ahead


@kernel
def shares_of(graph: Graph) -> FloatVector:
    """γ_v θ̂_v of all nodes, after the way back."""
    shares = np.empty(graph.at_node[-1] + graph.widths[-1])
    for v in range(len(graph.widths)):
        hat = shares[graph.at_node[v] : graph.at_node[v] + graph.widths[v]]
        ahead, behind = collect(graph, v, True, hat)
        hat /= max(ahead, behind, 1)
    return shares


@kernel
def _hand_on(graph: Graph, v: int, backward: bool, gamma: float, hat: FloatVector, given: FloatVector) -> None:
    """The messages of node v to the nodes ahead."""
    n = graph.widths[v]
    for k in range(graph.first[v], graph.last[v]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        if (u > v) == backward:
            continue
        to, back, at = graph.places[e, 1 - end], graph.places[e, end], graph.at_edge[e]
        message = graph.m[to : to + graph.widths[u]]
        for label in range(n):  # those that no output has must not become ∞ − ∞
            given[label] = gamma * hat[label] - graph.m[back + label] if hat[label] > -np.inf else -np.inf
        if end == 0:
            message[:] = -np.inf
            for label in range(n):
                row = graph.theta[at + label * len(message) : at + (label + 1) * len(message)]
                for other in range(len(message)):
                    message[other] = max(message[other], given[label] + row[other])
        else:
            for other in range(len(message)):
                best, row = -np.inf, graph.theta[at + other * n : at + (other + 1) * n]
                for label in range(n):
                    best = max(best, given[label] + row[label])
                message[other] = best


@kernel
def visit(graph: Graph, backward: bool, hat: FloatVector, y: LongVector) -> float:
    """Visit all nodes, there or back. On the way there, read off labels; on the way back, return the bound."""
    n, bound, given = len(graph.widths), 0.0, np.empty(len(hat))
    for step in range(n):
        v = n - 1 - step if backward else step
        if not backward:
            y[v] = _read_off(graph, v, y, hat)
        ahead, behind = collect(graph, v, backward, hat)
        gamma = 1.0 / max(ahead, behind, 1)
        if backward and ahead < max(behind, 1):
            best = -np.inf
            for label in range(graph.widths[v]):
                best = max(best, hat[label])
            bound += (1.0 - gamma * ahead) * best
        _hand_on(graph, v, backward, gamma, hat, given)
    return bound
