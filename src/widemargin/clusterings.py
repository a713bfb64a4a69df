"""How well predicted clusterings agree with the gold ones: MUC (MITRE), B³, CEAF, LEA, BLANC and pairs.

All scores are quotients: right things out of all predicted ones (precision) or all gold ones (recall). Both are summed
over documents before they are divided, as in the reference scorer of the CoNLL shared tasks (Pradhan et al. 2014).

    score    what is counted
    muc      links: a cluster of m items has m − 1; those that other clusters cut are wrong (Vilain et al. 1995)
    b3       items: the share of each item's cluster that is right (Bagga & Baldwin 1998)
    ceaf_m   items in common, after each cluster is matched with at most one of the others (Luo 2005, φ3)
    ceaf_e   clusters, matched by 2 |K ∩ R| / (|K| + |R|) (Luo 2005, φ4)
    lea      clusters, weighted by size: the share of their pairs that is right (Moosavi & Strube 2016)
    pair     pairs of items in one cluster
    blanc    the mean of two scores, of pairs in one cluster and of pairs in two (Luo et al. 2014)

Items that only one side has are wrong on that side. A share of nothing is 0, never nan.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import mean
from typing import NamedTuple, TypeAlias

import numpy as np

from widemargin.errors import DataError
from widemargin.metrics import Score, quotient

Labels: TypeAlias = Sequence[Hashable]
"""The cluster of each item of a document, under any names."""
Clusters: TypeAlias = Sequence[Collection[Hashable]]
"""The clusters of a document, as items that can be compared with those of another."""


class ClusterCounts(NamedTuple):
    """How much of the prediction is right, out of how much; and how much of gold is recalled, out of how much."""

    right: float
    found: float
    recalled: float
    wanted: float


def clusters_of(labels: Labels) -> list[list[int]]:
    """The items of each cluster, in the order of first items.

    >>> clusters_of(["a", "b", "a"])
    [[0, 2], [1]]
    """
    found: dict[Hashable, list[int]] = {}
    for item, label in enumerate(labels):
        found.setdefault(label, []).append(item)
    return list(found.values())


def by_first(labels: Labels) -> list[int]:
    """The same clusters, numbered in the order of their first items.

    >>> by_first(["b", "a", "b"])
    [0, 1, 0]
    """
    number: dict[Hashable, int] = {}
    return [number.setdefault(label, len(number)) for label in labels]


def muc(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """Links that are right: the items of a cluster less the parts that the other side cuts it into."""
    return ClusterCounts(*_links(predicted, gold), *_links(gold, predicted))


def _links(clusters: Clusters, others: Clusters) -> tuple[float, float]:
    place = _places(others)
    right = wanted = 0
    for cluster in clusters:
        # An item that the other side does not have is a part of its own.
        parts = {place.get(item, (item,)) for item in cluster}
        right += len(cluster) - len(parts)
        wanted += len(cluster) - 1
    return right, wanted


def b3(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """For each item, the share of its cluster that is right."""
    return ClusterCounts(*_items(predicted, gold), *_items(gold, predicted))


def _items(clusters: Clusters, others: Clusters) -> tuple[float, float]:
    place = _places(others)
    right, n = 0.0, 0
    for cluster in clusters:
        shared = _common_items(cluster, place)
        right += sum(count * count for count in shared.values()) / len(cluster)
        n += len(cluster)
    return right, n


def ceaf_m(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """Items that matched clusters have in common."""
    right = _best_matching(gold, predicted, lambda common, one, other: common)
    return ClusterCounts(right, sum(map(len, predicted)), right, sum(map(len, gold)))


def ceaf_e(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """The similarity of each cluster to the one it is matched with."""
    right = _best_matching(gold, predicted, lambda common, one, other: 2 * common / (one + other))
    return ClusterCounts(right, len(predicted), right, len(gold))


def _best_matching(gold: Clusters, predicted: Clusters, likeness: Callable[[int, int, int], float]) -> float:
    """The largest total likeness of clusters that are matched one to one."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and only needed here

    place, similar = _places(predicted), np.zeros((len(gold), len(predicted)))
    for row, cluster in enumerate(gold):
        for column, common in _common_items(cluster, place).items():
            similar[row, column] = likeness(common, len(cluster), len(predicted[column]))
    return float(similar[linear_sum_assignment(similar, maximize=True)].sum())


def pair(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """Pairs of items that are in one cluster."""
    place = _places(predicted)
    both = [_common_items(cluster, place) for cluster in gold]
    right = sum(map(_n_pairs, (count for each in both for count in each.values())))
    return ClusterCounts(
        right, sum(_n_pairs(len(each)) for each in predicted), right, sum(_n_pairs(len(each)) for each in gold)
    )


def apart(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """Pairs of items that are in two clusters."""
    place = _places(predicted)
    both, common = [_common_items(cluster, place) for cluster in gold], Counter[int]()
    for each in both:
        common.update(each)
    joined, found, _, wanted = pair(gold, predicted)
    # Of the pairs of items that both sides have, those in one cluster of either side are not apart.
    right = (
        _n_pairs(common.total())
        - sum(_n_pairs(each.total()) for each in both)
        - sum(map(_n_pairs, common.values()))
        + joined
    )
    n_gold, n_found = (sum(map(len, side)) for side in (gold, predicted))
    return ClusterCounts(right, _n_pairs(n_found) - found, right, _n_pairs(n_gold) - wanted)


def lea(gold: Clusters, predicted: Clusters) -> ClusterCounts:
    """The share of right pairs of each cluster, weighted by its number of items.

    A single item is linked to itself, and right if it is alone on the other side, too.
    """
    return ClusterCounts(*_resolution(predicted, gold), *_resolution(gold, predicted))


def _resolution(clusters: Clusters, others: Clusters) -> tuple[float, float]:
    place, right = _places(others), 0.0
    for cluster in clusters:
        if len(cluster) == 1:
            (item,) = cluster
            right += item in place and len(others[place[item]]) == 1
        else:
            shared = _common_items(cluster, place)
            right += len(cluster) * sum(map(_n_pairs, shared.values())) / _n_pairs(len(cluster))
    return right, sum(map(len, clusters))


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _common_items(cluster: Collection[Hashable], place: Mapping[Hashable, int]) -> Counter[int]:
    """How many items of a cluster each cluster of the other side has."""
    return Counter(place[item] for item in cluster if item in place)


def _places(clusters: Clusters) -> dict[Hashable, int]:
    return {item: number for number, cluster in enumerate(clusters) for item in cluster}


SCORES: Mapping[str, tuple[Callable[[Clusters, Clusters], ClusterCounts], ...]] = {
    "muc": (muc,),
    "b3": (b3,),
    "ceaf_m": (ceaf_m,),
    "ceaf_e": (ceaf_e,),
    "lea": (lea,),
    "blanc": (pair, apart),
    "pair": (pair,),
}
"""The scores by name; a score of several counts is their mean."""
NAMES = {
    "muc": "MUC",
    "b3": "B³",
    "ceaf_m": "CEAF, items",
    "ceaf_e": "CEAF, clusters",
    "lea": "LEA",
    "blanc": "BLANC",
    "pair": "pairs",
}
"""The scores as people write them."""
CONLL = ("muc", "b3", "ceaf_e")
"""The scores whose mean F1 is that of the CoNLL shared tasks."""


def scores_of_clusters(
    gold: Sequence[Clusters], predicted: Sequence[Clusters], names: Iterable[str] = SCORES
) -> dict[str, Score]:
    """Scores of documents given as clusters, whose items need not be the same on both sides."""
    return {name: _mean([_score(count, gold, predicted) for count in SCORES[name]], gold, predicted) for name in names}


def _score(
    count: Callable[[Clusters, Clusters], ClusterCounts], gold: Sequence[Clusters], predicted: Sequence[Clusters]
) -> Score | None:
    """The score by one kind of count; None if neither side has anything to count."""
    counts = [count(g, p) for g, p in zip(gold, predicted, strict=True)]
    right, n_found, recalled, wanted = np.sum(counts, axis=0).tolist() if counts else (0, 0, 0, 0)
    if not n_found and not wanted:
        return None
    precision, recall = quotient(right, n_found), quotient(recalled, wanted)
    return Score(precision, recall, quotient(2 * precision * recall, precision + recall), int(wanted))


def _mean(scores: Sequence[Score | None], gold: Sequence[Clusters], predicted: Sequence[Clusters]) -> Score:
    """The mean over the kinds of links that have a score. With a single item, BLANC is 1 if both sides have it."""
    known = [each for each in scores if each is not None]
    if len(known) == 1:
        return known[0]
    if not known:
        items = [[sorted(map(repr, chain.from_iterable(each))) for each in side] for side in (gold, predicted)]
        alike = float(len(scores) > 1 and any(items[0]) and items[0] == items[1])
        return Score(alike, alike, alike, 0)
    precision, recall, f1, support = np.array(known).T.tolist()
    return Score(mean(precision), mean(recall), mean(f1), int(sum(support)))


def conll_f1(scores: Mapping[str, Score]) -> float:
    """The mean F1 of MUC, B³ and CEAF by clusters, as in the CoNLL shared tasks."""
    return sum(scores[name].f1 for name in CONLL) / len(CONLL)


def clustering_scores(
    gold: Sequence[Labels], predicted: Sequence[Labels], names: Iterable[str] = SCORES
) -> dict[str, Score]:
    """Scores of documents given as the cluster of each item.

    >>> clustering_scores([["a", "a", "a", "a"]], [[0, 0, 1, 1]], ["muc"])["muc"]
    Score(precision=1.0, recall=0.6666666666666666, f1=0.8, support=3)
    """
    check_items(gold, predicted)
    return scores_of_clusters(list(map(clusters_of, gold)), list(map(clusters_of, predicted)), names)


def pair_loss(gold: Sequence[Labels], predicted: Sequence[Labels]) -> float:
    """The share of all pairs of items that are wrongly joined or parted.

    >>> pair_loss([["a", "a", "b"]], [[0, 0, 0]])
    0.6666666666666666
    """
    check_items(gold, predicted)
    wrong = total = 0.0
    for g, p in zip(gold, predicted, strict=True):
        right, found, _, wanted = pair(clusters_of(g), clusters_of(p))
        wrong, total = wrong + found + wanted - 2 * right, total + _n_pairs(len(g))
    return quotient(wrong, total)


def mitre_loss(gold: Sequence[Labels], predicted: Sequence[Labels]) -> float:
    """1 − F1 of MUC (Finley & Joachims 2005).

    >>> mitre_loss([["a", "a", "b"]], [[0, 0, 0]])
    0.33333333333333337
    """
    return 1.0 - clustering_scores(gold, predicted, ["muc"])["muc"].f1


def check_items(gold: Sequence[Labels], predicted: Sequence[Labels]) -> None:
    """Raise unless there are as many documents and items on both sides."""
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold clusterings, but {len(predicted)} predicted ones")
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if len(g) != len(p):
            raise DataError(f"document {number} has {len(g)} gold items, but {len(p)} predicted ones")
