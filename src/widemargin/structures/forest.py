"""Clusters held together by latent spanning forests (Yu & Joachims 2009, §5.2).

A clustering y of the items of a document is the set of trees of a forest h of links, and

    ⟨w, φ(x, y, h)⟩ = Σ_{(i,j) ∈ h} ⟨w, x_ij⟩
    Δ(y, ŷ, ĥ)      = m(y) − Σ_{(i,j) ∈ ĥ} l(i, j),   l = 1 inside a cluster of y, −r across        (8)

The paper's m(y) is n − k, items less clusters: how many links hold all clusters of y together. Where some pairs are not
given, a cluster may fall into parts that no given pair joins; m(y) is the number of links that a forest inside the
clusters can have, which is n − k if all pairs are given. So Δ ≥ 0 always, and Δ = 0 for every such forest, hence for
every completion.

Everything is a spanning forest of greatest weight (`decoders.kruskal`): over the pairs with ⟨w, x_ij⟩ > 0 to predict,
over those with ⟨w, x_ij⟩ − scale · l(i, j) > 0 when errors count, and over all pairs inside clusters of y to complete.
"""

from collections.abc import Mapping
from typing import Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import sums
from widemargin.decoders.kruskal import Flags, components, spanning_forest
from widemargin.structures.pairs import ItemPairs, Layout, count_in, link_counts


@kernel
def _forest(layout: Layout, i: int, scores: FloatVector, usable: BoolVector, chosen: Flags) -> None:
    """The forest of greatest weight among the usable pairs of document i."""
    begin, end = layout.pairs[i], layout.pairs[i + 1]
    order = np.empty(end - begin, dtype=np.int64)
    count = 0
    for pair in range(end - begin):
        if usable[pair]:
            order[count] = pair
            count += 1
    n = layout.items[i + 1] - layout.items[i]
    spanning_forest(layout.first[begin:end], layout.second[begin:end], scores, order[:count], n, chosen)


@kernel
def _decode(
    layout: Layout, scores: FloatVector, batch: IntVector, scales: FloatVector, inside: BoolVector, penalty: float
) -> Flags:
    """The best forests by the scores of the batch's pairs, to which errors are added."""
    usable = np.empty(len(scores), dtype=np.bool_)
    outputs = np.zeros(len(scores), dtype=np.int8)
    at = 0
    for position in range(len(batch)):
        i, scale = batch[position], scales[position]
        begin, n = layout.pairs[i], layout.pairs[i + 1] - layout.pairs[i]
        if scale != 0.0:
            for pair in range(n):
                scores[at + pair] += -scale if inside[begin + pair] else scale * penalty
        for pair in range(n):
            usable[at + pair] = scores[at + pair] > 0.0
        _forest(layout, i, scores[at : at + n], usable[at : at + n], outputs[at : at + n])
        at += n
    return outputs


@kernel
def _complete(layout: Layout, scores: FloatVector, batch: IntVector, inside: BoolVector) -> Flags:
    """The best forests inside the clusters by the scores of the batch's pairs."""
    completions = np.zeros(len(scores), dtype=np.int8)
    at = 0
    for i in batch:
        begin, end = layout.pairs[i], layout.pairs[i + 1]
        n = end - begin
        _forest(layout, i, scores[at : at + n], inside[begin:end], completions[at : at + n])
        at += n
    return completions


@kernel
def _trees(layout: Layout, batch: IntVector, outputs: Flags) -> IntVector:
    clusters = np.empty(count_in(layout.items, batch), dtype=np.int32)
    at = write = 0
    for i in batch:
        begin, end, n = layout.pairs[i], layout.pairs[i + 1], layout.items[i + 1] - layout.items[i]
        flags = outputs[at : at + end - begin]
        clusters[write : write + n] = components(layout.first[begin:end], layout.second[begin:end], flags, n)
        at, write = at + end - begin, write + n
    return clusters


class ForestExamples:
    """Documents with their gold clusters (or without, for prediction only).

    Outputs and completions are forests: an int8 per pair, 1 if it is a link of the forest, document after document.

    Parameters
    ----------
    documents : items, pairs and their features
    n_features : one more than the largest index of a feature
    clusters : the number of each item's gold cluster; None when documents are only to be decoded
    penalty : r, the cost of a link across clusters
    completions : the forests that stand for the gold clusters in `difference`; None for the first ones
    """

    exact = True

    def __init__(
        self,
        documents: ItemPairs,
        n_features: int,
        clusters: IntVector | None = None,
        *,
        penalty: float = 1.0,
        completions: Flags | None = None,
    ) -> None:
        self.documents, self.n_weights = documents.checked(n_features), n_features
        self.layout, self.work = self.documents.layout, self.documents.work
        self.n_examples = len(self.layout.items) - 1
        self.clusters, self.penalty = clusters, float(penalty)
        self.inside = self.layout.within(clusters)
        self.completions = self.first_completions() if completions is None else completions
        self.most_right = sums(self.completions, self.layout.pairs)

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> Flags:
        """The best forest of each document."""
        scores, scales = self.documents.scores(w, batch), per_example(error_scale, batch)
        return _decode(self.layout, scores, batch, scales, self.inside, self.penalty)

    def difference(self, batch: IntVector, outputs: Flags) -> Differences:
        """Errors of the forests `outputs`, and how their features differ from those of the completions."""
        right, across = link_counts(self.layout, batch, self.inside, outputs).T
        errors = self.most_right[batch] - right + self.penalty * across
        return Differences(errors, self.documents.differences(batch, self.completions, outputs))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features in the batch's documents."""
        return self.documents.support(batch)

    def complete(self, w: FloatVector, batch: IntVector) -> Flags:
        """The best forests that hold the gold clusters together."""
        return _complete(self.layout, self.documents.scores(w, batch), batch, self.inside)

    def completed(self, completions: Flags) -> Self:
        """The same documents with these forests as gold."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, completions=completions)
        return other

    def first_completions(self) -> Flags:
        """Chains in the order of items: each is linked to the closest one before it in its cluster."""
        return self._complete_by((self.layout.first - self.layout.second).astype(np.float64))

    def guess(self, rng: np.random.Generator) -> Flags:
        """Random forests that hold the gold clusters together."""
        return self._complete_by(rng.random(len(self.inside)))

    def _complete_by(self, scores: FloatVector) -> Flags:
        return _complete(self.layout, scores, np.arange(self.n_examples, dtype=np.int32), self.inside)

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Documents with a gold cluster that the given pairs do not hold together."""
        if self.clusters is None:
            return {}
        cuts = self.layout.items[1:-1]
        n_clusters = [len(np.unique(each)) for each in np.split(self.clusters, cuts)]
        broken: BoolVector = self.most_right < np.diff(self.layout.items) - np.array(n_clusters)
        return {"pairs that would hold a cluster together are not given": broken}

    def trees(self, batch: IntVector, outputs: Flags) -> IntVector:
        """The clusters that forests stand for: a number per item, from 0 in each document."""
        return _trees(self.layout, batch, outputs)
