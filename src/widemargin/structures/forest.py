"""Clusters: the trees of latent spanning forests (Yu & Joachims 2009), or sets scored by all pairs inside them.

**Forests** (§5.2). A clustering y of the items of a document is the set of trees of a forest h of links, and

    ⟨w, φ(x, y, h)⟩ = Σ_{(i,j) ∈ h} ⟨w, x_ij⟩
    Δ(y, ŷ, ĥ)      = m(y) − Σ_{(i,j) ∈ ĥ} l(i, j),   l = 1 inside a cluster of y, −r across        (8)

The paper's m(y) is n − k, items minus clusters: the number of links that hold all clusters of y together. If some pairs
are not given, a cluster may fall apart because no given pair joins its halves. So here m(y) is the most links that a
forest inside the clusters can have, which is n − k if all pairs are given. Then Δ ≥ 0, and Δ = 0 for every forest with
that many links, hence for every completion.

Every search is a spanning forest of greatest weight (`decoders.kruskal`). Prediction takes the pairs with
⟨w, x_ij⟩ > 0, loss-augmented decoding the pairs with ⟨w, x_ij⟩ − scale · l(i, j) > 0, and completion all pairs inside
clusters of y.

**Correlation clustering** (Finley & Joachims 2005). All pairs of a cluster count, and nothing is latent.

    ⟨w, φ(x, y)⟩ = Σ ⟨w, x_ij⟩ over the pairs inside clusters of y
    Δ(y, ŷ)      = 100 / N · (pairs inside clusters of y that ŷ parts + r · pairs across that ŷ joins)

N is the number of pairs of the document, so with r = 1 this is the pair loss in percent. Pairs that are not given do
not count. Decoding is greedy (`decoders.kruskal`) and may miss the maximum, so no gap counts as proven.

The parts of a document are its pairs, each with a row of features x_ij. Each document has its own list of pairs, so its
"size" is its number, by which the pairs are found. Pairs that are not given have no features and cannot be linked
directly. `ItemPairs` is the protocol of documents; `Documents` keeps the features as sparse rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.checks import check_memory
from widemargin.core.sparse import Rows, boundaries, distinct_entries, sums
from widemargin.decoders.kruskal import Flags, agglomerate, components, spanning_forest
from widemargin.errors import DataError
from widemargin.structures.costs import KindCosts
from widemargin.structures.examples import PartExamples, WithLimits
from widemargin.structures.flat import NOTHING, Flat, Numbers, Scores, places_of
from widemargin.structures.part_rows import PartFeatures
from widemargin.structures.parts import Features


class PairLayout(NamedTuple):
    """The items and the pairs of `Documents`, without features."""

    items: LongVector
    pairs: LongVector
    first: IntVector
    second: IntVector

    def for_pairs(self, of_documents: AnyArray) -> AnyArray:
        """A value per document, repeated for each of its pairs."""
        return np.repeat(of_documents, np.diff(self.pairs))

    def within(self, clusters: IntVector | None) -> BoolVector:
        """Which pairs lie inside a cluster; `clusters` has a number per item, or is None without gold."""
        if clusters is None:
            return np.zeros(len(self.first), dtype=np.bool_)
        if len(clusters) != self.items[-1]:
            raise DataError(f"there are {self.items[-1]} items, but {len(clusters)} clusters")
        begin = self.for_pairs(self.items[:-1])
        same: BoolVector = clusters[begin + self.first] == clusters[begin + self.second]
        return same


class ItemPairs(Protocol):
    """Documents whose pairs have scores that are linear in w."""

    @property
    def layout(self) -> PairLayout:
        """Items and pairs."""

    def checked(self, n_weights: int) -> Features:
        """The features of all pairs, checked because kernels do not check."""


class Documents(NamedTuple):
    """Document i has the items items[i]:items[i + 1] and the pairs pairs[i]:pairs[i + 1], a row of `features` each.

    `first` and `second` are the items of each pair, first < second, counted from the beginning of their document.
    """

    items: LongVector
    pairs: LongVector
    first: IntVector
    second: IntVector
    features: Rows

    @property
    def layout(self) -> PairLayout:
        """Items and pairs."""
        return PairLayout(self.items, self.pairs, self.first, self.second)

    def checked(self, n_weights: int) -> "PairRows":
        """The features of all pairs."""
        return PairRows(self, n_weights)


@dataclass(frozen=True, slots=True)
class Linked(Flat):
    """Structures whose outputs are sets of pairs."""

    layout: PairLayout

    def n_own(self, documents: LongVector) -> LongVector:
        """The number of pairs."""
        n_pairs: LongVector = self.layout.pairs[documents + 1] - self.layout.pairs[documents]
        return n_pairs

    def flags(self, documents: LongVector, outputs: Any) -> Flags:
        """1 for the pairs of an output, 0 for all others, document after document."""
        raise NotImplementedError

    def parts(self, documents: LongVector, outputs: Any) -> Numbers:
        """The pairs of an output."""
        n_own, flags = self.n_own(documents), self.flags(documents, outputs)
        return Numbers(boundaries(n_own), np.where(flags != 0, places_of(0 * n_own, n_own), -1))


class PairRows(PartFeatures):
    """Features of pairs as sparse rows."""

    def __init__(self, documents: Documents, n_weights: int) -> None:
        items, pairs, first, second, features = documents
        n_pairs = len(first)
        if not (len(items) == len(pairs) and items[0] == pairs[0] == 0 and pairs[-1] == n_pairs == len(second)):
            raise DataError("items and pairs must have an end for each document, and first and second an item per pair")
        if len(features.indptr) != n_pairs + 1:
            raise DataError(f"there are {n_pairs} pairs, but {len(features.indptr) - 1} rows of features")
        if (np.diff(items) < 0).any() or (np.diff(pairs) < 0).any():
            raise DataError("items and pairs must ascend")
        if not ((first >= 0) & (first < second) & (second < documents.layout.for_pairs(np.diff(items)))).all():
            raise DataError("pairs must be numbers of items of their document, the smaller one first")
        if len(features.indices) and not 0 <= features.indices.min() <= features.indices.max() < n_weights:
            raise DataError(f"features has an index outside 0 … {n_weights - 1}")
        rows, numbers = distinct_entries(features, n_weights), np.arange(len(items) - 1)
        super().__init__(Linked(documents.layout), numbers, rows, n_weights)
        # Measured: about a nanosecond to look up a weight, and forty to decide about a pair.
        entries = np.diff(features.indptr[pairs])
        self.work: FloatVector = (1.2 * entries + 40.0 * np.diff(pairs) + 50.0 * np.diff(items)) / 1000


@kernel
def _forests(layout: PairLayout, documents: LongVector, starts: LongVector, own: FloatVector, above: float) -> Flags:
    """The forests of greatest weight among the pairs with a score greater than `above`."""
    # Pairs below the threshold are dropped before Kruskal's algorithm sorts: often they are most of the pairs.
    room = most = layout.pairs[0]
    for i in documents:
        n = layout.pairs[i + 1] - layout.pairs[i]
        room, most = room + n, max(most, n)
    outputs, order = np.zeros(room, dtype=np.int8), np.empty(most, dtype=np.int64)
    at = 0
    for k in range(len(documents)):
        i, count = documents[k], 0
        begin, end = layout.pairs[i], layout.pairs[i + 1]
        scores = own[starts[k] : starts[k] + end - begin]
        for pair in range(len(scores)):
            if scores[pair] > above:
                order[count] = pair
                count += 1
        n_items, chosen = layout.items[i + 1] - layout.items[i], outputs[at : at + end - begin]
        spanning_forest(layout.first[begin:end], layout.second[begin:end], scores, order[:count], n_items, chosen)
        at += end - begin
    return outputs


@kernel
def _trees(layout: PairLayout, outputs: Flags) -> IntVector:
    clusters = np.empty(layout.items[-1], dtype=np.int32)
    for i in range(len(layout.items) - 1):
        begin, end, first, last = layout.pairs[i], layout.pairs[i + 1], layout.items[i], layout.items[i + 1]
        flags = outputs[begin:end]
        clusters[first:last] = components(layout.first[begin:end], layout.second[begin:end], flags, last - first)
    return clusters


class Forest(Linked):
    """Forests of links: an int8 per pair, 1 if it is a link of the forest, document after document."""

    __slots__ = ()

    def lengths(self, documents: LongVector) -> LongVector:
        """A flag for each pair."""
        return self.n_own(documents)

    def flags(self, documents: LongVector, outputs: Flags) -> Flags:
        """The outputs themselves."""
        return outputs

    def best(self, scores: Scores) -> Flags:
        """The best forests, which have links of positive score only."""
        return _forests(self.layout, scores.sizes, scores.starts, scores.own, 0.0)

    def spanning(self, scores: Scores) -> Flags:
        """The best of the forests with the most links, over the pairs whose score is not −∞."""
        return _forests(self.layout, scores.sizes, scores.starts, scores.own, -np.inf)


class ForestExamples(WithLimits):
    """Documents with their gold clusters (or without, for prediction only).

    In `difference`, gold forests stand for the gold clusters: `first_completions` until others are set.

    Parameters
    ----------
    documents : items, pairs and their features
    n_features : one more than the largest index of a feature
    clusters : the number of each item's gold cluster; None for prediction only
    penalty : r, the cost of a link across clusters
    """

    structure: Forest

    def __init__(
        self, documents: ItemPairs, n_features: int, clusters: IntVector | None = None, *, penalty: float = 1.0
    ) -> None:
        features, self.layout, self.clusters = documents.checked(n_features), documents.layout, clusters
        self.structure, self.inside = Forest(self.layout), self.layout.within(clusters)
        gold = self.first_completions()
        self.most_right = sums(gold, self.layout.pairs)
        parts = self.structure, features.sizes, (~self.inside).view(np.int8)
        costs = KindCosts(*parts, np.array([-1.0, float(penalty)]), self.most_right)
        super().__init__(self.structure, features, costs, gold)
        self.limits = KindCosts(*parts, np.array([0.0, -np.inf]))

    def completed(self, completions: Flags) -> Self:
        """The same documents with these forests as gold."""
        return self.with_gold(completions)

    def first_completions(self) -> Flags:
        """Chains in the order of items: each item is linked to the closest one before it in its cluster."""
        return self._complete_by((self.layout.first - self.layout.second).astype(np.float64))

    def guess(self, rng: np.random.Generator) -> Flags:
        """Random forests that hold the gold clusters together."""
        return self._complete_by(rng.random(len(self.inside)))

    def _best_within(self, scores: Scores) -> Flags:
        return self.structure.spanning(scores)

    def _complete_by(self, scores: FloatVector) -> Flags:
        starts, own = self.layout.pairs[:-1], np.where(self.inside, scores, -np.inf)
        return self.structure.spanning(Scores(starts, np.arange(len(starts)), own, NOTHING))

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Documents with a gold cluster that the given pairs do not hold together."""
        if self.clusters is None:
            return {}
        cuts = self.layout.items[1:-1]
        n_clusters = [len(np.unique(each)) for each in np.split(self.clusters, cuts)]
        broken: BoolVector = self.most_right < np.diff(self.layout.items) - np.array(n_clusters)
        return {"pairs that would hold a cluster together are not given": broken}

    def trees(self, outputs: Flags) -> IntVector:
        """The clusters that forests of all documents stand for: a number per item, from 0 in each document."""
        return _trees(self.layout, outputs)


PERCENT = 100.0


@kernel
def _merge_greedily(
    layout: PairLayout, documents: LongVector, starts: LongVector, own: FloatVector, clusters: IntVector
) -> None:
    at = 0
    for k in range(len(documents)):
        i = documents[k]
        n, begin = layout.items[i + 1] - layout.items[i], layout.pairs[i]
        gains = np.zeros((n, n))
        for pair in range(begin, layout.pairs[i + 1]):
            one, other = layout.first[pair], layout.second[pair]
            gains[one, other] = gains[other, one] = gains[one, other] + own[starts[k] + pair - begin]
        clusters[at : at + n] = agglomerate(gains)
        at += n


@kernel
def _mark_joined(layout: PairLayout, documents: LongVector, clusters: IntVector, joined: Flags) -> None:
    at = write = 0
    for i in documents:
        for pair in range(layout.pairs[i], layout.pairs[i + 1]):
            joined[write] = clusters[at + layout.first[pair]] == clusters[at + layout.second[pair]]
            write += 1
        at += layout.items[i + 1] - layout.items[i]


class Partitions(Linked):
    """Clusters scored by all pairs inside them; outputs hold the number of each item's cluster."""

    __slots__ = ()

    def lengths(self, documents: LongVector) -> LongVector:
        """The number of items."""
        n_items: LongVector = self.layout.items[documents + 1] - self.layout.items[documents]
        return n_items

    def flags(self, documents: LongVector, outputs: IntVector) -> Flags:
        """1 for the pairs inside clusters."""
        joined = np.empty(self.n_own(documents).sum(), dtype=np.int8)
        _mark_joined(self.layout, documents, outputs, joined)
        return joined

    def best(self, scores: Scores) -> IntVector:
        """A good clustering of each document."""
        clusters = np.empty(self.lengths(scores.sizes).sum(), dtype=np.int32)
        _merge_greedily(self.layout, scores.sizes, scores.starts, scores.own, clusters)
        return clusters


class CorrelationExamples(PartExamples):
    """Documents with their gold clusters (or without, for prediction only); parameters as for `ForestExamples`."""

    exact = False

    def __init__(
        self, documents: Documents, n_features: int, clusters: IntVector | None = None, *, penalty: float = 1.0
    ) -> None:
        features, self.layout = documents.checked(n_features), documents.layout
        sizes = np.diff(documents.items)
        check_memory(8.0 * sizes**2, "correlation clustering", 'Use decoder="forest".', "document")
        features.work = features.work + sizes**2 / 200.0
        structure, inside = Partitions(self.layout), self.layout.within(clusters)
        costs = KindCosts(
            structure,
            features.sizes,
            (~inside).view(np.int8),
            np.array([-1.0, float(penalty)]),
            sums(inside, documents.pairs),
            PERCENT / np.maximum(np.diff(documents.pairs), 1),
        )
        super().__init__(structure, features, costs, np.empty(0, dtype=np.int32) if clusters is None else clusters)

    def trees(self, outputs: IntVector) -> IntVector:
        """The outputs, which are clusters already (`ForestExamples.trees`)."""
        return outputs
