"""Word clusters from raw text (Brown et al. 1992), for features such as `cluster(brown,6)`.

Each of the C most frequent words begins as a cluster. Each further word, the most frequent first, is added as another
cluster, and the two clusters whose merge loses least mutual information become one (`text.brown`). After the last word,
the C clusters are merged until there is one. These last merges are a binary tree. The path to a leaf, 0 for the side
with the most frequent word and 1 for the other, is the bit string of all words in this cluster.

Words and pairs of neighbouring words are counted piece by piece (`BigramCounter`): only the counts stay in memory. A
mark stands before, between and after sentences, so that the first and last words also have two neighbours. It is word
0. Words are numbered by rank: the most frequent is 1, and equally frequent words are sorted by spelling. So nothing
depends on the order of the sentences.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, WidemarginError
from widemargin.text.columns import Columns, place_of
from widemargin.text.inputs import as_columns

BATCH = 10_000  # sentences that are counted at once
FEWEST_WAITING = 1 << 20  # pairs that wait before they are added to the others
MARK = ""
HALF = 32  # bits of a word's number in the key of a pair


class Neighbours(NamedTuple):
    """Word r has the neighbours `words[indptr[r]:indptr[r + 1]]` on one side, `counts` times each."""

    indptr: LongVector
    words: IntVector
    counts: LongVector


class Bigrams(NamedTuple):
    """The mark and the words of a text by rank, their counts, and the words after and before them."""

    words: list[str]
    counts: LongVector
    after: Neighbours
    before: Neighbours

    @property
    def total(self) -> int:
        """N, the number of pairs."""
        return int(self.after.counts.sum())


class BigramCounter:
    """Counts words and pairs.

    >>> counter = BigramCounter()
    >>> counter.add(as_columns([["to", "be"], ["not", "to", "be"]]))
    >>> found = counter.bigrams()
    >>> found.words, found.counts.tolist(), found.total
    (['', 'be', 'to', 'not'], [2, 2, 2, 1], 7)
    """

    def __init__(self) -> None:
        self._numbers = {MARK: 0}
        self._counts = np.zeros(1, dtype=np.int64)
        self._pairs = _NO_PAIRS
        self._waiting: list[tuple[LongVector, LongVector]] = []
        self._n_waiting = 0

    def add(self, sentences: Columns) -> None:
        """Count the column ``word`` of these sentences."""
        column, indptr = sentences["word"], sentences.indptr
        if MARK in column.values:
            t = int(np.argmax(column.codes == column.values.index(MARK)))
            raise DataError(f"{place_of(t, indptr, sentences.source)}: a word is wanted, not an empty string")
        numbers = self._numbers
        known = [numbers.setdefault(word, len(numbers)) for word in column.values]
        begins = indptr[:-1][np.diff(indptr) > 0]
        tokens = np.append(np.insert(np.array(known, dtype=np.int64)[column.codes], begins, 0), 0)
        self._counts = np.pad(self._counts, (0, len(numbers) - len(self._counts)))
        self._counts += np.bincount(tokens[1:], minlength=len(numbers))
        new = np.unique((tokens[:-1] << HALF) | tokens[1:], return_counts=True)
        self._waiting.append(new)
        self._n_waiting += len(new[0])
        # Wait until as many pairs have come as there are already, so that every pair is moved only a few times.
        if self._n_waiting > max(FEWEST_WAITING, len(self._pairs[0])):
            self._gather()

    def bigrams(self, min_count: int = 1) -> Bigrams:
        """The counts so far, without words rarer than `min_count` and without their pairs."""
        self._gather()
        spelling = list(self._numbers)
        kept = [n for n, count in enumerate(self._counts.tolist()) if n and count >= min_count]
        kept = [0, *sorted(kept, key=lambda n: (-self._counts[n], spelling[n]))]
        rank = np.full(len(spelling), -1, dtype=np.int64)
        rank[kept] = np.arange(len(kept))
        keys, counts = self._pairs
        first, second = rank[keys >> HALF], rank[keys & ((1 << HALF) - 1)]
        both = (first >= 0) & (second >= 0)
        first, second, counts = first[both], second[both], counts[both]
        return Bigrams(
            [spelling[n] for n in kept],
            self._counts[kept],
            _neighbours(first, second, counts, len(kept)),
            _neighbours(second, first, counts, len(kept)),
        )

    def _gather(self) -> None:
        """Add the waiting pairs to the others."""
        keys, counts = (np.concatenate(parts) for parts in zip(self._pairs, *self._waiting, strict=True))
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, places, counts)
        self._pairs, self._waiting, self._n_waiting = (distinct, sums), [], 0


def in_batches(sentences: Columns | Iterable[Sequence[str]]) -> Iterator[Columns]:
    """Sentences as columns, some thousands at a time."""
    if isinstance(sentences, Columns):
        yield sentences
        return
    left, n_before = iter(sentences), 0
    while batch := list(islice(left, BATCH)):
        where = f"from sentence {n_before + 1} on" if n_before else ""  # errors count within a batch
        try:
            columns = as_columns(batch)
        except DataError as error:
            raise DataError(f"{where}: {error}" if where else str(error)) from error
        yield replace(columns, source=where or columns.source)
        n_before += len(batch)


_NO_PAIRS: tuple[LongVector, LongVector] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def _neighbours(words: LongVector, others: LongVector, counts: LongVector, n_words: int) -> Neighbours:
    order = np.lexsort((others, words))
    indptr = boundaries(np.bincount(words, minlength=n_words))
    return Neighbours(indptr, others[order].astype(np.int32), counts[order])


Told: TypeAlias = Callable[[int, int], object]
"""A function that is called with the number of steps done and the number of all steps."""

PER_CALL = 10_000_000  # pairs of clusters that are compared between two reports of progress
FEWEST = 2  # with one cluster alone there are no bits


class Merge(NamedTuple):
    """Two clusters, named by their most frequent words, that became one, and the mutual information lost in bits."""

    kept: str
    absorbed: str
    loss: float


class WordClusters(NamedTuple):
    """The bit string of every word, how often it occurs, and how the clusters came about.

    `information` is the average mutual information of neighbouring clusters in bits, before the tree was built. The
    last C − 1 `merges` are the tree.
    """

    paths: Mapping[str, str]
    counts: Mapping[str, int]
    information: float
    merges: Sequence[Merge]


def cluster_words(
    sentences: Columns | Iterable[Sequence[str]],
    n_clusters: int = 1000,
    *,
    min_count: int = 3,
    told: Told | None = None,
) -> WordClusters:
    """Cluster the words of sentences by the words beside them.

    Parameters
    ----------
    sentences : lists of words, which are read once and not kept; or columns with one named ``word``
    n_clusters : C
    min_count : leave out words rarer than this; words on either side of such a word are not neighbours. With 1, all
        words of the training data have a cluster, so a model learns nothing about words without one
    told : is called with the number of steps done and the number of all steps

    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"]
    >>> cluster_words([line.split() for line in text], 3, min_count=1).paths
    {'a': '00', 'barks': '01', 'cat': '1', 'dog': '1', 'sleeps': '01', 'the': '00'}
    """
    counter = BigramCounter()
    for batch in in_batches(sentences):
        counter.add(batch)
    return cluster_bigrams(enough_words(counter, n_clusters, min_count), n_clusters, told=told)


def cluster_bigrams(bigrams: Bigrams, n_clusters: int, *, told: Told | None = None) -> WordClusters:
    """Cluster counted words; there must be enough (`enough_words`)."""
    from widemargin.text import brown  # counting needs no kernels

    words, n_marked = bigrams.words, len(bigrams.words)
    n_steps, pace = n_marked + n_clusters - 1, max(PER_CALL // n_clusters**2, 1)
    try:
        window, found = brown.empty_window(bigrams, n_clusters), brown.all_alone(n_marked)
    except MemoryError as error:
        gigabytes = brown.BYTES * n_clusters**2 / 1e9
        raise WidemarginError(f"{n_clusters:,} clusters need {gigabytes:.1f} GB of memory; ask for fewer") from error

    def advance(first: int, last: int) -> None:
        for step in range(first, last, pace):
            done = min(step + pace, last)
            brown.advance(window, bigrams.after, bigrams.before, found, step, done, n_clusters)
            if told is not None:
                told(done, n_steps)

    advance(0, n_marked)
    clusters, information = found.home.tolist(), brown.information(window)
    for word in range(n_marked):
        clusters[word] = clusters[clusters[word]]  # the home of a word has a lower number, so it is final already
    advance(n_marked, n_steps)
    kept, absorbed, losses = (each.tolist()[: n_marked - 2] for each in (found.kept, found.absorbed, found.losses))
    bits = _bits(kept[1 - n_clusters :], absorbed[1 - n_clusters :])
    unit = window.scale * max(bigrams.total, 1)
    return WordClusters(
        {words[word]: bits[clusters[word]] for word in range(1, n_marked)},
        dict(zip(words[1:], bigrams.counts.tolist()[1:], strict=True)),
        information,
        [Merge(words[a], words[b], loss / unit) for a, b, loss in zip(kept, absorbed, losses, strict=True)],
    )


def enough_words(counter: BigramCounter, n_clusters: int, min_count: int) -> Bigrams:
    """The counts of words with at least `min_count` occurrences; an error if there are too few for the clusters."""
    if n_clusters < FEWEST:
        raise WidemarginError(f"there must be at least {FEWEST} clusters, not {n_clusters}")
    if min_count < 1:
        raise WidemarginError(f"min_count must be at least 1, not {min_count}")
    bigrams = counter.bigrams(min_count)
    n_words = len(bigrams.words) - 1
    often = f" that occur at least {min_count} times" if min_count > 1 else ""
    if n_words == 0:
        raise DataError(f"there are no words{often}")
    if n_words < n_clusters:
        raise DataError(f"there are {n_words} different words{often}, too few for {n_clusters} clusters")
    return bigrams


def _bits(kept: Sequence[int], absorbed: Sequence[int]) -> dict[int, str]:
    """The path to every leaf of the tree that these merges make; the last one is its root."""
    paths = {kept[-1]: ""}
    for a, b in zip(reversed(kept), reversed(absorbed), strict=True):
        paths[a], paths[b] = paths[a] + "0", paths[a] + "1"
    return paths
