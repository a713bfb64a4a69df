"""The spanning forest of greatest weight: Kruskal's algorithm over edges that are sorted only as far as needed.

    max Σ_{e ∈ h} scores[e]     over forests h among the candidate edges

Edges are visited from the highest score down; one that joins two trees is taken. Candidates are the edges with positive
scores where trees may stay apart, or all edges that may be used where every tree must grow as large as it can.

Most edges of a dense graph are never needed, so they are not all sorted. The edges left are parted around one of them,
as quicksort does, those above it first (incremental sorting, Paredes & Navarro 2006). Before a part is looked at, edges
inside one tree are thrown out of it (Filter-Kruskal, Osipov, Sanders & Singler 2009). Of edges with equal scores, the
one with the smaller number comes first, so the forest is always the same.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector

Flags: TypeAlias = NDArray[np.int8]
"""For each edge, 1 if it is in the forest, else 0."""

SMALL = 16  # parts of so few edges are sorted by insertion


@kernel
def root_of(parent: LongVector, item: int) -> int:
    """The root of the item's tree in the union-find forest; paths are halved on the way."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel
def _precedes(scores: FloatVector, one: int, other: int) -> bool:
    return scores[one] > scores[other] or (scores[one] == scores[other] and one < other)


@kernel
def _sort_few(scores: FloatVector, order: LongVector, begin: int, end: int) -> None:
    for k in range(begin + 1, end):
        edge, at = order[k], k
        while at > begin and _precedes(scores, edge, order[at - 1]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = edge


@kernel
def _part(scores: FloatVector, order: LongVector, begin: int, end: int) -> int:
    """Bring the edges that precede the median of three to the front, and that one behind them; return its place."""
    middle, last = (begin + end) // 2, end - 1
    a, b, c = order[begin], order[middle], order[last]
    if _precedes(scores, a, b) == _precedes(scores, b, c):
        chosen = middle
    elif _precedes(scores, b, a) == _precedes(scores, a, c):
        chosen = begin
    else:
        chosen = last
    pivot = order[chosen]
    order[chosen] = order[last]
    write = begin
    for k in range(begin, last):
        edge = order[k]
        if _precedes(scores, edge, pivot):
            order[k] = order[write]
            order[write] = edge
            write += 1
    order[last] = order[write]
    order[write] = pivot
    return write


@kernel
def _without_inner(
    first: IntVector, second: IntVector, order: LongVector, begin: int, end: int, parent: LongVector
) -> int:
    """Move the edges between different trees to the end of the part; return where they begin."""
    write = end
    for k in range(end - 1, begin - 1, -1):
        edge = order[k]
        if root_of(parent, first[edge]) != root_of(parent, second[edge]):
            write -= 1
            order[write] = edge
    return write


@kernel
def spanning_forest(
    first: IntVector, second: IntVector, scores: FloatVector, order: LongVector, n_items: int, chosen: Flags
) -> int:
    """Set chosen[e] = 1 for the edges of the forest, and return how many there are; the rest of `chosen` stays.

    Parameters
    ----------
    first, second : the ends of each edge, numbers below `n_items`
    scores : the score of each edge
    order : the numbers of the candidate edges; they are moved about
    """
    parent = np.arange(n_items)
    ends = np.empty(2 * len(order) + 3, dtype=np.int64)
    ends[0] = len(order)
    top, begin, taken, filtered = 0, 0, 0, 0
    while top >= 0 and taken < n_items - 1:
        end = ends[top]
        if taken > filtered:
            begin = _without_inner(first, second, order, begin, end, parent)
            filtered = taken
        if end - begin > SMALL:
            place = _part(scores, order, begin, end)
            ends[top + 1], ends[top + 2] = place + 1, place
            top += 2
            continue
        _sort_few(scores, order, begin, end)
        for k in range(begin, end):
            edge = order[k]
            one, other = root_of(parent, first[edge]), root_of(parent, second[edge])
            if one != other:
                # The larger number under the smaller one, so that a tree's root is its first item.
                parent[max(one, other)] = min(one, other)
                chosen[edge] = 1
                taken += 1
        begin = end
        top -= 1
    return taken


@kernel
def numbered_by_first(label: LongVector) -> IntVector:
    """Clusters numbered in the order of their first items; label[k] ≤ k is the first item of the cluster of item k."""
    numbers = np.empty(len(label), dtype=np.int32)
    count = 0
    for item in range(len(label)):
        if label[item] == item:
            numbers[item] = count
            count += 1
        else:
            numbers[item] = numbers[label[item]]
    return numbers


@kernel
def components(first: IntVector, second: IntVector, chosen: Flags, n_items: int) -> IntVector:
    """The trees of a forest: for each item the number of its tree, counted in the order of their first items."""
    parent = np.arange(n_items)
    for edge in range(len(chosen)):
        if chosen[edge] != 0:
            one, other = root_of(parent, first[edge]), root_of(parent, second[edge])
            parent[max(one, other)] = min(one, other)
    for item in range(n_items):
        parent[item] = root_of(parent, item)
    return numbered_by_first(parent)
