"""Decoding any graph with a bound: messages (`decoders.messages`), tightened over short cycles (`decoders.cycles`).

Labels are read off while messages go there, each the best next to those before it, and then improved one at a time.
Each region in which they differ from the best so far keeps the better ones. Bounds are taken when messages have come
back. Once messages alone make no headway, cycles near the gap (`decoders.terms`) are visited after each way back, and
messages go back once more. Now and then, a search looks for better labels among those that the bound has not ruled out
(`decoders.frontier`). If it ends without leaving out any, the best labels are proven to be the best.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector
from widemargin.decoders.cycles import lent_at, tighten
from widemargin.decoders.frontier import search
from widemargin.decoders.messages import Graph, add_pairs, visit
from widemargin.decoders.terms import doubtful

SWEEPS = 20
"""How often all labels are improved one at a time, at most."""

HEADWAY = 0.99
"""A round makes no headway if it leaves a larger share of the gap than this."""

HEADWAY_ALONE, SPELL = 0.9, 5
"""While messages are alone, a round that leaves more than this makes none; cycles are visited after so many of them.

Such rounds cost less than half of those with cycles. Searches come after every `SPELL` rounds of either kind, at most.
"""

AGAIN = 0.5
"""A search comes again once no more than this share of the gap is left, or before it ends."""

DOUBT = 0.01
"""Triples are visited where the gap lies, but for this share of it; they are chosen anew every `SPELL` rounds."""

LEAST_BEAM = 32
"""A search goes on from at least so many choices of labels at each node, however large the graph."""

CLOSED = 1e-5
"""A gap that is smaller than this, beside the bound, is not worth another round."""


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
            for k in range(graph.first[v], graph.last[v]):
                e = graph.near[k]
                add_pairs(graph, e, v, y[graph.ends[e, 0] + graph.ends[e, 1] - v], room)
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
def _rise(graph: Graph, v: int, y: LongVector, out: FloatVector) -> float:
    """By how much the score rises if node v, and the nodes next to it whose labels differ, have those of y.

    Edges between two such nodes count at their first end.
    """
    new, old = y[v], int(out[v])
    rise = graph.theta[graph.at_node[v] + new] - graph.theta[graph.at_node[v] + old]
    for k in range(graph.first[v], graph.last[v]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        new_u, old_u = y[u], int(out[u])
        if end == 1 and new_u != old_u:
            continue
        width, at = graph.widths[graph.ends[e, 1]], graph.at_edge[e]
        if end == 0:
            rise += graph.theta[at + new * width + new_u] - graph.theta[at + old * width + old_u]
        else:
            rise += graph.theta[at + new_u * width + new] - graph.theta[at + old_u * width + old]
    return rise


@kernel
def _keep(graph: Graph, y: LongVector, best: float, out: FloatVector) -> float:
    """Take over to `out`, which scores `best`, what is better in y; return the score.

    Nodes whose labels differ form regions that share no edges, so each region may have its better labels.
    """
    n = len(y)
    if best == -np.inf:
        total = _total(graph, y)
        if total > best:
            out[:n] = y
        return total
    region, seen, changed = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), False
    for root in range(n):
        if seen[root] or y[root] == out[root]:
            continue
        seen[root], region[0], count, at, rise = True, root, 1, 0, 0.0
        while at < count:
            v, at = region[at], at + 1
            rise += _rise(graph, v, y, out)
            for k in range(graph.first[v], graph.last[v]):
                u = graph.ends[graph.near[k], 0] + graph.ends[graph.near[k], 1] - v
                if not seen[u] and y[u] != out[u]:
                    seen[u], region[count], count = True, u, count + 1
        for k in range(count):  # the other regions have no edge to this one, so they may have changed
            v = region[k]
            if rise > 0.0:
                out[v] = y[v]
            else:
                y[v] = int(out[v])
        changed = changed or rise > 0.0
    return _total(graph, y) if changed else best


@kernel
def ascend(
    plain: Graph,
    wide: Graph,
    triples: LongMatrix,
    sides: LongMatrix,
    rounds: int,
    patience: int,
    choices: int,
    out: FloatVector,
) -> tuple[float, float]:
    """Decode into `out`; return the score of these labels, and the bound.

    The graph is given twice: as it is, and with chords and room for what `triples` lend to their `sides`. Both have the
    same messages. It ends after `rounds` there and back, once labels and bound agree, or after `patience` rounds that
    together close less than a hundredth of the gap. Searches hold about this many `choices` of labels; 0 for none.
    """
    n, width, waited, graph = len(plain.widths), 1, 0, plain
    for v in range(n):
        width = max(width, plain.widths[v])
    tried, chosen = np.inf, np.empty(0, dtype=np.int64)
    room, y, best, bound, least = np.empty(width), np.zeros(n, dtype=np.int64), -np.inf, np.inf, np.inf
    lent, tight, used, at = np.empty(0), False, triples[:0], lent_at(wide, triples)
    out[:n] = 0.0
    beam = max(choices // max(n, 1), LEAST_BEAM)
    for count in range(1, rounds + 1):
        visit(graph, False, room, y)
        _improve(plain, y, room)
        best = _keep(plain, y, best, out)
        now = visit(graph, True, room, y)
        bound = min(bound, now)
        if tight and bound > -np.inf:
            if count % SPELL == 1 or waited == 0 or len(chosen) == 0:
                chosen = doubtful(graph, triples, at, lent, y, (now - best) * DOUBT / n)
            tighten(graph, triples, sides, at, lent, chosen)
            now = visit(graph, True, room, y)
            bound = min(bound, now)
        if bound == -np.inf or bound - best <= CLOSED * (1.0 + abs(bound)):  # −∞: scores forbid all outputs
            break
        if choices > 0 and count % SPELL == 0 and (bound - best <= AGAIN * tried or waited + 1 >= SPELL):
            tried = bound - best
            found, limit = search(graph, used, at, lent, now, best, beam, y)
            best, bound = _keep(plain, y, best, out) if found else best, min(bound, limit)
            if bound - best <= CLOSED * (1.0 + abs(bound)):
                break
        gap = bound - best
        waited = waited + 1 if gap > (HEADWAY if tight else HEADWAY_ALONE) * least else 0
        least = least if waited else gap
        if len(triples) > 0 and not tight and waited >= SPELL:
            graph, tight, lent, waited, used = wide, True, np.zeros(at[-1]), 0, triples
        elif waited >= patience:
            break
    return best, bound
