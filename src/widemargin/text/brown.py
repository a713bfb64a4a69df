"""Brown's word classes: words enter a window, and the two clusters with the least loss are merged.

The loss is that of average mutual information, and it is known for all pairs of clusters:

    I = Σ_{c,d} n(c,d)/N · log₂( n(c,d) · N / (l(c) · r(d)) )        (Brown et al. 1992, section 3)

n(c,d) counts the pairs of a word of cluster c before a word of cluster d, and N all pairs of the text; l(c) and r(d)
count the pairs that have c on the left and d on the right. The mark between sentences is a cluster of its own, which is
never merged. Only the clusters of a *window* are considered (Liang 2005): C clusters, and one more word. Sums over c
and d are sums over the window, while l and r count pairs with all words. When the last word is in the window, I is the
mutual information of the whole text.

With f(x) = x log₂ x, and L(c) = Σ_d n(c,d), R(d) = Σ_c n(c,d) in the window,

    N · I = Σ f(n(c,d)) − Σ L(c) log₂ l(c) − Σ R(d) log₂ r(d) + log₂ N Σ n(c,d)

so the loss of merging a and b has three terms:

    N · loss(a,b) = M(a,b) − S(a,b) − K(a,b)
    M(a,b) = (L(a)+L(b)) log₂(l(a)+l(b)) − L(a) log₂ l(a) − L(b) log₂ l(b), and the same with R, r
    S(a,b) = Σ_d h(n(a,d), n(b,d)) + h(n(d,a), n(d,b)),     h(x,y) = f(x+y) − f(x) − f(y)
    K(a,b) : the correction for d in {a,b}, where rows and columns are merged at once

h(x,y) = 0 if x or y is 0: S grows only with neighbours that two clusters share. A table of losses is kept. When one
count n(x,y) changes, S changes only in the row of x and in that of y. So a word with k neighbours costs O(k C), and
finding the best pair O(C²).

Logarithms are rounded to fixed-point numbers, and all sums are sums of integers. So updates of the table accumulate no
rounding errors, and merges of the same counts have exactly the same loss.
"""

from math import floor, log2
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.decoders.kruskal import root_of
from widemargin.text.word_clusters import Bigrams, Neighbours

NEVER = 1 << 62  # the loss of a pair that cannot be merged
MOST_BITS = 60  # of a loss
KNOWN_LOGS = 1 << 16
BYTES = 24  # for each pair of slots


class Window(NamedTuple):
    """The mark in slot 0, and clusters in C + 1 slots.

    `after[x, y]` is n(x,y), and `before` its transpose. `left`, `right` are L and R; `all_left`, `all_right` are l and
    r. `names[x]` is the rank of the most frequent word of the cluster in slot x, −1 if the slot is free. `loss[x, y]`
    for x < y is N times the loss, in units of 1 / `scale`; `logs[k]` is log₂ k in the same units.
    """

    after: LongMatrix
    before: LongMatrix
    left: LongVector
    right: LongVector
    all_left: LongVector
    all_right: LongVector
    names: LongVector
    loss: LongMatrix
    logs: LongVector
    scale: float


def empty_window(bigrams: Bigrams, n_clusters: int) -> Window:
    """A window without words."""
    size, total = n_clusters + 2, max(bigrams.total, 2)
    scale = 2.0 ** floor(MOST_BITS - log2(total * log2(total) + 1))
    return Window(
        after=np.zeros((size, size), dtype=np.int64),
        before=np.zeros((size, size), dtype=np.int64),
        left=np.zeros(size, dtype=np.int64),
        right=np.zeros(size, dtype=np.int64),
        all_left=np.zeros(size, dtype=np.int64),
        all_right=np.zeros(size, dtype=np.int64),
        names=np.full(size, -1, dtype=np.int64),
        loss=np.full((size, size), NEVER, dtype=np.int64),
        logs=_rounded_logs(min(total + 1, KNOWN_LOGS), scale),
        scale=scale,
    )


@kernel
def _rounded_logs(n: int, scale: float) -> LongVector:
    logs = np.zeros(n, dtype=np.int64)
    for count in range(1, n):
        logs[count] = _rounded_log(count, scale)
    return logs


@kernel
def _rounded_log(count: int, scale: float) -> int:
    return floor(log2(count) * scale + 0.5)


@kernel
def _log(window: Window, count: int) -> int:
    """log₂ of a count; that of 0 is never multiplied by anything but 0."""
    return window.logs[count] if count < len(window.logs) else _rounded_log(count, window.scale)


@kernel
def _f(window: Window, count: int) -> int:
    return count * _log(window, count)


@kernel
def _raise(window: Window, a: int, b: int, amount: int) -> None:
    window.loss[min(a, b), max(a, b)] += amount


@kernel
def _share(window: Window, x: int, counts: LongVector, old: int, new: int) -> None:
    """Update S(x, c) for all c after x's count with a neighbour changes; `counts` has the counts of all c with it."""
    change = _f(window, new) - _f(window, old)
    for c in range(len(counts)):
        if counts[c] > 0 and c != x:
            both = _f(window, new + counts[c]) - _f(window, old + counts[c])
            _raise(window, x, c, change - both)


@kernel
def _corner(window: Window, a: int, b: int) -> int:
    """K(a,b)."""
    aa, ab, ba, bb = window.after[a, a], window.after[a, b], window.after[b, a], window.after[b, b]
    sides = _f(window, aa + ab) + _f(window, ba + bb) + _f(window, aa + ba) + _f(window, ab + bb)
    alone = _f(window, aa) + _f(window, ab) + _f(window, ba) + _f(window, bb)
    return _f(window, aa + ab + ba + bb) - sides + alone


@kernel
def _raise_corners(window: Window, x: int, y: int, sign: int) -> None:
    """Add K, or subtract it, for all pairs that n(x,y) is a corner of."""
    if x != y:
        _raise(window, x, y, sign * _corner(window, x, y))
        return
    for c in range(len(window.names)):
        if c != x and (window.after[x, c] > 0 or window.before[x, c] > 0 or window.after[c, c] > 0):
            _raise(window, x, c, sign * _corner(window, x, c))


@kernel
def put(window: Window, x: int, y: int, count: int) -> None:
    """Set n(x,y) to this count, and update the losses except for M."""
    old = window.after[x, y]
    _raise_corners(window, x, y, 1)
    _share(window, x, window.before[y], old, count)
    _share(window, y, window.after[x], old, count)
    window.after[x, y] = window.before[y, x] = count
    _raise_corners(window, x, y, -1)


@kernel
def raise_margins(window: Window, x: int, sign: int) -> None:
    """Add M(x, c), or subtract it, for all clusters c."""
    for here, everywhere in ((window.left, window.all_left), (window.right, window.all_right)):
        alone = here[x] * _log(window, everywhere[x])
        for c in range(len(window.names)):
            if c != x and window.names[c] >= 0:
                merged = (here[x] + here[c]) * _log(window, everywhere[x] + everywhere[c])
                _raise(window, x, c, sign * (merged - alone - here[c] * _log(window, everywhere[c])))


@kernel
def more(window: Window, here: LongVector, everywhere: LongVector, x: int, count: int) -> None:
    """Update M(x, c) for all c after L(x) or R(x) grows by a count."""
    here[x] += count
    log = _log(window, everywhere[x])
    for c in range(len(window.names)):
        if c != x and window.names[c] >= 0:
            _raise(window, x, c, count * (_log(window, everywhere[x] + everywhere[c]) - log))


def information(window: Window) -> float:
    """I, the average mutual information of the clusters in the window, in bits."""
    n, total = window.after, max(int(window.after.sum()), 1)
    share: FloatVector = n[n > 0] / total
    expected = np.outer(window.all_left, window.all_right)[n > 0] / total**2
    return float((share * np.log2(share / expected)).sum())


class Clustering(NamedTuple):
    """The cluster of every word: word r is in the cluster of word `home[r]`, and so on until a word is its own home.

    `slots[r]` is the slot of the cluster named r. `kept[m]` and `absorbed[m]` are the names of the clusters of merge m,
    and `losses[m]` is its loss.
    """

    home: LongVector
    slots: IntVector
    kept: IntVector
    absorbed: IntVector
    losses: LongVector


def all_alone(n_words: int) -> Clustering:
    """Every word alone."""
    return Clustering(
        home=np.arange(n_words),
        slots=np.zeros(n_words, dtype=np.int32),
        kept=np.zeros(n_words, dtype=np.int32),
        absorbed=np.zeros(n_words, dtype=np.int32),
        losses=np.zeros(n_words, dtype=np.int64),
    )


@kernel
def _counts_beside(window: Window, beside: Neighbours, found: Clustering, word: int) -> tuple[LongVector, int]:
    """How often the word stands beside each cluster of the window, and beside any word."""
    counts, total = np.zeros(len(window.names), dtype=np.int64), 0
    for k in range(beside.indptr[word], beside.indptr[word + 1]):
        total += beside.counts[k]
        if beside.words[k] <= word:  # rarer words are not in the window yet
            counts[found.slots[root_of(found.home, beside.words[k])]] += beside.counts[k]
    return counts, total


@kernel
def _enter(window: Window, after: Neighbours, before: Neighbours, found: Clustering, word: int) -> None:
    """Put the next word into the free slot, as a cluster of its own."""
    slot = 0
    while window.names[slot] >= 0:
        slot += 1
    found.slots[word] = slot
    following, n_after = _counts_beside(window, after, found, word)
    preceding, n_before = _counts_beside(window, before, found, word)
    preceding[slot] = 0  # the word beside itself counts once
    # The losses of a free slot are NEVER. From 0 on, each count that is put into the window adds its share.
    for c in range(len(window.names)):
        if window.names[c] >= 0:
            window.loss[min(slot, c), max(slot, c)] = 0
    for c in range(len(window.names)):
        if following[c] > 0:
            put(window, slot, c, following[c])
            if c != slot:
                more(window, window.right, window.all_right, c, following[c])
        if preceding[c] > 0:
            put(window, c, slot, preceding[c])
            more(window, window.left, window.all_left, c, preceding[c])
    window.left[slot], window.right[slot] = following.sum(), preceding.sum() + following[slot]
    window.all_left[slot], window.all_right[slot] = n_after, n_before
    window.names[slot] = word
    raise_margins(window, slot, 1)


@kernel
def _move(window: Window, x: int, y: int, new_x: int, new_y: int) -> None:
    """Add n(x,y) to another count, and set it to 0."""
    count = window.after[x, y]
    if count > 0:
        put(window, x, y, 0)
        put(window, new_x, new_y, window.after[new_x, new_y] + count)


@kernel
def _merge(window: Window, a: int, b: int) -> None:
    """Move all counts of slot b into slot a."""
    raise_margins(window, a, -1)
    for d in range(len(window.names)):
        _move(window, b, d, a, d)
    for d in range(len(window.names)):
        _move(window, d, b, d, a)
    for sums in (window.left, window.right, window.all_left, window.all_right):
        sums[a] += sums[b]
        sums[b] = 0
    window.names[a], window.names[b] = min(window.names[a], window.names[b]), -1
    window.loss[b, :] = NEVER
    window.loss[:, b] = NEVER
    raise_margins(window, a, 1)


@kernel
def _best(window: Window) -> tuple[int, int]:
    """The pair of slots with the least loss, that of the most frequent words if several have it.

    There must be two clusters besides the mark.
    """
    best_a, best_b, least, first, names = 0, 0, NEVER, 0, window.names
    for a in range(1, len(names)):
        row = window.loss[a]
        lowest = NEVER
        for b in range(a + 1, len(row)):
            lowest = row[b] if row[b] < lowest else lowest
        if lowest == NEVER or lowest > least:
            continue
        for b in range(a + 1, len(row)):
            if row[b] == lowest:
                order = (min(names[a], names[b]) << 32) | max(names[a], names[b])
                if lowest < least or order < first:
                    best_a, best_b, least, first = a, b, lowest, order
    return best_a, best_b


@kernel
def advance(
    window: Window, after: Neighbours, before: Neighbours, found: Clustering, first: int, last: int, n_clusters: int
) -> None:
    """Take the steps first:last.

    Step k adds word k to the window; word 0 is the mark. When there are C + 1 clusters, the step merges two of them.
    After the last word, steps only merge.
    """
    for step in range(first, last):
        if step < len(found.home):
            _enter(window, after, before, found, step)
        if step > n_clusters:
            m, (a, b) = step - n_clusters - 1, _best(window)
            found.losses[m] = window.loss[a, b]
            kept, absorbed = min(window.names[a], window.names[b]), max(window.names[a], window.names[b])
            n_beside_a = np.count_nonzero(window.after[a]) + np.count_nonzero(window.before[a])
            if n_beside_a < np.count_nonzero(window.after[b]) + np.count_nonzero(window.before[b]):
                a, b = b, a  # there is less to move
            _merge(window, a, b)
            found.kept[m], found.absorbed[m], found.home[absorbed], found.slots[kept] = kept, absorbed, kept, a
