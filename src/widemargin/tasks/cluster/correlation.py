"""Correlation clustering (Finley & Joachims 2005): all pairs of a cluster count, and nothing is latent.

    ⟨w, φ(x, y)⟩ = Σ ⟨w, x_ij⟩ over the pairs inside clusters of y
    Δ(y, ŷ)      = 100 / N · (pairs inside clusters of y that ŷ parts + r · pairs across that ŷ joins)

N is the number of pairs of the document, so with r = 1 this is the pair loss in percent. Pairs that are not given count
for nothing. Decoding is greedy (`decoders.agglomerative`) and finds no proven maximum, so no gap is called proven.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.limits import check_memory
from widemargin.core.sparse import sums
from widemargin.decoders.agglomerative import agglomerate
from widemargin.decoders.kruskal import Flags
from widemargin.structures.pairs import (
    Documents,
    checked,
    count_in,
    link_counts,
    link_differences,
    pair_scores,
)

PERCENT = 100.0


class Costs(NamedTuple):
    """What it costs to join each pair, and what to part it."""

    join: FloatVector
    part: FloatVector


@kernel
def _gains(documents: Documents, i: int, scores: FloatVector) -> FloatMatrix:
    """The scores of the pairs of document i as a symmetric matrix."""
    n, begin = documents.items[i + 1] - documents.items[i], documents.pairs[i]
    gains = np.zeros((n, n))
    for pair in range(documents.pairs[i + 1] - begin):
        one, other = documents.first[begin + pair], documents.second[begin + pair]
        gains[one, other] = gains[other, one] = gains[one, other] + scores[pair]
    return gains


@kernel
def _most_pairs(documents: Documents, batch: IntVector) -> int:
    """The number of pairs in the largest document of the batch."""
    most = 0
    for i in batch:
        most = max(most, documents.pairs[i + 1] - documents.pairs[i])
    return most


@kernel
def _decode(documents: Documents, w: FloatVector, batch: IntVector, scales: FloatVector, costs: Costs) -> IntVector:
    clusters, scores = (
        np.empty(count_in(documents.items, batch), dtype=np.int32),
        np.empty(_most_pairs(documents, batch)),
    )
    at = 0
    for position in range(len(batch)):
        i, scale = batch[position], scales[position]
        begin, n = documents.pairs[i], documents.items[i + 1] - documents.items[i]
        pair_scores(documents, w, i, scores)
        if scale != 0.0:
            for pair in range(documents.pairs[i + 1] - begin):
                scores[pair] += scale * (costs.join[begin + pair] - costs.part[begin + pair])
        clusters[at : at + n] = agglomerate(_gains(documents, i, scores))
        at += n
    return clusters


@kernel
def _joined(documents: Documents, batch: IntVector, clusters: IntVector) -> Flags:
    """1 for the pairs of the batch's documents that are in one cluster."""
    joined = np.zeros(count_in(documents.pairs, batch), dtype=np.int8)
    at = write = 0
    for i in batch:
        for pair in range(documents.pairs[i], documents.pairs[i + 1]):
            if clusters[at + documents.first[pair]] == clusters[at + documents.second[pair]]:
                joined[write] = 1
            write += 1
        at += documents.items[i + 1] - documents.items[i]
    return joined


class CorrelationExamples:
    """Documents with their gold clusters (or without, for prediction only).

    Outputs are a number of a cluster per item, document after document. The parameters are those of `ForestExamples`.
    """

    exact = False

    def __init__(
        self, documents: Documents, n_features: int, clusters: IntVector | None = None, *, penalty: float = 1.0
    ) -> None:
        self.documents, self.n_weights = checked(documents, n_features), n_features
        sizes = np.diff(documents.items)
        check_memory(8.0 * sizes**2, "correlation clustering", 'Use decoder="forest".', "document")
        self.n_examples, self.work = documents.n_documents, documents.work + sizes**2 / 200.0
        self.inside = documents.layout.within(clusters)
        unit = PERCENT / np.maximum(np.diff(documents.pairs), 1)
        of_pairs = documents.layout.for_pairs(unit)
        self.costs = Costs(np.where(self.inside, 0.0, penalty * of_pairs), np.where(self.inside, of_pairs, 0.0))
        self.unit, self.penalty = unit, float(penalty)
        self.n_inside = sums(self.inside, documents.pairs)

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """A good clustering of each document."""
        return _decode(self.documents, w, batch, per_example(error_scale, batch), self.costs)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of the clusterings `outputs`."""
        joined = _joined(self.documents, batch, outputs)
        right, wrong = link_counts(self.documents.layout, batch, self.inside, joined).T
        errors = self.unit[batch] * (self.n_inside[batch] - right + self.penalty * wrong)
        return Differences(errors, link_differences(self.documents, batch, self.inside.view(np.int8), joined))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the features in the batch's documents."""
        return self.documents.support(batch)

    def trees(self, batch: IntVector, outputs: IntVector) -> IntVector:
        """The clusters themselves, in the form that `ForestExamples.trees` has."""
        return outputs
