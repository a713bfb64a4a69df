"""Weights of pairs of labels: how they differ between two sets, and how many are too many."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntMatrix, IntVector, LongVector
from widemargin.core import limits
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.problem import PASS_BATCH
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError


def check_pairs(n_labels: int, n_examples: int) -> None:
    """Raise if the cuts of a batch of examples could not be held.

    Before anything is learnt, the most violated set of an example holds all labels but its own, so its cut has an entry
    for nearly every pair.
    """
    n_pairs, together = n_labels * (n_labels - 1) // 2, min(n_examples, PASS_BATCH)
    if n_pairs * together * BYTES_PER_ENTRY > limits.MOST_BYTES:
        raise UnsupportedError(
            f"{n_labels:,} labels have {n_pairs:,} pairs, and {together:,} examples at a time would need up to "
            f"{n_pairs * together * BYTES_PER_ENTRY / 1e9:.3g} GB for their weights; the limit is "
            f"{limits.MOST_BYTES / 1e9:.3g} GB. Use pairwise=False (--no-pairwise), which decides each label alone, "
            "however many there are"
        )


@kernel
def _members(one: IntVector, other: IntVector, either: LongVector) -> int:
    """Write the labels that are in one of two sets; return how many there are."""
    count = 0
    for k in range(len(one)):
        if one[k] != 0 or other[k] != 0:
            either[count] = k
            count += 1
    return count


@kernel
def pair_differences(sets: IntMatrix, others: IntMatrix) -> Rows:
    """y_j y_k − y'_j y'_k for the sets y and y' of each row, over the pairs j < k counted row by row, without zeros."""
    n_labels = sets.shape[1]
    either, indptr = np.empty(n_labels, dtype=np.int64), np.zeros(len(sets) + 1, dtype=np.int64)
    room = write = 0
    for i in range(len(sets)):
        count = _members(sets[i], others[i], either)
        room += count * (count - 1) // 2
    indices, values = np.empty(room, dtype=np.int32), np.empty(room)
    for i in range(len(sets)):
        count = _members(sets[i], others[i], either)
        for one in range(count):
            j = either[one]
            row = j * n_labels - j * (j + 1) // 2 - j - 1
            for other in range(one + 1, count):
                k = either[other]
                value = sets[i, j] * sets[i, k] - others[i, j] * others[i, k]
                if value != 0:
                    indices[write], values[write] = row + k, value
                    write += 1
        indptr[i + 1] = write
    return Rows(indptr, indices[:write], values[:write])
