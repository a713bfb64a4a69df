"""Rows of scores, one per label: sums of rows of a hashed table of weights, and the best label.

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


@kernel
def highest(row: FloatVector) -> int:
    """The place of the highest score, the first in a tie.

    >>> highest(np.array([0.0, 3.0, -np.inf, 3.0]))
    1
    """
    # Four chains of comparisons overlap. Nothing branches, so that nothing is guessed wrong.
    n, a, b, c, d = len(row), -np.inf, -np.inf, -np.inf, -np.inf
    for k in range(0, n - 3, 4):
        one, two, three, four = row[np.uint64(k)], row[np.uint64(k + 1)], row[np.uint64(k + 2)], row[np.uint64(k + 3)]
        a = one if one > a else a
        b = two if two > b else b
        c = three if three > c else c
        d = four if four > d else d
    for k in range(n // 4 * 4, n):
        a = row[k] if row[k] > a else a
    a, c = a if a > b else b, c if c > d else d
    top, place = a if a > c else c, n - 1
    for label in range(n):
        own = label if row[np.uint64(label)] == top else n - 1
        place = own if own < place else place
    return place
