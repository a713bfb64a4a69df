"""The terms of what an output lacks of the bound, where they are, and the labels that they rule out.

After the way back, what an output lacks of the bound B is a sum of terms that are never negative
(`decoders.messages`, `decoders.cycles`):

    B − score(y) = Σ_v d_v(y_v) + Σ_uv d_uv(y_u, y_v) + Σ_t d_t(y_u, y_v, y_w)

So an output that is better than the best one known has no labels whose terms alone reach B − best. And where the terms
of the best one are 0, tighter bounds are of no use.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector
from widemargin.decoders.messages import Graph, shares_of

PRUNINGS = 10
"""How often all labels are checked for whether anything next to them leaves them a chance, at most."""

HOPS = 2
"""Triples are visited up to so many edges away from terms that are not 0."""


class Terms(NamedTuple):
    """All d: `d` has those of nodes and edges, in the layout of θ, and `ahead` the least that later edges add.

    Triples whose last node is v are order[first[v]] … order[first[v + 1] − 1]; those of triple t begin at lent[at[t]].
    """

    d: FloatVector
    ahead: FloatVector
    first: LongVector
    order: LongVector
    at: LongVector


@kernel
def pair_at(graph: Graph, e: int, end: int, label: int, other: int) -> int:
    """Where the pair of these labels stands, the first of them at this end of edge e."""
    width = graph.widths[graph.ends[e, 1]]
    return graph.at_edge[e] + (label * width + other if end == 0 else other * width + label)


@kernel
def _kept(graph: Graph, v: int) -> int:
    """How many shares node v keeps for itself, after the way back."""
    ahead = 0
    for k in range(graph.first[v], graph.last[v]):
        ahead += 1 if graph.ends[graph.near[k], 0] + graph.ends[graph.near[k], 1] - v < v else 0
    return max(ahead, graph.last[v] - graph.first[v] - ahead, 1) - ahead


@kernel
def _lack(graph: Graph, shares: FloatVector, e: int, a: int, b: int) -> float:
    """d of edge e with these labels at its ends."""
    end = 0 if graph.ends[e, 0] > graph.ends[e, 1] else 1
    share = shares[graph.at_node[graph.ends[e, end]] + (a if end == 0 else b)]
    one, other = graph.m[graph.places[e, 0] + a], graph.m[graph.places[e, 1] + b]
    theta = graph.theta[graph.at_edge[e] + a * graph.widths[graph.ends[e, 1]] + b]
    return np.inf if min(share, one, other, theta) == -np.inf else one + other - share - theta


@kernel
def _lacks(graph: Graph) -> FloatVector:
    """d of all nodes and edges, after the way back; ∞ where no output has a label or a pair."""
    shares, d = shares_of(graph), np.empty(len(graph.theta))
    for v in range(len(graph.widths)):
        at, width, left = graph.at_node[v], graph.widths[v], _kept(graph, v)
        best = shares[at : at + width].max()
        for label in range(width):
            share = shares[at + label]
            d[at + label] = np.inf if share == -np.inf else left * (best - share)
    for e in range(len(graph.ends)):
        u, v = graph.ends[e]
        for a in range(graph.widths[u]):
            for b in range(graph.widths[v]):
                d[graph.at_edge[e] + a * graph.widths[v] + b] = _lack(graph, shares, e, a, b)
    return d


@kernel
def _least(graph: Graph, d: FloatVector, e: int, end: int, label: int) -> float:
    """The least d of edge e with this label at its end, over the labels at its other end that are left."""
    u, least = graph.ends[e, 1 - end], np.inf
    for other in range(graph.widths[u]):
        if d[graph.at_node[u] + other] < np.inf:
            least = min(least, d[pair_at(graph, e, end, label, other)])
    return least


@kernel
def _prune(graph: Graph, d: FloatVector, gap: float) -> FloatVector:
    """Set d of labels to ∞ that no better output has; return the least that later edges add to each label."""
    ahead = np.zeros(len(d))
    for _ in range(PRUNINGS):
        changed = False
        for v in range(len(graph.widths)):
            for label in range(graph.widths[v]):
                place = graph.at_node[v] + label
                later = earlier = 0.0
                for k in range(graph.first[v], graph.last[v] if d[place] < np.inf else graph.first[v]):
                    e = graph.near[k]
                    end = 0 if graph.ends[e, 0] == v else 1
                    if graph.ends[e, 1 - end] > v:
                        later += _least(graph, d, e, end, label)
                    else:
                        earlier += _least(graph, d, e, end, label)
                ahead[place] = later
                if d[place] < np.inf and d[place] + later + earlier >= gap:
                    d[place], changed = np.inf, True
        if not changed:
            break
    return ahead


@kernel
def terms_of(graph: Graph, triples: LongMatrix, at: LongVector, gap: float) -> Terms:
    """All terms, after labels have been ruled out that leave no gap."""
    n = len(graph.widths)
    first, order = np.zeros(n + 2, dtype=np.int64), np.empty(len(triples), dtype=np.int64)
    for t in range(len(triples)):
        first[triples[t, 2] + 2] += 1
    for v in range(n + 1):
        first[v + 1] += first[v]
    for t in range(len(triples)):
        w = triples[t, 2]
        order[first[w + 1]] = t
        first[w + 1] += 1
    d = _lacks(graph)
    return Terms(d, _prune(graph, d, gap), first, order, at)


@kernel
def doubtful(
    graph: Graph, triples: LongMatrix, at: LongVector, lent: FloatVector, y: LongVector, least: float
) -> LongVector:
    """The triples that are near terms of the labels y of at least this size."""
    n, shares = len(graph.widths), shares_of(graph)
    near = np.zeros(n, dtype=np.bool_)
    for v in range(n):
        place = graph.at_node[v]
        share, left = shares[place + y[v]], _kept(graph, v)
        near[v] = share == -np.inf or left * (shares[place : place + graph.widths[v]].max() - share) >= least
    for e in range(len(graph.ends)):
        if not _lack(graph, shares, e, y[graph.ends[e, 0]], y[graph.ends[e, 1]]) < least:
            near[graph.ends[e, 0]] = near[graph.ends[e, 1]] = True
    for t in range(len(triples)):
        u, v, w = triples[t]
        n_v, n_w = graph.widths[v], graph.widths[w]
        at_uw = at[t] + graph.widths[u] * n_v
        at_vw = at_uw + graph.widths[u] * n_w
        lack = lent[at[t] + y[u] * n_v + y[v]] + lent[at_uw + y[u] * n_w + y[w]] + lent[at_vw + y[v] * n_w + y[w]]
        if lack >= least:
            near[u] = near[v] = near[w] = True
    for _ in range(HOPS):
        before = near.copy()
        for e in range(len(graph.ends)):
            u, v = graph.ends[e]
            if before[u] or before[v]:
                near[u] = near[v] = True
    chosen, count = np.empty(len(triples), dtype=np.int64), 0
    for t in range(len(triples)):
        u, v, w = triples[t]
        if near[u] and near[v] and near[w]:
            chosen[count], count = t, count + 1
    return chosen[:count]
