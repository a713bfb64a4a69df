"""Searches for segmentations of a sequence other than the best: through a segment, by error, and the k best.

**Through a segment.** One forward and one backward pass of `semimarkov` give the best score with each segment, its
max-marginal: arrival[t, y] + segment[t, d, y] + departure[t+d, y]. The neighbours of a segment are traced when needed,
and remembered, because the paths through different segments soon merge.

**By error.** The error e of a prefix, a whole number, is one more dimension of the forward pass,

    arrival[t, y, e] = max over y' of best[t-1, y', e] + transition[t, y', y],   begin[y] at t = 0 and e = 0, else −inf
    best[u, y, e]    = max over d of arrival[u-d, y, e − error] + segment[u-d, d, y],   error = errors[u-d, d, y]

in O(n L (m + L)) steps for each e, up to the largest error that a segmentation can have: quadratic in n.

**The k best.** Every label keeps, at every token, the k best prefixes that end there with a segment of that label, and
the k best prefixes that such a segment may follow, best first. Each entry stores the rank of the prefix that it
extends. No two entries stand for the same segmentation, so none appears twice. −inf marks an empty place: a forbidden
prefix is kept only if there is no other.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.semimarkov import Passes, last_length, previous_label, write_segment
from widemargin.decoders.viterbi import Segmented


@kernel
def _next_label(one: Segmented, passes: Passes, u: int, label: int) -> int:
    """The label of the segment after the one that ends at u < n − 1 with `label`; the lowest in a tie."""
    table, following = one.transition[min(u + 1, len(one.transition) - 1)], 0
    while (
        following < len(table) - 1
        and passes.onset[u + 1, following] + table[label, following] != passes.departure[u, label]
    ):
        following += 1
    return following


@kernel
def _next_length(one: Segmented, passes: Passes, t: int, label: int) -> int:
    """The d of the first segment, with `label`, of the best segmentation of the tokens from t on; least in a tie."""
    d, most = 0, min(one.segment.shape[1], len(one.segment) - t) - 1
    while d < most and one.segment[t, d, label] + passes.departure[t + d, label] != passes.onset[t, label]:
        d += 1
    return d


@kernel
def write_through(one: Segmented, passes: Passes, t: int, d: int, label: int, codes: IntVector) -> None:
    """Write the best segmentation that holds the segment of d + 1 tokens from t on with `label`."""
    # Neighbours do not depend on the segment asked for, so all calls for one sequence share what they have traced.
    write_segment(t, d, label, codes)
    start, own = t, label
    while start > 0:
        before = passes.neighbours[0, start, own]
        if before[0] < 0:
            before[1] = previous_label(one, passes.arrival, passes.best, start, own)
            before[0] = last_length(one, passes.arrival, passes.best, start - 1, before[1])
        start, own = start - before[0] - 1, before[1]
        write_segment(start, before[0], own, codes)
    last, own = t + d, label
    while last < len(codes) - 1:
        after = passes.neighbours[1, last, own]
        if after[0] < 0:
            after[1] = _next_label(one, passes, last, own)
            after[0] = _next_length(one, passes, last + 1, after[1])
        own = after[1]
        write_segment(last + 1, after[0], own, codes)
        last += after[0] + 1


@kernel
def _arrive(last: FloatMatrix, table: FloatMatrix, label: int, arrived: FloatVector) -> None:
    """arrived[e] = max over p of last[p, e] + table[p, label]; four p at a time, as in `viterbi.extend`."""
    end = len(table) - 1
    for e in range(len(arrived)):
        arrived[e] = last[0, e] + table[0, label]
    for p in range(1, len(table), 4):
        p1, p2, p3 = min(p + 1, end), min(p + 2, end), min(p + 3, end)
        s0, s1, s2, s3 = table[p, label], table[p1, label], table[p2, label], table[p3, label]
        for e in range(len(arrived)):
            a, b, c, d, old = last[p, e] + s0, last[p1, e] + s1, last[p2, e] + s2, last[p3, e] + s3, arrived[e]
            a = a if a > b else b
            c = c if c > d else d
            a = a if a > old else old
            arrived[e] = a if a > c else c


@kernel
def errors_forward(one: Segmented, errors: FloatMatrix, arrival: FloatMatrix, best: FloatMatrix) -> None:
    """Fill in the (≥ n, L, E + 1) arrays `arrival` and `best`; no segmentation has an error above E.

    `errors` is an (n, m, L) array of whole numbers, the errors of segments.
    """
    # Errors are the last dimension: adding a segment shifts a whole contiguous row by its error.
    n, longest, n_labels = one.segment.shape
    n_errors = best.shape[2]
    best[:n], arrival[0] = -np.inf, -np.inf
    for label in range(n_labels):
        arrival[0, label, 0] = one.begin[label]
    for t in range(n):
        for label in range(n_labels):
            arrived = arrival[t, label]
            if t > 0:
                _arrive(best[t - 1], one.transition[min(t, len(one.transition) - 1)], label, arrived)
            for d in range(min(longest, n - t)):
                score, error = one.segment[t, d, label], int(errors[t, d, label])
                row = best[t + d, label, error:]
                for e in range(n_errors - error):
                    new, old = arrived[e] + score, row[e]
                    row[e] = new if new > old else old


@kernel
def trace_error(
    one: Segmented, errors: FloatMatrix, arrival: FloatMatrix, best: FloatMatrix, e: int, label: int, codes: IntVector
) -> None:
    """Write the best segmentation with this last label and this total error e, which must be possible."""
    u = len(codes) - 1
    while u >= 0:
        d = 0
        while True:
            before = e - int(errors[u - d, d, label])
            if before >= 0 and arrival[u - d, label, before] + one.segment[u - d, d, label] == best[u, label, e]:
                break
            d += 1
        write_segment(u - d, d, label, codes)
        u, e = u - d - 1, before
        if u >= 0:
            table, previous = one.transition[min(u + 1, len(one.transition) - 1)], 0
            while best[u, previous, e] + table[previous, label] != arrival[u + 1, label, e]:
                previous += 1
            label = previous


@kernel
def _merge(last: FloatMatrix, step: FloatVector, scores: FloatVector, origins: IntVector) -> None:
    """The best of last[p, rank] + step[p], with origin p · k + rank.

    In a tie the lowest origin comes first, as in `viterbi`; if all are forbidden, prefix 0 of label 0 comes first.
    """
    k = len(scores)
    for rank in range(k):
        scores[rank], origins[rank] = -np.inf, 0
    for p in range(len(step)):
        for rank in range(k):
            score, place = last[p, rank] + step[p], k - 1
            if score <= scores[place]:
                break  # all of this label's other prefixes are worse
            while place > 0 and score > scores[place - 1]:
                scores[place], origins[place] = scores[place - 1], origins[place - 1]
                place -= 1
            scores[place], origins[place] = score, p * k + rank


@kernel
def semimarkov_kbest(one: Segmented, k: int, codes: IntMatrix, totals: FloatVector) -> int:
    """Write the best segmentations to the rows of `codes`, best first, and return their number, at most k.

    The first is the one that `semimarkov` finds. Segmentations that score −inf are left out; if all do, one is written.

    Parameters
    ----------
    one : the part scores
    k : the number of segmentations wanted, ≥ 1
    codes : (≥ k, n) output
    totals : (k,) output: the scores
    """
    n, longest, n_labels = one.segment.shape
    prefixes, labels = np.empty((n, n_labels, k)), np.empty((n + 1, n_labels, k), dtype=np.int32)
    # By label and then from the last token to the first, so that the prefixes before segments of 1, 2, … tokens that
    # end at the same token are consecutive rows.
    arrivals, lengths = np.empty((n_labels, n, k)), np.empty((n, n_labels, k), dtype=np.int32)
    steps, reaches = np.empty(n_labels), np.empty(longest)
    for t in range(n):
        back, most, table = n - 1 - t, min(longest, t + 1), one.transition[min(t, len(one.transition) - 1)]
        for label in range(n_labels):
            if t > 0:
                for p in range(n_labels):
                    steps[p] = table[p, label]
                _merge(prefixes[t - 1], steps, arrivals[label, back], labels[t, label])
            else:
                for rank in range(k):
                    arrivals[label, back, rank] = -np.inf
                arrivals[label, back, 0] = one.begin[label]
            if longest == 1:  # a chain: there is nothing to choose
                for rank in range(k):
                    prefixes[t, label, rank] = arrivals[label, back, rank] + one.segment[t, 0, label]
                    lengths[t, label, rank] = rank
                continue
            for d in range(most):
                reaches[d] = one.segment[t - d, d, label]
            _merge(arrivals[label, back : back + most], reaches[:most], prefixes[t, label], lengths[t, label])
    _merge(prefixes[n - 1], one.end, totals, labels[n, 0])
    found = 0
    while found < k and (found == 0 or totals[found] > -np.inf):
        u, origin = n - 1, labels[n, 0, found]
        while u >= 0:  # follow the origins backwards from the last label
            label = origin // k
            ending = lengths[u, label, origin % k]
            d = ending // k
            write_segment(u - d, d, label, codes[found])
            origin = labels[u - d, label, ending % k]
            u -= d + 1
        found += 1
    return found
