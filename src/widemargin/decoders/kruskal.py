"""The spanning forest of greatest weight: Kruskal's algorithm over edges that are sorted only when needed.

    max Σ_{e ∈ h} scores[e]     over forests h among the candidate edges

Edges are visited from the highest score down; one that joins two trees is taken. If trees may stay apart, candidates
are the edges with positive scores; if every tree must grow as large as possible, all allowed edges are candidates.

Most edges of a dense graph are never needed, so they are not all sorted. The remaining edges are partitioned around one
of them, as quicksort does, higher scores first (incremental sorting, Paredes & Navarro 2006). Before a partition is
visited, edges inside one tree are dropped from it (Filter-Kruskal, Osipov, Sanders & Singler 2009). Among edges with
equal scores, the smaller number comes first, so the forest is always the same.

This module also has correlation clustering by greedy merging, which is fast but not exact:

    max Σ scores[i, j]     over clusterings, summed over the pairs i < j that are in one cluster

Finding the maximum is NP-hard. Every item starts alone. Then the two clusters whose union gains most are merged, until
no union gains anything. A matrix holds the gains between clusters, and each cluster remembers its best partner after
it. So a merge costs O(n), plus O(n) for each cluster that has lost its best partner. The first item names a cluster.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector

Flags: TypeAlias = NDArray[np.int8]
"""For each edge, 1 if it is in the forest, else 0."""

SMALL = 16  # partitions of so few edges are sorted by insertion


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
    """Move the edges that precede the pivot, a median of three, to the front, then the pivot; return its place."""
    # The median of three keeps sorted input from taking quadratic time; ties go by number, so no two edges are equal.
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
    """Move the edges between different trees to the end of the partition; return where they begin."""
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
    order : the numbers of the candidate edges; they are reordered
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
                # The larger root goes under the smaller one, so that a tree's root is its first item.
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


@kernel
def _best_after(gains: FloatMatrix, alive: LongVector, n_alive: int, place: int) -> int:
    """The cluster with the largest gain among those after `place`; −1 if there is none."""
    row, best = gains[alive[place]], -1
    for k in range(place + 1, n_alive):
        if best < 0 or row[alive[k]] > row[best]:
            best = alive[k]
    return best


@kernel
def agglomerate(gains: FloatMatrix) -> IntVector:
    """The cluster of each item, numbered by first appearance; `gains`, a symmetric matrix of scores, is overwritten."""
    # best[a] is a's best partner after it. A merge changes only gains with the winner and the absorbed cluster, so only
    # the clusters whose best partner was one of the two search again.
    n = len(gains)
    label, alive, best = np.arange(n), np.arange(n), np.empty(n, dtype=np.int64)
    n_alive = n
    for place in range(n):
        best[place] = _best_after(gains, alive, n, place)
    while True:
        winner, most = -1, 0.0
        for place in range(n_alive):
            a = alive[place]
            if best[a] >= 0 and gains[a, best[a]] > most:
                winner, most = a, gains[a, best[a]]
        if winner < 0:
            return numbered_by_first(label)
        absorbed, kept = best[winner], 0
        for k in range(n):
            gains[winner, k] += gains[absorbed, k]
        for k in range(n):
            gains[k, winner] = gains[winner, k]
            label[k] = winner if label[k] == absorbed else label[k]
        for place in range(n_alive):
            if alive[place] != absorbed:
                alive[kept] = alive[place]
                kept += 1
        n_alive = kept
        for place in range(n_alive):
            a = alive[place]
            if a == winner or best[a] == winner or best[a] == absorbed:
                best[a] = _best_after(gains, alive, n_alive, place)
            elif a < winner and gains[a, winner] > gains[a, best[a]]:
                best[a] = winner
