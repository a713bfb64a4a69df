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
from widemargin.tasks.cluster.documents import (
    Documents,
    checked,
    count_in,
    link_counts,
    link_differences,
    most_pairs,
    pair_scores,
)


@kernel
def _forest(documents: Documents, i: int, scores: FloatVector, usable: BoolVector, chosen: Flags) -> None:
    """The forest of greatest weight among the usable pairs of document i."""
    begin, end = documents.pairs[i], documents.pairs[i + 1]
    order = np.empty(end - begin, dtype=np.int64)
    count = 0
    for pair in range(end - begin):
        if usable[pair]:
            order[count] = pair
            count += 1
    spanning_forest(
        documents.first[begin:end],
        documents.second[begin:end],
        scores,
        order[:count],
        documents.items[i + 1] - documents.items[i],
        chosen,
    )


@kernel
def _decode(
    documents: Documents, w: FloatVector, batch: IntVector, scales: FloatVector, inside: BoolVector, penalty: float
) -> Flags:
    most = most_pairs(documents, batch)
    scores, usable = np.empty(most), np.empty(most, dtype=np.bool_)
    outputs = np.zeros(count_in(documents.pairs, batch), dtype=np.int8)
    at = 0
    for position in range(len(batch)):
        i, scale = batch[position], scales[position]
        begin, n = documents.pairs[i], documents.pairs[i + 1] - documents.pairs[i]
        pair_scores(documents, w, i, scores)
        if scale != 0.0:
            for pair in range(n):
                scores[pair] += -scale if inside[begin + pair] else scale * penalty
        for pair in range(n):
            usable[pair] = scores[pair] > 0.0
        _forest(documents, i, scores[:n], usable[:n], outputs[at : at + n])
        at += n
    return outputs


@kernel
def _complete(documents: Documents, w: FloatVector, batch: IntVector, inside: BoolVector) -> Flags:
    scores = np.empty(most_pairs(documents, batch))
    completions = np.zeros(count_in(documents.pairs, batch), dtype=np.int8)
    at = 0
    for i in batch:
        begin, end = documents.pairs[i], documents.pairs[i + 1]
        pair_scores(documents, w, i, scores)
        _forest(documents, i, scores[: end - begin], inside[begin:end], completions[at : at + end - begin])
        at += end - begin
    return completions


@kernel
def _complete_by(documents: Documents, scores: FloatVector, inside: BoolVector) -> Flags:
    """Forests inside the clusters of all documents, by given scores."""
    completions = np.zeros(len(scores), dtype=np.int8)
    for i in range(len(documents.pairs) - 1):
        begin, end = documents.pairs[i], documents.pairs[i + 1]
        _forest(documents, i, scores[begin:end], inside[begin:end], completions[begin:end])
    return completions


@kernel
def _trees(documents: Documents, batch: IntVector, outputs: Flags) -> IntVector:
    clusters = np.empty(count_in(documents.items, batch), dtype=np.int32)
    at = write = 0
    for i in batch:
        begin, end, n = documents.pairs[i], documents.pairs[i + 1], documents.items[i + 1] - documents.items[i]
        flags = outputs[at : at + end - begin]
        clusters[write : write + n] = components(documents.first[begin:end], documents.second[begin:end], flags, n)
        at, write = at + end - begin, write + n
    return clusters


class ForestExamples:
    """Documents with their gold clusters (or without, for prediction only).

    Outputs and completions are forests: an int8 per pair, 1 if it is a link of the forest, document after document.

    Parameters
    ----------
    documents : items, pairs and features
    n_features : one more than the largest index of a feature
    clusters : the number of each item's gold cluster; None when documents are only to be decoded
    penalty : r, the cost of a link across clusters
    completions : the forests that stand for the gold clusters in `difference`; None for the first ones
    """

    exact = True

    def __init__(
        self,
        documents: Documents,
        n_features: int,
        clusters: IntVector | None = None,
        *,
        penalty: float = 1.0,
        completions: Flags | None = None,
    ) -> None:
        self.documents, self.n_weights = checked(documents, n_features), n_features
        self.n_examples, self.work = documents.n_documents, documents.work
        self.clusters, self.penalty = clusters, float(penalty)
        self.inside = documents.within(clusters)
        self.completions = self.first_completions() if completions is None else completions
        self.most_right = sums(self.completions, documents.pairs)

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> Flags:
        """The best forest of each document."""
        return _decode(self.documents, w, batch, per_example(error_scale, batch), self.inside, self.penalty)

    def difference(self, batch: IntVector, outputs: Flags) -> Differences:
        """Errors of the forests `outputs`, and how their features differ from those of the completions."""
        right, across = link_counts(self.documents, batch, self.inside, outputs).T
        errors = self.most_right[batch] - right + self.penalty * across
        return Differences(errors, link_differences(self.documents, batch, self.completions, outputs))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features in the batch's documents."""
        return self.documents.support(batch)

    def complete(self, w: FloatVector, batch: IntVector) -> Flags:
        """The best forests that hold the gold clusters together."""
        return _complete(self.documents, w, batch, self.inside)

    def completed(self, completions: Flags) -> Self:
        """The same documents with these forests as gold."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, completions=completions)
        return other

    def first_completions(self) -> Flags:
        """Chains in the order of items: each is linked to the closest one before it in its cluster."""
        return _complete_by(
            self.documents, (self.documents.first - self.documents.second).astype(np.float64), self.inside
        )

    def guess(self, rng: np.random.Generator) -> Flags:
        """Random forests that hold the gold clusters together."""
        return _complete_by(self.documents, rng.random(len(self.inside)), self.inside)

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Documents with a gold cluster that the given pairs do not hold together."""
        if self.clusters is None:
            return {}
        cuts = self.documents.items[1:-1]
        n_clusters = [len(np.unique(each)) for each in np.split(self.clusters, cuts)]
        broken: BoolVector = self.most_right < np.diff(self.documents.items) - np.array(n_clusters)
        return {"pairs that would hold a cluster together are not given": broken}

    def trees(self, batch: IntVector, outputs: Flags) -> IntVector:
        """The clusters that forests stand for: a number per item, from 0 in each document."""
        return _trees(self.documents, batch, outputs)
