"""Sums over all label sequences of a first-order chain (forward–backward), from logarithms, for any scores.

    p(y) = exp(score(y)) / Z,   Z = Σ_y exp(score(y)),   with score(y) as in `viterbi`

gives log Z, p(y_t = l) and p(y_t-1 = k, y_t = l). `structures.chain_sums` is many times as fast, and comes here for
sequences whose sums would underflow.
"""

from math import exp, inf, log

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector

NEGLIGIBLE = 1e-280


@kernel
def exponentials(scores: FloatVector, out: FloatVector) -> float:
    """out = exp(scores − top), top being the largest score, or 0 where all are −inf; return top."""
    top = -inf
    for score in scores:
        top = max(top, score)
    if top == -inf:
        top = 0.0
    for k in range(len(scores)):
        out[k] = exp(scores[k] - top)
    return top


@kernel
def extend_sums(last: FloatVector, table: FloatMatrix, row: FloatVector) -> None:
    """row[l] = Σ_k last[k] table[k, l], four rows of the table at a time: `row` is stored a quarter as often."""
    n = len(row)
    for label in range(n):
        row[label] = 0.0
    k = 0
    while k + 4 <= n:
        s0, s1, s2, s3 = last[k], last[k + 1], last[k + 2], last[k + 3]
        t0, t1, t2, t3 = table[k], table[k + 1], table[k + 2], table[k + 3]
        for label in range(n):
            row[label] += (s0 * t0[label] + s1 * t1[label]) + (s2 * t2[label] + s3 * t3[label])
        k += 4
    while k < n:
        s0, t0 = last[k], table[k]
        for label in range(n):
            row[label] += s0 * t0[label]
        k += 1


@kernel
def log_sum(terms: FloatVector) -> float:
    """log Σ exp(term), which overwrites `terms`."""
    top, total = exponentials(terms, terms), 0.0
    for value in terms:
        total += value
    return top + log(total) if total > 0.0 else -inf


@kernel
def forward_backward(
    emission: FloatMatrix,
    scores: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    forward: FloatMatrix,
    backward: FloatMatrix,
    labels: FloatMatrix,
    pairs: FloatMatrix,
) -> float:
    """Write the posteriors to `labels` and `pairs` and return log Z; scores may be −inf.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    scores : of transitions, (n, L, L), entry [t] leads from t − 1 to t; or (1, L, L) if all positions share one table
    begin, end : (L,) arrays
    forward, backward : (≥ n, L) scratch arrays
    labels : (n, L) output, p(y_t = l)
    pairs : (n, L, L) output, p(y_t-1 = k, y_t = l), zero at t = 0; or (1, L, L), the sum over all t, if positions
        share a table
    """
    n, n_labels = emission.shape
    shared = scores.shape[0] == 1
    terms = np.empty(n_labels)
    for table in range(pairs.shape[0]):
        for k in range(n_labels):
            for label in range(n_labels):
                pairs[table, k, label] = 0.0
    for label in range(n_labels):
        forward[0, label] = begin[label] + emission[0, label]
        backward[n - 1, label] = end[label]
    for t in range(1, n):
        for label in range(n_labels):
            for k in range(n_labels):
                terms[k] = forward[t - 1, k] + scores[0 if shared else t, k, label]
            forward[t, label] = emission[t, label] + log_sum(terms)
    for label in range(n_labels):
        terms[label] = forward[n - 1, label] + end[label]
    total = log_sum(terms)
    # If no sequence is possible, all posteriors are zero.
    scale = total if total > -inf else 0.0
    for t in range(n - 1, -1, -1):
        for label in range(n_labels):
            labels[t, label] = exp(forward[t, label] + backward[t, label] - scale)
        for k in range(n_labels if t > 0 else 0):
            table = 0 if shared else t
            for label in range(n_labels):
                terms[label] = scores[table, k, label] + emission[t, label] + backward[t, label]
                pairs[table, k, label] += exp(forward[t - 1, k] + terms[label] - scale)
            backward[t - 1, k] = log_sum(terms)
    return total
