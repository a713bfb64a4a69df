"""The best segmentation for each total error.

As in `semimarkov`, with the error e of a prefix, a whole number, as one more dimension:

    arrival[t, y, e] = max over y' of best[t-1, y', e] + transition[y', y],   begin[y] at t = 0 and e = 0, else −inf
    best[u, y, e]    = max over d of arrival[u-d, y, e − error] + segment[u-d, d, y],   error = errors[u-d, d, y]

in O(n L (m + L)) steps for each e, up to the largest error that a segmentation can have: quadratic in n.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.semimarkov import write_segment


@kernel
def errors_forward(
    segment: FloatMatrix,
    errors: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    arrival: FloatMatrix,
    best: FloatMatrix,
) -> None:
    """Fill in the (≥ n, L, E + 1) arrays `arrival` and `best`; no segmentation has an error above E.

    `errors` is an (n, m, L) array of whole numbers, the errors of segments; the rest is as in `semimarkov`.
    """
    n, longest, n_labels = segment.shape
    n_errors = best.shape[2]
    for t in range(n):
        for label in range(n_labels):
            for e in range(n_errors):
                best[t, label, e] = arrival[t, label, e] = -np.inf
    for t in range(n):
        for label in range(n_labels):
            arrived = arrival[t, label]
            if t == 0:
                arrived[0] = begin[label]
            for p in range(n_labels if t > 0 else 0):
                last, step = best[t - 1, p], transition[p, label]
                for e in range(n_errors):
                    arrived[e] = max(arrived[e], last[e] + step)
            for d in range(min(longest, n - t)):
                score, error, row = segment[t, d, label], int(errors[t, d, label]), best[t + d, label]
                for e in range(n_errors - error):
                    row[e + error] = max(row[e + error], arrived[e] + score)


@kernel
def _leads_here(
    segment: FloatMatrix,
    errors: FloatMatrix,
    arrival: FloatMatrix,
    best: FloatMatrix,
    u: int,
    d: int,
    label: int,
    e: int,
) -> bool:
    """Whether best[u, label, e] comes from a segment of d + 1 tokens."""
    before = e - int(errors[u - d, d, label])
    return before >= 0 and arrival[u - d, label, before] + segment[u - d, d, label] == best[u, label, e]


@kernel
def trace_error(
    segment: FloatMatrix,
    errors: FloatMatrix,
    transition: FloatMatrix,
    arrival: FloatMatrix,
    best: FloatMatrix,
    label: int,
    e: int,
    codes: IntVector,
) -> None:
    """Write the best segmentation with this last label and this total error e, which must be possible."""
    u = len(codes) - 1
    while u >= 0:
        d = 0
        while not _leads_here(segment, errors, arrival, best, u, d, label, e):
            d += 1
        write_segment(u - d, d, label, codes)
        u -= d + 1
        e -= int(errors[u + 1, d, label])
        if u >= 0:
            previous = 0
            while best[u, previous, e] + transition[previous, label] != arrival[u + 1, label, e]:
                previous += 1
            label = previous
