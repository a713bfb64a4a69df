"""Decoding any graph with a bound: messages (`decoders.messages`), tightened over short cycles (`decoders.cycles`).

Labels are read off while messages go there, each the best next to those before it, and then improved one at a time.
Bounds are taken when messages have come back. Once messages alone make no headway, cycles are visited after each way
back, and messages go back once more.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector
from widemargin.decoders.cycles import tighten
from widemargin.decoders.messages import Graph, add_pairs, visit

SWEEPS = 20
"""How often all labels are improved one at a time, at most."""

HEADWAY = 0.99
"""A round makes no headway if it leaves a larger share of the gap than this."""

HEADWAY_ALONE, SPELL = 0.9, 5
"""While messages are alone, a round that leaves more than this makes none; cycles are visited after so many of them.

Such rounds cost about a seventh of those with cycles.
"""

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
def ascend(
    plain: Graph, wide: Graph, triples: LongMatrix, sides: LongMatrix, rounds: int, patience: int, out: FloatVector
) -> tuple[float, float]:
    """Decode into `out`; return the score of these labels, and the bound.

    The graph is given twice: as it is, and with chords and room for what `triples` lend to their `sides`. Both have the
    same messages. It ends after `rounds` there and back, once labels and bound agree, or after `patience` rounds that
    together close less than a hundredth of the gap.
    """
    n, width, waited, graph = len(plain.widths), 1, 0, plain
    for v in range(n):
        width = max(width, plain.widths[v])
    room, y, best, bound, least = np.empty(width), np.zeros(n, dtype=np.int64), -np.inf, np.inf, np.inf
    lent, tight = np.empty(0), False
    out[:n] = 0.0
    for _ in range(rounds):
        visit(graph, False, room, y)
        _improve(plain, y, room)
        total = _total(plain, y)
        if total > best:
            best = total
            for v in range(n):
                out[v] = y[v]
        bound = min(bound, visit(graph, True, room, y))
        if tight:
            tighten(graph, triples, sides, lent)
            bound = min(bound, visit(graph, True, room, y))
        gap = bound - best
        if gap <= CLOSED * (1.0 + abs(bound)):
            break
        waited = waited + 1 if gap > (HEADWAY if tight else HEADWAY_ALONE) * least else 0
        least = least if waited else gap
        if len(triples) > 0 and not tight and waited >= SPELL:
            graph, tight, lent, waited = wide, True, np.zeros(_n_lent(wide, triples)), 0
        elif waited >= patience:
            break
    return best, bound


@kernel
def _n_lent(graph: Graph, triples: LongMatrix) -> int:
    """How many pairs of labels all triples have together."""
    count = 0
    for t in range(len(triples)):
        u, v, w = triples[t]
        n_u, n_v, n_w = graph.widths[u], graph.widths[v], graph.widths[w]
        count += n_u * (n_v + n_w) + n_v * n_w
    return count
