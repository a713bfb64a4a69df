"""Brown's word classes: words enter a window, and the two clusters with the least loss are merged (`brown_losses`)."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntVector, LongVector
from widemargin.decoders.kruskal import root_of
from widemargin.text.bigrams import Neighbours
from widemargin.text.brown_losses import NEVER, Window, more, put, raise_margins


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


def unclustered(n_words: int) -> Clustering:
    """Every word alone."""
    return Clustering(
        home=np.arange(n_words),
        slots=np.zeros(n_words, dtype=np.int32),
        kept=np.zeros(n_words, dtype=np.int32),
        absorbed=np.zeros(n_words, dtype=np.int32),
        losses=np.zeros(n_words, dtype=np.int64),
    )


@kernel
def _counts_by_slot(window: Window, beside: Neighbours, found: Clustering, word: int) -> LongVector:
    """How often the word stands beside each cluster of the window."""
    counts = np.zeros(len(window.names), dtype=np.int64)
    for k in range(beside.indptr[word], beside.indptr[word + 1]):
        if beside.words[k] <= word:
            counts[found.slots[root_of(found.home, beside.words[k])]] += beside.counts[k]
    return counts


@kernel
def _total(beside: Neighbours, word: int) -> int:
    total = 0
    for k in range(beside.indptr[word], beside.indptr[word + 1]):
        total += beside.counts[k]
    return total


@kernel
def _enter(window: Window, after: Neighbours, before: Neighbours, found: Clustering, word: int) -> None:
    """Put the next word into the free slot, as a cluster of its own."""
    slot = 0
    while window.names[slot] >= 0:
        slot += 1
    found.slots[word] = slot
    following = _counts_by_slot(window, after, found, word)
    preceding = _counts_by_slot(window, before, found, word)
    preceding[slot] = 0  # the word beside itself counts once
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
    window.all_left[slot], window.all_right[slot] = _total(after, word), _total(before, word)
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
def _order(window: Window, a: int, b: int) -> int:
    """Which of two pairs with equal losses comes first: the one with the most frequent words."""
    return (min(window.names[a], window.names[b]) << 32) | max(window.names[a], window.names[b])


@kernel
def _best(window: Window) -> tuple[int, int]:
    """The pair of slots with the least loss; there must be two clusters besides the mark."""
    best_a, best_b, least = 0, 0, NEVER
    for a in range(1, len(window.names)):
        row = window.loss[a]
        lowest = NEVER
        for b in range(a + 1, len(row)):
            lowest = row[b] if row[b] < lowest else lowest
        if lowest == NEVER or lowest > least:
            continue
        for b in range(a + 1, len(row)):
            if row[b] == lowest and (lowest < least or _order(window, a, b) < _order(window, best_a, best_b)):
                best_a, best_b, least = a, b, lowest
    return best_a, best_b


@kernel
def _n_neighbours(window: Window, x: int) -> int:
    n = 0
    for c in range(len(window.names)):
        n += (window.after[x, c] > 0) + (window.before[x, c] > 0)
    return n


@kernel
def _merge_best(window: Window, found: Clustering, m: int) -> None:
    """Make the best merge of the window, merge number m."""
    a, b = _best(window)
    found.losses[m] = window.loss[a, b]
    kept, absorbed = min(window.names[a], window.names[b]), max(window.names[a], window.names[b])
    if _n_neighbours(window, a) < _n_neighbours(window, b):
        a, b = b, a  # there is less to move
    _merge(window, a, b)
    found.kept[m], found.absorbed[m], found.home[absorbed], found.slots[kept] = kept, absorbed, kept, a


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
            _merge_best(window, found, step - n_clusters - 1)
