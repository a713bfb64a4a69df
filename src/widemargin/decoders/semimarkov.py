"""The best segmentation of a sequence (Sarawagi & Cohen 2004), and the two passes that searches start from.

    score = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[t_j, y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. With n tokens, L labels and segments of up to m tokens, a pass takes O(n (m L + L²)):

    arrival[t, y]   = max over y' of best[t-1, y'] + transition[t, y', y],   begin[y] at t = 0
    best[u, y]      = max over d of arrival[u-d, y] + segment[u-d, d, y]
    departure[u, y] = max over y' of transition[u+1, y, y'] + onset[u+1, y'],   end[y] at u = n − 1
    onset[t, y]     = max over d of segment[t, d, y] + departure[t+d, y]

The last two are the first two run backwards; best and departure are the γ and β of Sarawagi & Gupta (2008, 4.3.2). As
in `viterbi`, rows of labels are contiguous, no back pointers are kept, and comparing sums finds the path to a maximum
again. Outputs are codes: twice the label, plus one where a segment begins.

A chain of labels is a segmentation into single tokens, m = 1. Only its best labels have a faster decoder, `viterbi`.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntMatrix, IntVector
from widemargin.decoders.viterbi import Segmented, extend


class Passes(NamedTuple):
    """The four tables above, (≥ n, L) arrays, and neighbours on the best paths.

    `neighbours` is (2, ≥ n, L, 2): d and label of the segment before one that begins at t, and of the segment after one
    that ends at u; −1 if they are not known yet. `transposed` has room for transitions.
    """

    arrival: FloatMatrix
    best: FloatMatrix
    departure: FloatMatrix
    onset: FloatMatrix
    neighbours: IntMatrix
    transposed: FloatMatrix


def new_passes(n: int, n_labels: int) -> Passes:
    """Room for the tables of sequences of up to `n` tokens."""
    arrival, best, departure, onset = np.empty((4, n, n_labels))
    neighbours, transposed = np.empty((2, n, n_labels, 2), dtype=np.int32), np.empty((n_labels, n_labels))
    return Passes(arrival, best, departure, onset, neighbours, transposed)


# Entry [min(t, len − 1)] of transitions leads to t, also if all tokens share one. It is written out: a kernel that
# calls one that returns an array counts references to all its arrays, which would take as long as these recursions.
@kernel
def forward(one: Segmented, arrival: FloatMatrix, best: FloatMatrix) -> None:
    """Fill in the (≥ n, L) arrays `arrival` and `best`."""
    n, longest, n_labels = one.segment.shape
    for t in range(n):
        for label in range(n_labels):
            best[t, label] = -np.inf
    for t in range(n):
        arrived = arrival[t]
        if t > 0:
            extend(best[t - 1], one.transition[min(t, len(one.transition) - 1)], arrived, n_labels)
        else:
            for label in range(n_labels):
                arrived[label] = one.begin[label]
        for d in range(min(longest, n - t)):
            scores, row = one.segment[t, d], best[t + d]
            for label in range(n_labels):
                score, old = arrived[label] + scores[label], row[label]
                row[label] = score if score > old else old


@kernel
def _depart(one: Segmented, passes: Passes, t: int) -> None:
    """Fill in departure[t]."""
    # The maximum is over the later label: with the shared table transposed, it too runs along rows.
    n, _, n_labels = one.segment.shape
    left = passes.departure[t]
    if t == n - 1:
        for label in range(n_labels):
            left[label] = one.end[label]
    elif len(one.transition) == 1:
        extend(passes.onset[t + 1], passes.transposed, left, n_labels)
    else:
        for p in range(n_labels):
            best, row = -np.inf, one.transition[t + 1, p]
            for label in range(n_labels):
                score = row[label] + passes.onset[t + 1, label]
                best = score if score > best else best
            left[p] = best


@kernel
def both_passes(one: Segmented, passes: Passes) -> None:
    """Fill in all four tables, and forget neighbours."""
    n, longest, n_labels = one.segment.shape
    for t in range(n):
        for label in range(n_labels):
            passes.neighbours[0, t, label, 0] = passes.neighbours[1, t, label, 0] = -1
    forward(one, passes.arrival, passes.best)
    for p in range(n_labels if n > 0 else 0):
        for label in range(n_labels):
            passes.transposed[label, p] = one.transition[0, p, label]
    for t in range(n - 1, -1, -1):
        _depart(one, passes, t)
        row = passes.onset[t]
        for label in range(n_labels):
            row[label] = -np.inf
        for d in range(min(longest, n - t)):
            scores, left = one.segment[t, d], passes.departure[t + d]
            for label in range(n_labels):
                score, old = scores[label] + left[label], row[label]
                row[label] = score if score > old else old


@kernel
def last_length(one: Segmented, arrival: FloatMatrix, best: FloatMatrix, u: int, label: int) -> int:
    """The d of the last segment, with `label`, of the best segmentation of the tokens up to u; least in a tie."""
    d, most = 0, min(one.segment.shape[1], u + 1) - 1
    while d < most and arrival[u - d, label] + one.segment[u - d, d, label] != best[u, label]:
        d += 1
    return d


@kernel
def previous_label(one: Segmented, arrival: FloatMatrix, best: FloatMatrix, t: int, label: int) -> int:
    """The label of the segment before the one that begins at t > 0 with `label`; the lowest in a tie."""
    table, previous = one.transition[min(t, len(one.transition) - 1)], 0
    while previous < len(table) - 1 and best[t - 1, previous] + table[previous, label] != arrival[t, label]:
        previous += 1
    return previous


@kernel
def write_segment(t: int, d: int, label: int, codes: IntVector) -> None:
    """Write the codes of a segment."""
    for s in range(t, t + d + 1):
        codes[s] = 2 * label
    codes[t] += 1


@kernel
def semimarkov(one: Segmented, arrival: FloatMatrix, best: FloatMatrix, codes: IntVector) -> float:
    """Write the best segmentation to the (n,) `codes` and return its score; (≥ n, L) `arrival` and `best` are scratch.

    Ties go, from the end backwards, to the lowest labels and then the shortest segments.
    """
    u, label = len(codes) - 1, 0
    forward(one, arrival, best)
    for other in range(1, len(one.end)):
        if best[u, other] + one.end[other] > best[u, label] + one.end[label]:
            label = other
    total = best[u, label] + one.end[label]
    while u >= 0:
        d = last_length(one, arrival, best, u, label)
        write_segment(u - d, d, label, codes)
        u -= d + 1
        if u >= 0:
            label = previous_label(one, arrival, best, u + 1, label)
    return total
