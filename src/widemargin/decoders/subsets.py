"""Sets of K labels, scored by their members and by pairs of members: list all sets, or search for a good one.

    score(y) = Σ_k y_k single[k] + Σ_{j<k} y_j y_k pair[j, k],   y ∈ {0, 1}^K

Set number m has label k if bit k of m is set. The sets whose highest label is k are the sets with numbers below 2^k,
each with k added. The gains of adding k are a table built the same way, so each of the 2^K scores takes two additions.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix

MOST_LISTED = 14
"""The largest number of labels whose sets are all listed: 2^14 sets take some ten microseconds."""


@kernel
def subset_scores(single: FloatMatrix, pair: FloatMatrix) -> FloatMatrix:
    """The scores of all sets, a row for each row of `single`; only the entries of `pair` above the diagonal count."""
    found = np.empty((single.shape[0], 1 << single.shape[1]))
    for i in range(len(single)):
        scores = found[i]
        scores[0] = 0.0
        for k in range(single.shape[1]):
            size = 1 << k
            gain = scores[size : 2 * size]
            gain[0] = single[i, k]
            for j in range(k):
                half = 1 << j
                for m in range(half):
                    gain[half + m] = gain[m] + pair[j, k]
            for m in range(size):
                gain[m] += scores[m]
    return found


@kernel
def subset_sums(p: FloatMatrix, n_labels: int) -> FloatMatrix:
    """Σ_m p[i, m] over all sets m with both labels j and k, j ≤ k: a flat K × K table for every row i.

    The reverse of listing the sets: label by label, the sets with the highest label are added to those without it. `p`
    is overwritten.
    """
    # Folding the upper half onto the lower one sums label k out; folding `upper` in turn gives the sums with j and k.
    sums = np.zeros((p.shape[0], n_labels * n_labels))
    for i in range(p.shape[0]):
        for back in range(n_labels):
            k = n_labels - 1 - back
            size = 1 << k
            upper = p[i, size : 2 * size]
            for m in range(size):
                p[i, m] += upper[m]
            for back_below in range(k):
                j = k - 1 - back_below
                half = 1 << j
                total = 0.0
                for m in range(half):
                    total += upper[half + m]
                    upper[m] += upper[half + m]
                sums[i, j * n_labels + k] = total
            sums[i, k * n_labels + k] = upper[0]
    return sums


@kernel
def _climb(single: FloatVector, pair: FloatMatrix, gain: FloatVector, y: IntMatrix) -> float:
    """Flip the label that gains most until no flip gains; return the score of the final set `y`.

    gain[k] is the score that label k adds to the other labels present; `pair` is symmetric with a diagonal of zeros.
    """
    # A flip updates all gains in K steps instead of K²; the threshold keeps rounding errors from flipping forever.
    n = len(single)
    total = 0.0
    for k in range(n):
        gain[k] = single[k]
        for j in range(n):
            gain[k] += y[j] * pair[j, k]
        total += y[k] * (gain[k] + single[k]) / 2
    while True:
        best, at = 1e-12, -1
        for k in range(n):
            gained = -gain[k] if y[k] else gain[k]
            if gained > best:
                best, at = gained, k
        if at < 0:
            return total
        total += best
        y[at] = 1 - y[at]
        sign = 1.0 if y[at] else -1.0
        for k in range(n):
            gain[k] += sign * pair[at, k]


@kernel
def search_subsets(single: FloatMatrix, pair: FloatMatrix) -> IntMatrix:
    """A set with a high score for every row of `single`, as a row of indicators: the best of three climbs.

    The climbs start from no label, from all labels, and from those that score above 0 by themselves; `pair` is
    symmetric with a diagonal of zeros.
    """
    found = np.zeros(single.shape, dtype=np.int32)
    y, gain = np.empty(single.shape[1], dtype=np.int32), np.empty(single.shape[1])
    for i in range(len(single)):
        best = -np.inf
        for start in range(3):
            for k in range(len(y)):
                y[k] = start == 1 or (start == 2 and single[i, k] > 0.0)
            score = _climb(single[i], pair, gain, y)
            if score > best:
                best = score
                for k in range(len(y)):
                    found[i, k] = y[k]
    return found
