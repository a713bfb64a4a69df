"""Features of spans by their words, found by one kernel: keys grow word by word, and known ones have a number."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntVector, KeyMatrix, KeyVector, LongVector
from widemargin.text.alphabet import number_of
from widemargin.text.hashing import combined


class SpanPlan(NamedTuple):
    """Features of spans as arrays: the seed of each, which column of keys it reads, and whether only the ends count."""

    seeds: KeyVector
    places: IntVector
    only_ends: BoolVector


@kernel
def _longer(features: IntVector, n: int) -> IntVector:
    longer = np.empty(2 * n, dtype=np.int32)
    for k in range(len(features)):
        longer[k] = features[k]
    return longer


@kernel
def span_rows(
    tokens: IntVector,
    indptr: LongVector,
    first: int,
    last: int,
    longest: int,
    n_spans: int,
    keys: KeyMatrix,
    seeds: KeyVector,
    places: IntVector,
    only_ends: BoolVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
) -> tuple[LongVector, IntVector]:
    """The features of the `n_spans` candidate spans of the sequences first:last, in the order of the plan.

    `keys[tokens[t]]` are the keys of token t. The key of a run of words is that of `text.hashing.rolled`.
    """
    n, write, span = len(seeds), indptr[0], indptr[0]
    ends, features = np.zeros(n_spans + 1, dtype=np.int64), np.empty(n_spans + n, dtype=np.int32)
    runs = np.empty(n, dtype=np.uint64)
    for i in range(first, last):
        for t in range(indptr[i], indptr[i + 1]):
            for d in range(min(longest, indptr[i + 1] - t)):
                if write + n > len(features):
                    features = _longer(features, write + n)
                for k in range(n):
                    key = keys[tokens[t + d], places[k]]
                    if d > 0:
                        key = combined(runs[k], key)
                    if d == 0 or not only_ends[k]:
                        runs[k] = key
                    if d > 0 or not only_ends[k]:
                        features[write] = number_of(combined(seeds[k], key), slots, numbers, size)
                        write += features[write] >= 0
                span += 1
                ends[span] = write
    return ends, features[:write]
