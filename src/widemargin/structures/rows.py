"""Rows of scores, one per label: sums of rows of a hashed table of weights.

A hashed feature is a slot s of the table, and its weights for the labels are table[s], table[s + 1], …
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector


@kernel
def add_rows(table: FloatVector, slots: IntVector, row: FloatVector) -> None:
    """row[l] += Σ over slots of table[slot + l].

    Fetching takes most of the time. Several features are added at once because their fetches overlap.
    """
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
