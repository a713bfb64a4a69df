"""The k best segmentations of a sequence.

As in `semimarkov`, but every label keeps, at every token, the k best prefixes that end there with a segment of that
label, and the k best prefixes that such a segment may follow, best first. Each has the rank of the prefix that it
extends, as in `kbest`. No two entries stand for the same segmentation, so none appears twice.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.kbest import merge
from widemargin.decoders.semimarkov import write_segment


@kernel
def _write(codes: IntVector, origin: int, k: int, labels: IntMatrix, lengths: IntMatrix) -> None:
    """Follow the origins of a segmentation backwards from its last label."""
    u = len(codes) - 1
    while u >= 0:
        label = origin // k
        ending = lengths[u, label, origin % k]
        d = ending // k
        write_segment(u - d, d, label, codes)
        origin = labels[u - d, label, ending % k]
        u -= d + 1


@kernel
def semimarkov_kbest(
    segment: FloatMatrix,
    transition: FloatMatrix,
    begin: FloatVector,
    end: FloatVector,
    k: int,
    codes: IntMatrix,
    totals: FloatVector,
) -> int:
    """Write the best segmentations to the rows of `codes`, best first, and return their number, at most k.

    The first is the one that `semimarkov` finds. Segmentations that score −inf are left out; if all do, one is written.

    Parameters
    ----------
    segment, transition, begin, end : as in `semimarkov`
    k : the number of segmentations wanted, ≥ 1
    codes : (≥ k, n) output
    totals : (k,) output: the scores
    """
    n, longest, n_labels = segment.shape
    prefixes, labels = np.empty((n, n_labels, k)), np.zeros((n + 1, n_labels, k), dtype=np.int32)
    # By label and then from the last token to the first, so that the prefixes before segments of 1, 2, … tokens that
    # end at the same token are consecutive rows.
    arrivals, lengths = np.empty((n_labels, n, k)), np.empty((n, n_labels, k), dtype=np.int32)
    steps, reaches = np.empty(n_labels), np.empty(longest)
    for t in range(n):
        back = n - 1 - t
        most = min(longest, t + 1)
        for label in range(n_labels):
            if t > 0:
                for p in range(n_labels):
                    steps[p] = transition[p, label]
                merge(prefixes[t - 1], steps, arrivals[label, back], labels[t, label])
            else:
                for rank in range(k):
                    arrivals[label, back, rank] = -np.inf
                arrivals[label, back, 0] = begin[label]
            for d in range(most):
                reaches[d] = segment[t - d, d, label]
            merge(arrivals[label, back : back + most], reaches[:most], prefixes[t, label], lengths[t, label])
    merge(prefixes[n - 1], end, totals, labels[n, 0])
    found = 0
    while found < k and (found == 0 or totals[found] > -np.inf):
        _write(codes[found], labels[n, 0, found], k, labels, lengths)
        found += 1
    return found
