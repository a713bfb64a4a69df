"""The weights that decoding reads: runs of the flat weight vector, found from the features of a batch."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Rows, new_table


@kernel
def distinct(features: Rows, indptr: LongVector, batch: IntVector) -> IntVector:
    """The features that occur anywhere in the rows of the batch's examples, in the order of their first appearance."""
    most = features.indptr[0]
    for i in batch:
        most += features.indptr[indptr[i + 1]] - features.indptr[indptr[i]]
    table = new_table(most)
    mask = len(table) - 1
    found = np.empty(most, dtype=np.int32)
    n = 0
    for i in batch:
        for k in range(features.indptr[indptr[i]], features.indptr[indptr[i + 1]]):
            feature = features.indices[k]
            h = (int(feature) * 40503) & mask
            while table[h] >= 0 and table[h] != feature:
                h = (h + 1) & mask
            if table[h] < 0:
                table[h] = feature
                found[n] = feature
                n += 1
    return found[:n]


def runs(numbers: IntVector, width: int, offset: int) -> LongMatrix:
    """The runs of weights of the features with these `numbers`, `width` weights each, from `offset` on."""
    begin = offset + numbers.astype(np.int64) * width
    return np.stack([begin, begin + width], axis=1)


def marked_runs(read: BoolVector) -> LongMatrix:
    """The runs [begin, end) of marked weights.

    >>> marked_runs(np.array([True, True, False, False, True])).tolist()
    [[0, 2], [4, 5]]
    """
    # Eight at a time, since most tables are large and mostly unmarked.
    padded = np.concatenate([read, np.zeros(-len(read) % 8, dtype=np.bool_)])
    eights = np.flatnonzero(padded.view(np.uint64))
    inside = padded.reshape(-1, 8)[eights]
    places = (8 * eights[:, None] + np.arange(8))[inside]
    begins, ends = np.diff(places, prepend=-2) > 1, np.diff(places, append=8 * len(padded) + 2) > 1
    return np.stack([places[begins], places[ends] + 1], axis=1)
