"""Closing the gap that messages leave: a search through the labels that a better output may still have.

After the way back, what an output lacks of the bound B is a sum of terms that are never negative (`decoders.terms`).
Labels are chosen node after node. Once the terms of a choice reach B − best, no output that goes on from it is better
than the best one known, so it is dropped. The frontier are the nodes that have edges to later ones. Choices that agree
on it can go on alike, so only the one with the least sum is kept. This is elimination, but only of the labels that are
left. If there are more than `beam` choices, those with the least sums go on, and

    B′ = B − the least sum that was dropped for want of room

bounds all outputs that are better than the best one found.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.messages import Graph
from widemargin.decoders.terms import Terms, pair_at, terms_of

WORTH = 0.5
"""A search ends once it can close no larger share of the gap than this."""


class Choices(NamedTuple):
    """Choices for the first nodes: the labels of the frontier in slots, their sums, and where their trail ends.

    `table` has the number of the choice with a hash, −1 for none.
    """

    labels: IntMatrix
    sums: FloatVector
    trail: LongVector
    last: IntVector
    table: LongVector


@kernel
def _slots_of(graph: Graph) -> tuple[LongVector, LongVector, int]:
    """The slot of each node on the frontier, the last node that reads it, and how many slots there are."""
    n = len(graph.widths)
    slots, last = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    free, n_slots = np.ones(n, dtype=np.bool_), 0
    for v in range(n):
        last[v] = v
        for k in range(graph.first[v], graph.last[v]):
            u = graph.ends[graph.near[k], 0] + graph.ends[graph.near[k], 1] - v
            last[v] = max(last[v], u)
            if u < v and last[u] == v:
                free[slots[u]] = True
        while not free[slots[v]]:
            slots[v] += 1
        free[slots[v]] = last[v] == v
        n_slots = max(n_slots, slots[v] + 1)
    return slots, last, n_slots


@kernel
def _added(
    graph: Graph,
    terms: Terms,
    triples: LongMatrix,
    lent: FloatVector,
    v: int,
    label: int,
    row: IntVector,
    slots: LongVector,
) -> float:
    """The terms that the label of node v adds to those of a choice for the nodes before it."""
    added = terms.d[graph.at_node[v] + label]
    for k in range(graph.first[v], graph.last[v]):
        e = graph.near[k]
        end = 0 if graph.ends[e, 0] == v else 1
        u = graph.ends[e, 1 - end]
        if u < v:
            added += terms.d[pair_at(graph, e, end, label, row[slots[u]])]
    for k in range(terms.first[v], terms.first[v + 1]):
        t = terms.order[k]
        u, w = triples[t, 0], triples[t, 1]
        n_w, n_v, a, b = graph.widths[w], graph.widths[v], row[slots[u]], row[slots[w]]
        at_uv = terms.at[t] + graph.widths[u] * n_w
        at_wv = at_uv + graph.widths[u] * n_v
        added += lent[terms.at[t] + a * n_w + b] + lent[at_uv + a * n_v + label] + lent[at_wv + b * n_v + label]
    return added


@kernel
def _place(choices: Choices, row: IntVector) -> int:
    """Where a choice with these labels stands in the table, or would stand."""
    mask, number = len(choices.table) - 1, 0
    for label in row:
        number = (number * 1000003 + label) & 0x7FFFFFFF
    at = (number ^ (number >> 15)) & mask
    while choices.table[at] >= 0:
        other, same = choices.labels[choices.table[at]], True
        for slot in range(len(row)):
            same = same and other[slot] == row[slot]
        if same:
            return at
        at = (at + 1) & mask
    return at


@kernel
def _thin(choices: Choices, count: int, beam: int) -> float:
    """Keep the `beam` choices with the least sums; return the least sum of the others."""
    limit, kept, dropped = np.partition(choices.sums[:count], beam - 1)[beam - 1], 0, np.inf
    below = 0
    for k in range(count):
        below += 1 if choices.sums[k] < limit else 0
    ties = beam - below
    choices.table[:] = -1
    for k in range(count):
        total = choices.sums[k]
        if total > limit or (total == limit and ties == 0):
            dropped = min(dropped, total)
            continue
        ties -= 1 if total == limit else 0
        choices.labels[kept] = choices.labels[k]
        choices.sums[kept], choices.trail[kept], choices.last[kept] = total, choices.trail[k], choices.last[k]
        choices.table[_place(choices, choices.labels[kept])] = kept
        kept += 1
    return dropped


@kernel
def _room(beam: int, n_slots: int) -> Choices:
    size = 8
    while size < 4 * beam:
        size *= 2
    rows = 2 * beam
    return Choices(
        np.zeros((rows, n_slots), dtype=np.int32),
        np.zeros(rows),
        np.full(rows, -1, dtype=np.int64),
        np.zeros(rows, dtype=np.int32),
        np.full(size, -1, dtype=np.int64),
    )


@kernel
def _clear(graph: Graph, v: int, slots: LongVector, last: LongVector, row: IntVector) -> None:
    """Clear the slots of the nodes that leave the frontier with node v, so that rows that go on alike are equal."""
    for k in range(graph.first[v], graph.last[v]):
        u = graph.ends[graph.near[k], 0] + graph.ends[graph.near[k], 1] - v
        if u < v and last[u] == v:
            row[slots[u]] = 0


@kernel
def _grow(
    graph: Graph,
    terms: Terms,
    triples: LongMatrix,
    lent: FloatVector,
    frontier: tuple[LongVector, LongVector],
    v: int,
    gap: float,
    now: Choices,
    count: int,
    new: Choices,
    beam: int,
) -> tuple[int, float]:
    """Give node v each of its labels after each choice; return how many choices are left, and the least sum dropped."""
    (slots, last), n_new, dropped = frontier, 0, np.inf
    row = np.empty(now.labels.shape[1], dtype=np.int32)
    new.table[:] = -1
    for s in range(count):
        for label in range(graph.widths[v]):
            place = graph.at_node[v] + label
            if terms.d[place] == np.inf:
                continue
            total = now.sums[s] + _added(graph, terms, triples, lent, v, label, now.labels[s], slots)
            if not total + terms.ahead[place] < gap:
                continue
            row[:] = now.labels[s]
            _clear(graph, v, slots, last, row)
            if last[v] > v:
                row[slots[v]] = label
            at = _place(new, row)
            k = new.table[at]
            if k < 0:
                if n_new == 2 * beam:
                    dropped, n_new = min(dropped, _thin(new, n_new, beam)), beam
                    at = _place(new, row)
                k, new.table[at] = n_new, n_new
                new.labels[k] = row
                n_new += 1
            elif new.sums[k] <= total:
                continue
            new.sums[k], new.trail[k], new.last[k] = total, now.trail[s], label
    if n_new > beam:
        dropped, n_new = min(dropped, _thin(new, n_new, beam)), beam
    return n_new, dropped


@kernel
def search(
    graph: Graph,
    triples: LongMatrix,
    at: LongVector,
    lent: FloatVector,
    bound: float,
    best: float,
    beam: int,
    y: LongVector,
) -> tuple[bool, float]:
    """Look for labels that score more than `best`, into `y`; return whether there are any, and the better bound.

    `bound` is that of the messages, which have just gone back; λ of the `triples` begins at lent[at].
    """
    n, gap, dropped, count, used = len(graph.widths), bound - best, np.inf, 1, 0
    terms = terms_of(graph, triples, at, gap)
    slots, last, n_slots = _slots_of(graph)
    now, new, trail = _room(beam, n_slots), _room(beam, n_slots), np.empty((64, 2), dtype=np.int64)
    for v in range(n):
        count, least = _grow(graph, terms, triples, lent, (slots, last), v, gap, now, count, new, beam)
        dropped = min(dropped, least)
        if dropped < WORTH * gap:
            return False, bound
        if used + count > len(trail):
            longer = np.empty((2 * (used + count), 2), dtype=np.int64)
            longer[:used] = trail[:used]
            trail = longer
        for k in range(count):
            trail[used, 0], trail[used, 1] = new.trail[k], new.last[k]
            new.trail[k] = used
            used += 1
        now, new = new, now
    limit = max(best, bound - dropped)
    if count == 0:
        return False, limit
    back = now.trail[0]
    for v in range(n - 1, -1, -1):
        y[v], back = trail[back, 1], trail[back, 0]
    return True, max(limit, bound - now.sums[0])
