"""Tighter bounds for graphs with short cycles: max-sum diffusion over triples of nodes (Sontag et al. 2008).

Messages cannot see that the labels of a cycle contradict each other. A triple of nodes u, v, w can. It lends scores λ
to the three edges between them, and owes what it has lent:

    score(y) = Σ_v θ_v + Σ_uv (θ_uv + Σ_t λ^t_uv) + Σ_t r_t,    r_t(y_u, y_v, y_w) = −λ^t_uv − λ^t_uw − λ^t_vw

Messages over the edges' new scores bound the first two sums. A visit to a triple takes all that it has lent back,
G_uv = F_uv − λ_uv, where F is what messages leave of an edge's scores (`decoders.messages`), and lends anew:

    S(y) = G_uv + G_uw + G_vw,    λ_uv(y_u, y_v) = ⅓ max over y_w of S − G_uv(y_u, y_v)

Then S − ⅓ Σ max S ≤ 0, so r_t adds nothing to the bound: only edges do, and they have max S together, no more than
what the triple and its edges had before.

A cycle of four nodes is cut by a chord, an edge with scores of 0, into two triples. Longer cycles are left as they are.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, LongMatrix, LongVector
from widemargin.decoders.messages import Graph, shares_of

MOST_TRIPLES = 1 << 21
"""How many triples of labels all triples of nodes may have together; a visit to all takes some milliseconds."""


class Cycles(NamedTuple):
    """The ends of chords; triples of nodes u < v < w; and the `sides` of each: the edges (u, v), (u, w) and (v, w).

    Chords are numbered after all edges.
    """

    chords: LongMatrix
    triples: LongMatrix
    sides: LongMatrix


def cycles(widths: LongVector, ends: LongMatrix, most: int = MOST_TRIPLES) -> Cycles:
    """The cycles of three and four nodes in a graph whose edges join these `ends`, as triples."""
    near: list[set[int]] = [set() for _ in widths]
    numbers: dict[tuple[int, int], int] = {}
    for e, (u, v) in enumerate(ends.tolist()):
        numbers.setdefault((min(u, v), max(u, v)), e)
        near[u].add(v)
        near[v].add(u)
    plain = [set(each) for each in near]
    for u in range(len(near)):
        for w in sorted({w for v in plain[u] for w in plain[v] if w > u} - near[u]):
            if any(b not in near[a] for a, b in combinations(near[u] & near[w], 2)):
                near[u].add(w)
                near[w].add(u)
    labels, cells, chords = widths.tolist(), 0, list[tuple[int, int]]()
    triples, sides = list[tuple[int, int, int]](), list[list[int]]()
    for u, v, w in _triangles(near):
        cells += labels[u] * labels[v] * labels[w]
        if cells > most:
            break
        for pair in ((u, v), (u, w), (v, w)):
            if pair not in numbers:
                numbers[pair] = len(ends) + len(chords)
                chords.append(pair)
        triples.append((u, v, w))
        sides.append([numbers[u, v], numbers[u, w], numbers[v, w]])
    return Cycles(_rows(chords, 2), _rows(triples, 3), _rows(sides, 3))


def _triangles(near: list[set[int]]) -> Iterator[tuple[int, int, int]]:
    for u, neighbours in enumerate(near):
        for v in sorted(v for v in neighbours if v > u):
            for w in sorted(w for w in neighbours & near[v] if w > v):
                yield u, v, w


def _rows(numbers: Sequence[Sequence[int]], width: int) -> LongMatrix:
    return np.array(numbers, dtype=np.int64).reshape(-1, width)


@kernel
def _take_back(
    graph: Graph, e: int, u: int, shares: FloatVector, lent: FloatVector, room: FloatVector, left: FloatMatrix
) -> None:
    """G of edge e, a row for each label of its earlier node u; −∞ for pairs that no output has."""
    end = 0 if graph.ends[e, 0] == u else 1
    v, width, at = graph.ends[e, 1 - end], graph.widths[graph.ends[e, 1]], graph.at_edge[e]
    here, there, n_v = graph.places[e, end], graph.places[e, 1 - end], graph.widths[v]
    row, column = (width, 1) if end == 0 else (1, width)
    for b in range(n_v):
        share, message = shares[graph.at_node[v] + b], graph.m[there + b]
        room[b] = -np.inf if share == -np.inf or message == -np.inf else share - message
    for a in range(graph.widths[u]):
        message = graph.m[here + a]
        for b in range(n_v):
            left[a, b] = graph.theta[at + a * row + b * column] + room[b] - lent[a * n_v + b] - message
        if message == -np.inf:
            left[a, :n_v] = -np.inf


@kernel
def _lend(graph: Graph, e: int, u: int, left: FloatMatrix, most: FloatMatrix, lent: FloatVector) -> None:
    """Lend anew to edge e, whose earlier node is u; `most` has the best two other terms of S for each pair."""
    end = 0 if graph.ends[e, 0] == u else 1
    width, n_v, at = graph.widths[graph.ends[e, 1]], graph.widths[graph.ends[e, 1 - end]], graph.at_edge[e]
    row, column = (width, 1) if end == 0 else (1, width)
    for a in range(graph.widths[u]):
        for b in range(n_v):
            cell = at + a * row + b * column
            if most[a, b] == -np.inf:
                graph.theta[cell] = -np.inf  # no output has this pair, so nothing need be lent
                lent[a * n_v + b] = 0.0
            elif left[a, b] > -np.inf:
                new = (most[a, b] - 2.0 * left[a, b]) / 3.0
                graph.theta[cell] += new - lent[a * n_v + b]
                lent[a * n_v + b] = new


@kernel
def _best_sums(one: FloatMatrix, other: FloatMatrix, n: int, n_between: int, width: int, out: FloatMatrix) -> None:
    """out[i, j] = max over k of one[i, k] + other[k, j]."""
    for i in range(n):
        into = out[i, :width]
        into[:] = -np.inf
        for k in range(n_between):
            score, row = one[i, k], other[k, :width]
            for j in range(width):
                into[j] = max(into[j], score + row[j])


@kernel
def _transpose(matrix: FloatMatrix, n: int, width: int, out: FloatMatrix) -> FloatMatrix:
    for i in range(n):
        for j in range(width):
            out[j, i] = matrix[i, j]
    return out


@kernel
def lent_at(graph: Graph, triples: LongMatrix) -> LongVector:
    """Where λ of the three sides of each triple begins, and the end of all."""
    at = np.zeros(len(triples) + 1, dtype=np.int64)
    for t in range(len(triples)):
        u, v, w = triples[t]
        n_u, n_v, n_w = graph.widths[u], graph.widths[v], graph.widths[w]
        at[t + 1] = at[t] + n_u * (n_v + n_w) + n_v * n_w
    return at


@kernel
def tighten(
    graph: Graph, triples: LongMatrix, sides: LongMatrix, at: LongVector, lent: FloatVector, chosen: LongVector
) -> None:
    """Visit the `chosen` triples after messages have gone back; λ of the sides of triple t begins at lent[at[t]]."""
    shares, widest = shares_of(graph), 1
    for width in graph.widths:
        widest = max(widest, width)
    tables, room = np.empty((5, widest, widest)), np.empty(widest)
    uv, uw, vw, most, other = tables[0], tables[1], tables[2], tables[3], tables[4]
    for t in chosen:
        u, v, w = triples[t]
        n_u, n_v, n_w, at_uv, end = graph.widths[u], graph.widths[v], graph.widths[w], at[t], at[t + 1]
        at_uw = at_uv + n_u * n_v
        at_vw = at_uw + n_u * n_w
        _take_back(graph, sides[t, 0], u, shares, lent[at_uv:at_uw], room, uv)
        _take_back(graph, sides[t, 1], u, shares, lent[at_uw:at_vw], room, uw)
        _take_back(graph, sides[t, 2], v, shares, lent[at_vw:end], room, vw)
        _best_sums(uw, _transpose(vw, n_v, n_w, other), n_u, n_w, n_v, most)
        _lend(graph, sides[t, 0], u, uv, most, lent[at_uv:at_uw])
        _best_sums(uv, vw, n_u, n_v, n_w, most)
        _lend(graph, sides[t, 1], u, uw, most, lent[at_uw:at_vw])
        _best_sums(_transpose(uv, n_u, n_v, other), uw, n_v, n_u, n_w, most)
        _lend(graph, sides[t, 2], v, vw, most, lent[at_vw:end])
