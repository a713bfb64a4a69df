"""Correlation clustering (Finley & Joachims 2005): all pairs of a cluster count, and nothing is latent.

    ⟨w, φ(x, y)⟩ = Σ ⟨w, x_ij⟩ over the pairs inside clusters of y
    Δ(y, ŷ)      = 100 / N · (pairs inside clusters of y that ŷ parts + r · pairs across that ŷ joins)

N is the number of pairs of the document, so with r = 1 this is the pair loss in percent. Pairs that are not given do
not count. Decoding is greedy (`decoders.kruskal`) and may miss the maximum, so no gap counts as proven.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.checks import check_memory
from widemargin.core.sparse import sums
from widemargin.decoders.kruskal import Flags, agglomerate
from widemargin.structures.costs import KindCosts
from widemargin.structures.examples import PartExamples
from widemargin.structures.flat import Scores
from widemargin.structures.forest import Documents, Layout, Linked

PERCENT = 100.0


@kernel
def _clusters(layout: Layout, documents: LongVector, starts: LongVector, own: FloatVector, clusters: IntVector) -> None:
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
def _joined(layout: Layout, documents: LongVector, clusters: IntVector, joined: Flags) -> None:
    at = write = 0
    for i in documents:
        for pair in range(layout.pairs[i], layout.pairs[i + 1]):
            joined[write] = clusters[at + layout.first[pair]] == clusters[at + layout.second[pair]]
            write += 1
        at += layout.items[i + 1] - layout.items[i]


class Clusters(Linked):
    """Clusters scored by all pairs inside them; outputs hold the number of each item's cluster."""

    __slots__ = ()

    def lengths(self, documents: LongVector) -> LongVector:
        """The number of items."""
        n_items: LongVector = self.layout.items[documents + 1] - self.layout.items[documents]
        return n_items

    def flags(self, documents: LongVector, outputs: IntVector) -> Flags:
        """1 for the pairs inside clusters."""
        joined = np.empty(self.n_own(documents).sum(), dtype=np.int8)
        _joined(self.layout, documents, outputs, joined)
        return joined

    def best(self, scores: Scores) -> IntVector:
        """A good clustering of each document."""
        clusters = np.empty(self.lengths(scores.sizes).sum(), dtype=np.int32)
        _clusters(self.layout, scores.sizes, scores.starts, scores.own, clusters)
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
        structure, inside = Clusters(self.layout), self.layout.within(clusters)
        costs = KindCosts(
            structure,
            features.sizes,
            (~inside).view(np.int8),
            np.array([-1.0, float(penalty)]),
            sums(inside, documents.pairs),
            PERCENT / np.maximum(np.diff(documents.pairs), 1),
        )
        super().__init__(structure, features, costs, np.empty(0, dtype=np.int32) if clusters is None else clusters)

    def trees(self, batch: IntVector, outputs: IntVector) -> IntVector:
        """The outputs, which are clusters already (`ForestExamples.trees`)."""
        return outputs
