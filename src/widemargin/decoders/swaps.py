"""The pairs of documents that a ranking swaps, counted for each document by sorting, without a loop over pairs.

A pair (i, j) has grade_i > grade_j. An output c says of each pair whether it is swapped, and is scored by

    −Σ c_ij (s_i − s_j) / n + scale · Δ(c),   n the number of pairs

*Swapped pairs* (Joachims 2006): Δ(c) = Σ c_ij / n, and each pair decides for itself: c_ij = [s_i − s_j ≤ scale].

*Average precision* (Yue et al. 2007), for two grades: c comes from a ranking, and Δ = 1 − AP. Both grades are ranked by
score among themselves. Let k_j of the R relevant documents stand before the j-th of the N irrelevant ones. Then

    1 − AP = 1/R Σ_j Σ_{i > k_j} (j/(i+j) − (j−1)/(i+j−1)) = 1/R Σ_j (H_{R+j−1} − H_{k_j+j−1}) − (j/(k_j+j) − j/(R+j))

with H the harmonic numbers, so each k_j maximises a function of its own. The best k_j never falls with j, so the middle
j halves the problem: O((R + N) log N) instead of the R · N steps of the paper's Algorithm 2.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector


@kernel
def swapped_pairs(scores: FloatVector, grades: IntVector, n_grades: int, scale: float, counts: LongMatrix) -> None:
    """counts[d] = the numbers of swapped pairs in which d is the better, and in which it is the worse document."""
    n = len(scores)
    order = np.argsort(-scores, kind="mergesort")
    frontiers, seen = np.empty(n, dtype=np.int64), np.zeros(n_grades, dtype=np.int64)
    end = 0
    for place in range(n):
        while end < n and scores[order[place]] - scores[order[end]] <= scale:
            seen[grades[order[end]]] += 1
            end += 1
        frontiers[place], count = end, 0
        for grade in range(grades[order[place]]):
            count += seen[grade]
        counts[order[place], 0] = count
    # The same pairs from the other side: those whose better document has a frontier beyond the worse one.
    seen[:] = 0
    begin = n
    for back in range(n):
        place = n - 1 - back
        while begin > 0 and frontiers[begin - 1] > place:
            begin -= 1
            seen[grades[order[begin]]] += 1
        count = 0
        for grade in range(grades[order[place]] + 1, n_grades):
            count += seen[grade]
        counts[order[place], 1] = count


@kernel
def _places(relevant: FloatVector, irrelevant: FloatVector, scale: float) -> LongVector:
    """The number of relevant documents before each irrelevant one; both are given by their scores, descending."""
    n_relevant, n = len(relevant), len(irrelevant)
    sums, harmonic = np.zeros(n_relevant + 1), np.zeros(n_relevant + n + 1)
    for i in range(n_relevant):
        sums[i + 1] = sums[i] + relevant[i]
    for i in range(1, n_relevant + n + 1):
        harmonic[i] = harmonic[i - 1] + 1.0 / i
    places = np.empty(n, dtype=np.int64)
    # Each task: the documents [first, last), whose places are within [low, high].
    tasks = np.empty((130, 4), dtype=np.int64)
    tasks[0, 0], tasks[0, 1], tasks[0, 2], tasks[0, 3] = 0, n, 0, n_relevant
    n_tasks = 1 if n > 0 else 0
    while n_tasks > 0:
        n_tasks -= 1
        first, last, low, high = tasks[n_tasks]
        middle = (first + last) // 2
        best, place = -np.inf, low
        for k in range(low, high + 1):
            # The term of the j-th irrelevant document in the objective, times R · N, if k relevant ones precede it.
            j, score = middle + 1, irrelevant[middle]
            error = (harmonic[n_relevant + j - 1] - harmonic[k + j - 1]) - (j / (k + j) - j / (n_relevant + j))
            value = scale * n * error + (sums[k] - k * score)
            if value > best:
                best, place = value, k
        places[middle] = place
        if first < middle:
            tasks[n_tasks, 0], tasks[n_tasks, 1], tasks[n_tasks, 2], tasks[n_tasks, 3] = first, middle, low, place
            n_tasks += 1
        if middle + 1 < last:
            tasks[n_tasks, 0], tasks[n_tasks, 1], tasks[n_tasks, 2], tasks[n_tasks, 3] = middle + 1, last, place, high
            n_tasks += 1
    return places


@kernel
def least_average_precision(scores: FloatVector, relevant: IntVector, scale: float, counts: LongMatrix) -> None:
    """Like `swapped_pairs`, for the ranking that maximises the score plus `scale` times 1 − AP."""
    order = np.argsort(-scores, kind="mergesort")
    chosen = relevant[order] > 0
    good, bad = order[chosen], order[~chosen]
    places = _places(scores[good], scores[bad], scale)
    counts[:] = 0
    for j in range(len(bad)):
        counts[bad[j], 1] = len(good) - places[j]
    before = 0
    for i in range(len(good)):
        while before < len(bad) and places[before] <= i:
            before += 1
        counts[good[i], 0] = before


@kernel
def average_precision(before: LongVector) -> float:
    """AP, given how many irrelevant documents stand before each relevant one, in any order."""
    ascending = np.sort(before)
    total = 0.0
    for i in range(len(ascending)):
        total += (i + 1.0) / (i + 1.0 + ascending[i])
    return total / max(len(ascending), 1)
