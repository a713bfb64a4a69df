"""The best window of a sequence: the score of a matrix of weights there, minus the scores of the contexts covered.

    s(h) = Σ_{j < l} matrix[j, x_{h+j}] − Σ_{j < l} rest[c_{h+j}]

x are the letters of a sequence and c the contexts of its letters, both as numbers; the last column of `matrix` and the
last entry of `rest` are for unknown letters and contexts. Time is linear in length × l, with a small factor: the first
sum looks up several letters at a time (`group_numbers`), the second adds up sums of 1, 2, 4, … neighbours. Both are
computed in the same way at every place, so equal windows have equal scores; the first of equal scores wins.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector

LARGEST_TABLE = 1024


class CodedLetters(NamedTuple):
    """Sequences end to end, as the numbers of letters, of groups of letters and of contexts.

    Sequence i begins at `indptr[i]`. A group holds a letter and those after it, even if the next sequence begins there.
    """

    letters: AnyArray
    groups: IntVector
    contexts: IntVector
    indptr: LongVector


class Windows(NamedTuple):
    """The weights of windows of `length` letters.

    `tables` has, for each strand and each stretch of `size` letters of the window, the sum of weights of every group.
    """

    length: int
    size: int
    tables: AnyArray
    rest: FloatVector


def group_size(n_letters: int) -> int:
    """How many letters are looked up at a time.

    >>> group_size(4), group_size(20)
    (4, 2)
    """
    size = 1
    while (n_letters + 1) ** (size + 1) <= LARGEST_TABLE:
        size += 1
    return size


def group_numbers(letters: AnyArray, n_letters: int) -> IntVector:
    """The number of the group that begins at each letter; unknown letters are `n_letters`."""
    size, n = group_size(n_letters), len(letters)
    padded = np.concatenate([letters, np.full(size, n_letters, dtype=letters.dtype)]).astype(np.int32)
    numbers = np.zeros(n, dtype=np.int32)
    for k in range(size):
        numbers = numbers * np.int32(n_letters + 1) + padded[k : k + n]
    return numbers


def windows_of(matrices: AnyArray, rest: FloatVector) -> Windows:
    """The weights in a form that is fast to look up; `matrices` is (strands, l, letters + 1), its last column 0."""
    n_strands, length, n = matrices.shape
    size = group_size(n - 1)
    places = -(-length // size)
    padded = np.zeros((n_strands, places * size, n))
    padded[:, :length] = matrices
    parts = padded.reshape(n_strands, places, size, n)
    tables = parts[:, :, 0]
    for k in range(1, size):
        tables = (tables[..., None] + parts[:, :, k, None]).reshape(n_strands, places, -1)
    return Windows(length, size, np.ascontiguousarray(tables), rest)


@kernel
def _covered(contexts: IntVector, begin: int, end: int, windows: Windows, sums: FloatVector, near: FloatVector) -> int:
    """Write the sum of `rest` under every window of a sequence into `sums`; return how many windows there are."""
    n, count = end - begin, end - begin - windows.length + 1
    for i in range(n):
        near[i] = windows.rest[contexts[begin + i]]
    for h in range(count):
        sums[h] = 0.0
    width, done = 1, 0  # near[i] is the sum of `width` neighbours
    while done < windows.length and count > 0:
        if windows.length & width:
            for h in range(count):
                sums[h] += near[h + done]
            done += width
        for i in range(n - 2 * width + 1):
            near[i] = near[i] + near[i + width]
        width *= 2
    return count


@kernel
def _looked_up(groups: IntVector, begin: int, size: int, table: FloatMatrix) -> float:
    """The sum of the matrix over the window that begins at `begin`."""
    total = 0.0
    for place in range(len(table)):
        total += table[place, groups[begin + place * size]]
    return total


@kernel
def best_windows(coded: CodedLetters, batch: IntVector, windows: Windows) -> tuple[LongVector, FloatVector]:
    """2h + strand of the best window of every sequence of the batch, and its score; −1 and −∞ without a window."""
    places, scores = np.full(len(batch), -1, dtype=np.int64), np.full(len(batch), -np.inf)
    longest = 0
    for i in batch:
        longest = max(longest, coded.indptr[i + 1] - coded.indptr[i])
    scratch = np.empty((2, longest))
    for position in range(len(batch)):
        begin, end = coded.indptr[batch[position]], coded.indptr[batch[position] + 1]
        count = _covered(coded.contexts, begin, end, windows, scratch[0], scratch[1])
        place, best = -1, -np.inf
        for h in range(count):
            for strand in range(len(windows.tables)):
                score = _looked_up(coded.groups, begin + h, windows.size, windows.tables[strand]) - scratch[0, h]
                if score > best:
                    place, best = 2 * h + strand, score
        places[position], scores[position] = place, best
    return places, scores


@kernel
def window_scores(coded: CodedLetters, i: int, windows: Windows) -> FloatMatrix:
    """The scores of all windows of sequence i: a row per start, a column per strand."""
    begin, end = coded.indptr[i], coded.indptr[i + 1]
    sums = np.empty(end - begin)
    count = _covered(coded.contexts, begin, end, windows, sums, np.empty(end - begin))
    scores = np.empty((max(0, count), len(windows.tables)))
    for h in range(count):
        for strand in range(len(windows.tables)):
            score = _looked_up(coded.groups, begin + h, windows.size, windows.tables[strand]) - sums[h]
            scores[h, strand] = score
    return scores
