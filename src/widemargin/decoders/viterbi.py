"""The best label sequence of a first-order chain (Viterbi).

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The forward pass is pure max-plus arithmetic over contiguous rows, which vectorises; no back pointers are kept, since
recomputing the one predecessor that each step of the best path needs is O(labels) a token.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector


@kernel
def _extend(last: FloatVector, table: FloatMatrix, row: FloatVector, n_labels: int) -> None:
    """row[l] = max over p of last[p] + table[p, l]; four predecessors at a time, so that `row` stays in registers."""
    for label in range(n_labels):
        row[label] = -np.inf
    p = 0
    while p + 4 <= n_labels:
        s0, s1, s2, s3 = last[p], last[p + 1], last[p + 2], last[p + 3]
        t0, t1, t2, t3 = table[p], table[p + 1], table[p + 2], table[p + 3]
        for label in range(n_labels):
            a, b, c, d = s0 + t0[label], s1 + t1[label], s2 + t2[label], s3 + t3[label]
            a = a if a > b else b
            c = c if c > d else d
            a = a if a > c else c
            row[label] = a if a > row[label] else row[label]
        p += 4
    while p < n_labels:
        so_far, step = last[p], table[p]
        for label in range(n_labels):
            score = so_far + step[label]
            row[label] = score if score > row[label] else row[label]
        p += 1


@kernel
def viterbi(
    emission: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    best: FloatMatrix,
    labels: IntVector,
) -> float:
    """Write the best sequence to `labels` and return its score; of equal ones, the one with the lowest late labels.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    transition : (n, L, L) array, or (1, L, L) when all positions share one; entry [t] leads from t − 1 to t
    begin, end : (L,) arrays
    best : (≥ n, L) scratch array; best[t, l] becomes the score of the best prefix that ends with label l at t
    labels : (n,) output
    """
    n, n_labels = emission.shape
    shared = transition.shape[0] == 1
    for label in range(n_labels):
        best[0, label] = begin[label] + emission[0, label]
    for t in range(1, n):
        table = transition[0 if shared else t]
        _extend(best[t - 1], table, best[t], n_labels)
        for label in range(n_labels):
            best[t, label] += emission[t, label]

    label = 0
    for other in range(1, n_labels):
        if best[n - 1, other] + end[other] > best[n - 1, label] + end[label]:
            label = other
    total = best[n - 1, label] + end[label]
    labels[n - 1] = label
    for t in range(n - 1, 0, -1):
        table = transition[0 if shared else t]
        previous = 0
        for other in range(1, n_labels):
            if best[t - 1, other] + table[other, label] > best[t - 1, previous] + table[previous, label]:
                previous = other
        label = previous
        labels[t - 1] = label
    return total
