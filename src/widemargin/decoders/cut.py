"""Decoding graphs whose nodes have two labels by a cut, where every pair of neighbours wants to agree.

Labels of some nodes are swapped first, where that makes all edges e have

    2 c_e = θ_e(0, 0) + θ_e(1, 1) − θ_e(0, 1) − θ_e(1, 0) ≥ 0

(Hammer 1965; Boros & Hammer 2002). Then score(y) = constant + Σ_v d_v y_v − Σ_e c_e |y_u − y_v|. Any flow with
|f_e| ≤ c_e bounds this for all y:

    score(y) ≤ constant + Σ_v d̂_v y_v ≤ constant + Σ_v max(0, d̂_v),    d̂_v = d_v − flow out of v + flow into v

The largest flow from nodes with d > 0 to those with d < 0 makes the bound equal the best score. Push-relabel finds it
(Goldberg & Tarjan 1988; Cherkassky & Goldberg 1997: first in, first out, with labels from searches in breadth). The
bound is summed anew from the flow, so rounding on the way to it does no harm.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongVector
from widemargin.decoders.messages import Graph

SLIGHT = 1e-12
"""An edge with a smaller 2 |c|, beside its scores, has c = 0: rounding decides its sign. The bound pays for it."""


@kernel
def _curvatures(graph: Graph) -> tuple[bool, FloatVector, float]:
    """2 c of all edges, and what leaving out slight ones adds to the bound; no cut if a pair has a score of −∞."""
    found, slight = np.empty(len(graph.ends)), 0.0
    for e in range(len(graph.ends)):
        pairs = graph.theta[graph.at_edge[e] : graph.at_edge[e] + 4]
        size = np.abs(pairs).sum()
        if not size < np.inf:
            return False, found, 0.0
        found[e] = pairs[0] + pairs[3] - pairs[1] - pairs[2]
        if abs(found[e]) <= SLIGHT * size:
            slight, found[e] = slight + abs(found[e]), 0.0
    return True, found, slight


@kernel
def _swaps(graph: Graph, curvatures: FloatVector, queue: LongVector) -> tuple[bool, LongVector]:
    """Which nodes' labels are swapped, so that all c ≥ 0; False if there is no such choice."""
    swapped = np.full(len(graph.widths), -1, dtype=np.int64)
    for root in range(len(graph.widths)):
        if swapped[root] >= 0:
            continue
        swapped[root], queue[0], count, at = 0, root, 1, 0
        while at < count:
            v, at = queue[at], at + 1
            for k in range(graph.first[v], graph.last[v]):
                e = graph.near[k]
                if curvatures[e] == 0.0:
                    continue
                u = graph.ends[e, 0] + graph.ends[e, 1] - v
                wanted = swapped[v] if curvatures[e] > 0.0 else 1 - swapped[v]
                if swapped[u] < 0:
                    swapped[u], queue[count], count = wanted, u, count + 1
                elif swapped[u] != wanted:
                    return False, swapped
    return True, swapped


@kernel
def _levels(graph: Graph, supply: FloatVector, room: FloatVector, heights: LongVector, queue: LongVector) -> None:
    """How many edges with room lie between each node and the nearest that wants more; the number of nodes if none."""
    n, count, at = len(heights), 0, 0
    for v in range(n):
        heights[v] = n
        if supply[v] < 0.0:
            heights[v], queue[count], count = 0, v, count + 1
    while at < count:
        v, at = queue[at], at + 1
        for k in range(graph.first[v], graph.last[v]):
            e = graph.near[k]
            end = 0 if graph.ends[e, 0] == v else 1
            u = graph.ends[e, 1 - end]
            if heights[u] == n and room[2 * e + 1 - end] > 0.0:
                heights[u], queue[count], count = heights[v] + 1, u, count + 1


@kernel
def _discharge(
    graph: Graph,
    v: int,
    supply: FloatVector,
    room: FloatVector,
    heights: LongVector,
    active: LongVector,
    tail: int,
) -> tuple[int, int]:
    """Push what node v has too much to lower nodes, and lift it where that is not enough.

    Returns the new tail of the queue of active nodes, and how often the node was lifted.
    """
    n, lifted = len(heights), 0
    while True:
        least = n
        for k in range(graph.first[v], graph.last[v]):
            e = graph.near[k]
            end = 0 if graph.ends[e, 0] == v else 1
            place, u = 2 * e + end, graph.ends[e, 1 - end]
            if room[place] <= 0.0:
                continue
            if heights[u] >= heights[v]:
                least = min(least, heights[u] + 1)
                continue
            waits, amount = supply[u] > 0.0, min(supply[v], room[place])
            supply[v] -= amount  # exactly 0 if all of it went
            supply[u] += amount
            room[place] -= amount
            room[2 * e + 1 - end] += amount
            if supply[u] > 0.0 and not waits:
                active[tail % n], tail = u, tail + 1
            if supply[v] <= 0.0:
                return tail, lifted
            least = min(least, heights[u] + 1)
        heights[v], lifted = max(least, heights[v] + 1), lifted + 1
        if heights[v] >= n:
            return tail, lifted


@kernel
def _push(graph: Graph, supply: FloatVector, room: FloatVector, queue: LongVector) -> LongVector:
    """Send as much as there is room for from nodes that have too much to those that want more; return all levels.

    Nodes whose level is the number of nodes reach none that wants more: they are on the side of the source.
    """
    n = len(supply)
    heights, active = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    while True:
        _levels(graph, supply, room, heights, queue)
        head = tail = lifted = 0
        for v in range(n):
            if supply[v] > 0.0 and heights[v] < n:
                active[tail], tail = v, tail + 1
        if tail == 0:
            return heights
        while head < tail and lifted <= n:
            v, head = active[head % n], head + 1
            tail, more = _discharge(graph, v, supply, room, heights, active, tail)
            lifted += more


@kernel
def _proof(
    graph: Graph,
    curvatures: FloatVector,
    swapped: LongVector,
    own: FloatVector,
    room: FloatVector,
    out: FloatVector,
    slight: float,
) -> tuple[float, float]:
    """The score of the labels, and the bound that the flow gives; `own` becomes d̂ without the scores of nodes."""
    score, bound = 0.0, slight
    for e in range(len(graph.ends)):
        (u, v), at, half = graph.ends[e], graph.at_edge[e], abs(curvatures[e]) / 2.0
        score += graph.theta[at + 2 * int(out[u]) + int(out[v])]
        bound += graph.theta[at + 2 * swapped[u] + swapped[v]]
        flow = max(min(half - room[2 * e], half), -half)
        own[u] -= flow
        own[v] += flow
    for v in range(len(graph.widths)):
        at, a = graph.at_node[v], swapped[v]
        score += graph.theta[at + int(out[v])]
        bound += max(graph.theta[at + a], graph.theta[at + 1 - a] + own[v])
    return score, bound


@kernel
def cut(graph: Graph, out: FloatVector) -> tuple[bool, float, float]:
    """The best labels, into `out`, their score and the bound; False if a cut does not decode this graph."""
    n = len(graph.widths)
    for v in range(n):
        scores = graph.theta[graph.at_node[v] : graph.at_node[v] + graph.widths[v]]
        if graph.widths[v] != 2 or max(scores[0], scores[1]) == -np.inf:
            return False, 0.0, 0.0
    possible, curvatures, slight = _curvatures(graph)
    if not possible:
        return False, 0.0, 0.0
    queue = np.empty(n, dtype=np.int64)
    possible, swapped = _swaps(graph, curvatures, queue)
    if not possible:
        return False, 0.0, 0.0
    own, most, room = np.zeros(n), np.zeros(n), np.empty(2 * len(graph.ends))
    for e in range(len(graph.ends)):
        (u, v), half = graph.ends[e], abs(curvatures[e]) / 2.0
        a, b, at = swapped[u], swapped[v], graph.at_edge[e]
        base = graph.theta[at + 2 * a + b]
        own[u] += graph.theta[at + 2 * (1 - a) + b] - base + half
        own[v] += graph.theta[at + 2 * a + 1 - b] - base + half
        most[u], most[v] = most[u] + half, most[v] + half
        room[2 * e], room[2 * e + 1] = half, half
    supply = np.empty(n)
    for v in range(n):
        at, a = graph.at_node[v], swapped[v]
        rise = graph.theta[at + 1 - a] - graph.theta[at + a]
        most[v] = 2.0 * most[v] + abs(own[v]) + 1.0  # more than all edges can outweigh
        supply[v] = own[v] + rise if abs(rise) < np.inf else (most[v] if rise > 0.0 else -most[v])
    heights = _push(graph, supply, room, queue)
    for v in range(n):
        out[v] = 1 - swapped[v] if heights[v] == n else swapped[v]
    score, bound = _proof(graph, curvatures, swapped, own, room, out, slight)
    return True, score, bound
