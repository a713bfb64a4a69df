"""Which dependency trees have crossing arcs, so that no projective parser can return them."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntVector, LongVector
from widemargin.core.sparse import sums


def crossing(indptr: LongVector, heads: IntVector) -> BoolVector:
    """Whether any two arcs of each tree cross; sentences begin at `indptr`, heads count from 1, and 0 is the root.

    The root is left of all words, so a word that hangs on it may not be inside another arc.

    >>> crossing(np.array([0, 3, 6, 9]), np.array([2, 0, 2, 3, 0, 2, 0, 1, 2]))
    array([False,  True, False])
    """
    # Every sentence has a place for its root before its words.
    roots = np.repeat(indptr[:-1] + np.arange(len(indptr) - 1), np.diff(indptr))
    words = np.arange(len(heads)) + 1 + np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    left, right = np.minimum(words, roots + heads), np.maximum(words, roots + heads)
    order = np.lexsort((-right, left))
    across = np.empty(len(heads), dtype=np.bool_)
    across[order] = _across(left[order], right[order])
    return sums(across, indptr) > 0


@kernel
def _across(left: LongVector, right: LongVector) -> BoolVector:
    """Whether each arc ends after an arc that it begins in; sorted by left ends, then from the longest to the shortest.

    The arcs that the current one begins in are on a stack. Up to the first crossing they are nested, and only the
    innermost need be looked at.
    """
    across, stack, depth = np.zeros(len(left), dtype=np.bool_), np.empty(len(left), dtype=np.int64), 0
    for k in range(len(left)):
        while depth > 0 and stack[depth - 1] <= left[k]:
            depth -= 1
        across[k] = depth > 0 and stack[depth - 1] < right[k]
        stack[depth] = right[k]
        depth += 1
    return across
