"""The k best label sequences of a first-order chain.

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

As in `viterbi`, but every label at every position keeps the k best prefixes that end there, best first, each with the
label and the rank of the prefix that it extends. No two entries stand for the same sequence, so none appears twice.
−inf marks an empty place: a forbidden prefix is kept only if there is no other.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector


@kernel
def _insert(score: float, origin: int, scores: FloatVector, origins: IntVector) -> bool:
    """Insert an entry after those that are at least as good, dropping the last; False if all of them are."""
    place = len(scores) - 1
    if score <= scores[place]:
        return False
    while place > 0 and score > scores[place - 1]:
        scores[place], origins[place] = scores[place - 1], origins[place - 1]
        place -= 1
    scores[place], origins[place] = score, origin
    return True


@kernel
def merge(last: FloatMatrix, step: FloatVector, scores: FloatVector, origins: IntVector) -> None:
    """The best of last[p, rank] + step[p], with origin p · k + rank.

    In a tie the lowest origin comes first, as in `viterbi`; if all are forbidden, prefix 0 of label 0 does.
    """
    k = len(scores)
    for rank in range(k):
        scores[rank], origins[rank] = -np.inf, 0
    for p in range(len(step)):
        rank = 0
        while rank < k and _insert(last[p, rank] + step[p], p * k + rank, scores, origins):
            rank += 1


@kernel
def kbest(
    emission: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    k: int,
    prefixes: FloatMatrix,
    origins: IntMatrix,
    labels: IntMatrix,
    totals: FloatVector,
) -> int:
    """Write the best sequences to the rows of `labels`, best first, and return their number, at most k.

    The first is the one that `viterbi` finds. Sequences that score −inf are left out; if all do, one is written.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    transition : (n, L, L) array, or (1, L, L) when all positions share one; entry [t] leads from t − 1 to t
    begin, end : (L,) arrays
    k : the number of sequences wanted, ≥ 1
    prefixes : (≥ n, L, k) scratch array, for the scores of the best prefixes that end with a label at a position
    origins : (≥ n + 1, L, k) scratch array, for the prefixes that they extend
    labels : (≥ k, n) output
    totals : (k,) output: the scores
    """
    n, n_labels = emission.shape
    shared = transition.shape[0] == 1
    step = np.empty(n_labels)
    for label in range(n_labels):
        for rank in range(k):
            prefixes[0, label, rank] = -np.inf
        prefixes[0, label, 0] = emission[0, label] + begin[label]
    for t in range(1, n):
        table = transition[0 if shared else t]
        for label in range(n_labels):
            for p in range(n_labels):
                step[p] = table[p, label]
            merge(prefixes[t - 1], step, prefixes[t, label], origins[t, label])
            for rank in range(k):
                prefixes[t, label, rank] += emission[t, label]
    merge(prefixes[n - 1], end, totals, origins[n, 0])

    found = 0
    while found < k and (found == 0 or totals[found] > -np.inf):
        origin = origins[n, 0, found]
        for t in range(n - 1, -1, -1):
            label, rank = origin // k, origin % k
            labels[found, t] = label
            if t > 0:
                origin = origins[t, label, rank]
        found += 1
    return found
