"""The weights that decoding reads: runs of the flat weight vector, found from the features of a batch.

The runs of numbered features do not overlap. The runs of hashed features may, so for them the runs are all blocks of
`BLOCK` weights that contain any of their weights, each block once.

A hashed feature is a slot s of a table, and its weights for the labels are table[s], table[s + 1], … (`add_rows`).
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import BLOCK
from widemargin.core.sparse import Rows, new_table


@kernel
def distinct(features: Rows, indptr: LongVector, batch: IntVector) -> IntVector:
    """The features that occur anywhere in the rows of the batch's examples, in the order of their first appearance."""
    # A hash table of the batch's size: sorting would cost more, and a mark for every feature would be as long as w.
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


class Found(NamedTuple):
    """Which blocks of weights were `seen`, and `blocks`: their numbers in the order in which they were found."""

    seen: BoolVector
    blocks: IntVector


def nothing_found(n_weights: int) -> Found:
    """No blocks yet."""
    n_blocks = -(-n_weights // BLOCK)
    return Found(np.zeros(n_blocks, dtype=np.bool_), np.empty(n_blocks + 1, dtype=np.int32))


@kernel
def note(begin: int, width: int, found: Found, n: int) -> int:
    """Append the blocks of `width` weights from `begin` on to the first `n` found; return how many there are now.

    Blocks seen before are written, too, and the next overwrites them: a branch would be unpredictable.
    """
    for block in range(begin // BLOCK, (begin + width - 1) // BLOCK + 1):
        found.blocks[np.uint64(n)] = block
        n += 0 if found.seen[np.uint64(block)] else 1
        found.seen[np.uint64(block)] = True
    return n


@kernel
def block_runs(blocks: IntVector, n_weights: int) -> LongMatrix:
    """The weights of blocks as runs [begin, end)."""
    runs = np.empty((len(blocks), 2), dtype=np.int64)
    for k in range(len(blocks)):
        runs[k, 0] = int(blocks[k]) * BLOCK
        runs[k, 1] = min(runs[k, 0] + BLOCK, n_weights)
    return runs


@kernel
def add_rows(table: FloatVector, slots: IntVector, row: FloatVector) -> None:
    """row[l] += Σ over slots of table[slot + l].

    Fetching takes most of the time. Several features are added at once because their fetches overlap.
    """
    # Unsigned indices skip the check for negative ones.
    k, n = 0, len(slots)
    while k + 4 <= n:
        a, b, c, d = int(slots[k]), int(slots[k + 1]), int(slots[k + 2]), int(slots[k + 3])
        for label in range(len(row)):
            two = table[np.uint64(a + label)] + table[np.uint64(b + label)]
            row[np.uint64(label)] += two + (table[np.uint64(c + label)] + table[np.uint64(d + label)])
        k += 4
    if k + 2 <= n:
        a, b = int(slots[k]), int(slots[k + 1])
        for label in range(len(row)):
            row[np.uint64(label)] += table[np.uint64(a + label)] + table[np.uint64(b + label)]
        k += 2
    if k < n:
        a = int(slots[k])
        for label in range(len(row)):
            row[np.uint64(label)] += table[np.uint64(a + label)]
