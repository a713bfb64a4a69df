"""The place of the highest of some scores."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector


@kernel
def highest(scores: FloatVector) -> int:
    """The place of the highest score, the first in a tie.

    >>> highest(np.array([0.0, 3.0, -np.inf, 3.0]))
    1
    """
    # Four chains of comparisons overlap. Nothing branches, so that nothing is guessed wrong.
    n, a, b, c, d = len(scores), -np.inf, -np.inf, -np.inf, -np.inf
    for k in range(0, n - 3, 4):
        one, two = scores[np.uint64(k)], scores[np.uint64(k + 1)]
        three, four = scores[np.uint64(k + 2)], scores[np.uint64(k + 3)]
        a = one if one > a else a
        b = two if two > b else b
        c = three if three > c else c
        d = four if four > d else d
    for k in range(n // 4 * 4, n):
        a = scores[k] if scores[k] > a else a
    a, c = a if a > b else b, c if c > d else d
    top, place = a if a > c else c, n - 1
    for label in range(n):
        own = label if scores[np.uint64(label)] == top else n - 1
        place = own if own < place else place
    return place
