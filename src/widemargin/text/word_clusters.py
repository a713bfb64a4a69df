"""Word clusters from raw text (Brown et al. 1992), for features such as `cluster(brown,6)`.

Each of the C most frequent words begins as a cluster. Each further word, the most frequent first, is added as another
cluster, and the two clusters whose merge loses least mutual information become one (`text.brown`). After the last word,
the C clusters are merged until there is one. These last merges are a binary tree. The path to a leaf, 0 for the side
with the most frequent word and 1 for the other, is the bit string of all words in this cluster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from widemargin.errors import DataError, WidemarginError
from widemargin.text.bigrams import BigramCounter, Bigrams, in_batches
from widemargin.text.columns import Columns

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
    return clustered(enough_words(counter, n_clusters, min_count), n_clusters, told=told)


def clustered(bigrams: Bigrams, n_clusters: int, *, told: Told | None = None) -> WordClusters:
    """Cluster counted words; there must be enough (`enough_words`)."""
    from widemargin.text import brown  # counting needs no kernels

    words, n_marked = bigrams.words, len(bigrams.words)
    n_steps, pace = n_marked + n_clusters - 1, max(PER_CALL // n_clusters**2, 1)
    try:
        window, found = brown.empty_window(bigrams, n_clusters), brown.unclustered(n_marked)
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
