"""The best segmentation of a sequence (Sarawagi & Cohen 2004), and the best that contains a given segment.

    score = begin[y_1] + Σ_j segment[t_j, d_j, y_j] + Σ_{j>1} transition[y_j-1, y_j] + end[y_p]

over segments j = 1 … p that follow one another without a gap, each from token t_j on, d_j + 1 tokens long, with the
label y_j. With n tokens, L labels and segments of up to m tokens, a pass takes O(n (m L + L²)):

    arrival[t, y]   = max over y' of best[t-1, y'] + transition[y', y],   begin[y] at t = 0
    best[u, y]      = max over d of arrival[u-d, y] + segment[u-d, d, y]
    departure[u, y] = max over y' of transition[y, y'] + onset[u+1, y'],   end[y] at u = n − 1
    onset[t, y]     = max over d of segment[t, d, y] + departure[t+d, y]

The last two are the first two run backwards; best and departure are the γ and β of Sarawagi & Gupta (2008, 4.3.2). As
in `viterbi`, rows of labels are contiguous, no back pointers are kept, and the path to a maximum is found again by
comparing sums. Outputs are codes: twice the label, plus one where a segment begins.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.viterbi import extend


@kernel
def forward(
    segment: FloatMatrix, transition: FloatMatrix, begin: FloatVector, arrival: FloatMatrix, best: FloatMatrix
) -> None:
    """Fill in the (≥ n, L) arrays `arrival` and `best`; the part scores are as in `semimarkov`."""
    n, longest, n_labels = segment.shape
    for t in range(n):
        for label in range(n_labels):
            best[t, label] = -np.inf
    for t in range(n):
        arrived = arrival[t]
        if t > 0:
            extend(best[t - 1], transition, arrived, n_labels)
        else:
            for label in range(n_labels):
                arrived[label] = begin[label]
        for d in range(min(longest, n - t)):
            scores, row = segment[t, d], best[t + d]
            for label in range(n_labels):
                score, old = arrived[label] + scores[label], row[label]
                row[label] = score if score > old else old


@kernel
def backward(
    segment: FloatMatrix, transition: FloatMatrix, end: FloatVector, departure: FloatMatrix, onset: FloatMatrix
) -> None:
    """Fill in the (≥ n, L) arrays `departure` and `onset`; the part scores are as in `semimarkov`."""
    n, longest, n_labels = segment.shape
    transposed = np.empty((n_labels, n_labels))
    for p in range(n_labels):
        for label in range(n_labels):
            transposed[label, p] = transition[p, label]
    for t in range(n - 1, -1, -1):
        if t < n - 1:
            extend(onset[t + 1], transposed, departure[t], n_labels)
        else:
            for label in range(n_labels):
                departure[t, label] = end[label]
        row = onset[t]
        for label in range(n_labels):
            row[label] = -np.inf
        for d in range(min(longest, n - t)):
            scores, left = segment[t, d], departure[t + d]
            for label in range(n_labels):
                score, old = scores[label] + left[label], row[label]
                row[label] = score if score > old else old


@kernel
def _last_label(best: FloatVector, end: FloatVector) -> int:
    label = 0
    for other in range(1, len(end)):
        if best[other] + end[other] > best[label] + end[label]:
            label = other
    return label


@kernel
def last_length(segment: FloatMatrix, arrival: FloatMatrix, best: FloatMatrix, u: int, label: int) -> int:
    """The d of the last segment, with `label`, of the best segmentation of the tokens up to u; least in a tie."""
    d, most = 0, min(segment.shape[1], u + 1) - 1
    while d < most and arrival[u - d, label] + segment[u - d, d, label] != best[u, label]:
        d += 1
    return d


@kernel
def previous_label(transition: FloatMatrix, arrival: FloatMatrix, best: FloatMatrix, t: int, label: int) -> int:
    """The label of the segment before the one that begins at t > 0 with `label`; the lowest in a tie."""
    previous = 0
    while previous < len(transition) - 1 and best[t - 1, previous] + transition[previous, label] != arrival[t, label]:
        previous += 1
    return previous


@kernel
def write_segment(t: int, d: int, label: int, codes: IntVector) -> None:
    """Write the codes of a segment."""
    for s in range(t, t + d + 1):
        codes[s] = 2 * label
    codes[t] += 1


@kernel
def semimarkov(
    segment: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    arrival: FloatMatrix,
    best: FloatMatrix,
    codes: IntVector,
) -> float:
    """Write the best segmentation to `codes` and return its score.

    Ties go, from the end backwards, to the lowest labels and then the shortest segments.

    Parameters
    ----------
    segment : (n, m, L) array, n ≥ 1; entries [t, d] beyond the end of the sequence, t + d ≥ n, are ignored
    transition : (L, L) array
    begin, end : (L,) arrays
    arrival, best : (≥ n, L) scratch arrays
    codes : (n,) output
    """
    n = len(segment)
    forward(segment, transition, begin, arrival, best)
    label = _last_label(best[n - 1], end)
    total = best[n - 1, label] + end[label]
    u = n - 1
    while u >= 0:
        d = last_length(segment, arrival, best, u, label)
        write_segment(u - d, d, label, codes)
        u -= d + 1
        if u >= 0:
            label = previous_label(transition, arrival, best, u + 1, label)
    return total


@kernel
def next_label(transition: FloatMatrix, departure: FloatMatrix, onset: FloatMatrix, u: int, label: int) -> int:
    """The label of the segment after the one that ends at u < n − 1 with `label`; the lowest in a tie."""
    following = 0
    while (
        following < len(transition) - 1
        and onset[u + 1, following] + transition[label, following] != departure[u, label]
    ):
        following += 1
    return following


@kernel
def next_length(segment: FloatMatrix, departure: FloatMatrix, onset: FloatMatrix, t: int, label: int) -> int:
    """The d of the first segment, with `label`, of the best segmentation of the tokens from t on; least in a tie."""
    d, most = 0, min(segment.shape[1], len(segment) - t) - 1
    while d < most and segment[t, d, label] + departure[t + d, label] != onset[t, label]:
        d += 1
    return d


@kernel
def max_marginals(
    segment: FloatMatrix, arrival: FloatMatrix, departure: FloatMatrix, t: int, d: int, out: FloatVector
) -> None:
    """For each label, the best score of a segmentation in which it labels the segment of d + 1 tokens from t on."""
    for label in range(len(out)):
        out[label] = arrival[t, label] + segment[t, d, label] + departure[t + d, label]


@kernel
def segmentation_score(
    segment: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, codes: IntVector
) -> float:
    """The score of one segmentation."""
    n, t = len(codes), 0
    total = begin[codes[0] >> 1] + end[codes[n - 1] >> 1]
    for u in range(n):
        if u == n - 1 or codes[u + 1] & 1:
            total += segment[t, u - t, codes[u] >> 1]
            if u < n - 1:
                total += transition[codes[u] >> 1, codes[u + 1] >> 1]
            t = u + 1
    return total
