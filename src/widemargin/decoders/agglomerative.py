"""Correlation clustering by greedy merging, which is fast but not exact.

    max Σ scores[i, j]     over partitions, summed over the pairs i < j that are in one part

Finding the maximum is NP-hard. Beginning with every item alone, the two clusters whose union gains most are merged
until no union gains anything. A matrix of gains between clusters is kept, and for each cluster the best partner after
it. So a merge costs O(n), and O(n) for each cluster that has lost its best partner. A cluster goes by its first item.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector, LongVector
from widemargin.decoders.kruskal import numbered_by_first


@kernel
def _best_after(gains: FloatMatrix, alive: LongVector, n_alive: int, place: int) -> int:
    """Of the clusters behind the one at `place`, the one with the largest gain; −1 if there is none."""
    row, best = gains[alive[place]], -1
    for k in range(place + 1, n_alive):
        if best < 0 or row[alive[k]] > row[best]:
            best = alive[k]
    return best


@kernel
def _best_of_all(gains: FloatMatrix, alive: LongVector, n_alive: int, best: LongVector) -> int:
    """The cluster that gains most from its best partner; −1 if none gains anything."""
    winner, most = -1, 0.0
    for place in range(n_alive):
        a = alive[place]
        if best[a] >= 0 and gains[a, best[a]] > most:
            winner, most = a, gains[a, best[a]]
    return winner


@kernel
def _merge(gains: FloatMatrix, winner: int, absorbed: int, label: LongVector) -> None:
    """Add the gains of one cluster to those of the other."""
    for k in range(len(gains)):
        gains[winner, k] += gains[absorbed, k]
    for k in range(len(gains)):
        gains[k, winner] = gains[winner, k]
        if label[k] == absorbed:
            label[k] = winner


@kernel
def _without(alive: LongVector, n_alive: int, absorbed: int) -> int:
    write = 0
    for place in range(n_alive):
        if alive[place] != absorbed:
            alive[write] = alive[place]
            write += 1
    return write


@kernel
def agglomerate(gains: FloatMatrix) -> IntVector:
    """The cluster of each item, numbered by first appearance; `gains`, a symmetric matrix of scores, is overwritten."""
    n = len(gains)
    label, alive, best = np.arange(n), np.arange(n), np.empty(n, dtype=np.int64)
    n_alive = n
    for place in range(n):
        best[place] = _best_after(gains, alive, n, place)
    winner = _best_of_all(gains, alive, n_alive, best)
    while winner >= 0:
        absorbed = best[winner]
        _merge(gains, winner, absorbed, label)
        n_alive = _without(alive, n_alive, absorbed)
        for place in range(n_alive):
            a = alive[place]
            if a == winner or best[a] == winner or best[a] == absorbed:
                best[a] = _best_after(gains, alive, n_alive, place)
            elif a < winner and gains[a, winner] > gains[a, best[a]]:
                best[a] = winner
        winner = _best_of_all(gains, alive, n_alive, best)
    return numbered_by_first(label)
