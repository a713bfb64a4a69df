"""The best label sequence of a first-order chain (Viterbi).

    score(y) = begin[y_0] + Σ_t emission[t, y_t] + Σ_{t>0} transition[t, y_{t-1}, y_t] + end[y_{n-1}]

The forward pass is pure max-plus arithmetic over contiguous rows, which vectorises. No back pointers are kept: finding
the one predecessor of each step of the best path again takes O(labels) per token.

**Few labels can be predecessors.** With H[p] and h[p] the highest and the lowest score of a transition from p, a label
p with last[p] + H[p] < max_q last[q] + h[q] is the best predecessor of no label, and is left out. Rounding keeps the
order of sums, so the result is the same to the last bit. Of 49 English part-of-speech tags, 6 remain in loss-augmented
decoding and 1.2 in prediction, so the part that is quadratic in the number of labels takes almost no time.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector

MOST = 1e308  # more than any score, but not infinite: forbidden labels score −∞, and ∞ − ∞ is NaN


class Segmented(NamedTuple):
    """The part scores of one sequence, if labels go to segments of up to m tokens (`semimarkov`); a chain has m = 1.

    segment : (n, m, L) array, n ≥ 1; entries [t, d] beyond the end of the sequence, t + d ≥ n, are ignored
    transition : (n, L, L) array, or (1, L, L) when all tokens share one; entry [t] leads to a segment that begins at t
    begin, end : (L,) arrays
    """

    segment: FloatMatrix
    transition: FloatMatrix
    begin: FloatVector
    end: FloatVector


class Reach(NamedTuple):
    """The highest and the lowest score of a transition from each label, and room for the labels that are `kept`."""

    highest: FloatVector
    lowest: FloatVector
    kept: IntVector


@kernel
def reach_of(transition: FloatMatrix) -> Reach:
    """The reach of (1, L, L) transitions, which all positions share; for other shapes it excludes no label."""
    n_labels = transition.shape[1]
    reach = Reach(np.full(n_labels, MOST), np.full(n_labels, -MOST), np.empty(n_labels, dtype=np.int32))
    if transition.shape[0] == 1:
        for p in range(n_labels):
            highest, lowest = -np.inf, np.inf
            for label in range(n_labels):
                score = transition[0, p, label]
                highest = score if score > highest else highest
                lowest = score if score < lowest else lowest
            reach.highest[p], reach.lowest[p] = highest, lowest
    return reach


@kernel
def _keep(last: FloatVector, reach: Reach) -> int:
    """List the labels that may be the best predecessor of any label, in order; return how many there are."""
    enough = -np.inf
    for p in range(len(last)):
        score = last[p] + reach.lowest[p]
        enough = score if score > enough else enough
    n = 0
    for p in range(len(last)):
        reach.kept[n] = p  # the next overwrites it if it is not kept: a branch would be unpredictable
        n += 0 if last[p] + reach.highest[p] < enough else 1
    return n


@kernel
def extend(last: FloatVector, table: FloatMatrix, row: FloatVector, n_labels: int) -> None:
    """row[l] = max over p of last[p] + table[p, l].

    Six predecessors at a time, so that `row` is loaded and stored a sixth as often. Past the end the last one is
    repeated, which changes no maximum and saves a second loop. The old value of `row` enters before the last
    comparison: if it entered in the last one, the compiler would make that a masked store, half as fast.
    """
    # Predecessor 0 starts the maxima, which saves a pass that writes −∞.
    for label in range(n_labels):
        row[label] = last[0] + table[0, label]
    end = n_labels - 1
    for p in range(1, n_labels, 6):
        p1, p2, p3, p4, p5 = min(p + 1, end), min(p + 2, end), min(p + 3, end), min(p + 4, end), min(p + 5, end)
        s0, s1, s2, s3, s4, s5 = last[p], last[p1], last[p2], last[p3], last[p4], last[p5]
        for label in range(n_labels):
            a, b = s0 + table[p, label], s1 + table[p1, label]
            c, d = s2 + table[p2, label], s3 + table[p3, label]
            e, f = s4 + table[p4, label], s5 + table[p5, label]
            old = row[label]
            a = a if a > b else b
            c = c if c > d else d
            e = e if e > f else f
            a = a if a > c else c
            e = e if e > old else old
            row[label] = a if a > e else e


@kernel
def extend_within(last: FloatVector, table: FloatMatrix, reach: Reach, row: FloatVector) -> None:
    """As `extend`, but over the possible predecessors only, if these are at most half of the labels."""
    n_labels = len(row)
    n = _keep(last, reach)
    if 2 * n > n_labels:
        extend(last, table, row, n_labels)
    else:
        for label in range(n_labels):
            row[label] = -np.inf
        for k in range(0, n, 2):
            p, other = reach.kept[k], reach.kept[min(k + 1, n - 1)]
            s, s1 = last[p], last[other]
            for label in range(n_labels):
                a, b, old = s + table[p, label], s1 + table[other, label], row[label]
                b = b if b > old else old
                row[label] = a if a > b else b


@kernel
def viterbi(
    emission: FloatMatrix,
    transition: FloatMatrix,
    reach: Reach,
    begin: FloatVector,
    end: FloatVector,
    prefix: FloatMatrix,
    arrival: FloatMatrix,
    labels: IntVector,
) -> float:
    """Write the best sequence to `labels` and return its score; ties go to the lowest labels, from the end backwards.

    Parameters
    ----------
    emission : (n, L) array, n ≥ 1
    transition : (n, L, L) array, or (1, L, L) when all positions share one; entry [t] leads from t − 1 to t
    reach : of the transitions, from `reach_of`
    begin, end : (L,) arrays
    prefix : (≥ n, L) scratch array, for the scores of the best prefixes that end with label l at t; may be `emission`
    arrival : (≥ n, L) scratch array, for those scores before the emission at t is added
    labels : (n,) output
    """
    n, n_labels = emission.shape
    shared = transition.shape[0] == 1
    for label in range(n_labels):
        prefix[0, label] = emission[0, label] + begin[label]
    for t in range(1, n):
        extend_within(prefix[t - 1], transition[0 if shared else t], reach, arrival[t])
        for label in range(n_labels):
            prefix[t, label] = emission[t, label] + arrival[t, label]

    label = 0
    for other in range(1, n_labels):
        if prefix[n - 1, other] + end[other] > prefix[n - 1, label] + end[label]:
            label = other
    total = prefix[n - 1, label] + end[label]
    labels[n - 1] = label
    for t in range(n - 1, 0, -1):
        # The predecessor is the first whose sum, computed as in the forward pass, is the maximum found there.
        table = transition[0 if shared else t]
        previous = 0
        while previous < n_labels - 1 and prefix[t - 1, previous] + table[previous, label] != arrival[t, label]:
            previous += 1
        label = previous
        labels[t - 1] = label
    return total
