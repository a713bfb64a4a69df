"""A trained clusterer: features of pairs, and a weight for each.

Model files call its structure ``clusters``.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, names, one_of, record
from widemargin.core.stored import Stored
from widemargin.structures.forest import CorrelationExamples, Documents, ForestExamples
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.clusters import ClusteringModel

DECODERS: dict[str, type[ForestExamples] | type[CorrelationExamples]] = {
    "forest": ForestExamples,
    "correlation": CorrelationExamples,
}
"""The structures by name."""


@dataclass
class ClusterModel(ClusteringModel):
    """Features of pairs and their weights; `decoder` names the structure."""

    kind = "clusters"
    predicts = "clusters"
    fields: ClassVar[Fields] = {
        "labels": names(),
        "features": record({}),
        "decoder": one_of(*DECODERS),
    }

    extractor: PairExtractor
    weights: FloatVector
    decoder: str

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of features and weights; clusters have no labels."""
        return {"labels": 0, "features": self.extractor.n_features, "weights": len(self.weights)}

    def examples(self, X: Any) -> ForestExamples | CorrelationExamples:
        """Documents as examples to be decoded."""
        return self.examples_of(self.extractor.transform(X))

    def examples_of(self, documents: Documents) -> ForestExamples | CorrelationExamples:
        """Documents whose features are known as examples."""
        return DECODERS[self.decoder](documents, self.extractor.n_features)

    def compact(self) -> Self:
        """The same model without features whose weights are zero."""
        used = self.weights != 0.0
        used[-1] = True
        return replace(self, extractor=self.extractor.keep(used), weights=self.weights[used])

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = self.extractor.describe()
        return {"features": described, "decoder": self.decoder}, tensors | {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        extractor = PairExtractor.restore(stored.part("features"))
        weights = stored.vector("weights", np.float64, extractor.n_features)
        return cls([], extractor, weights, stored.header["decoder"], summary=stored.header["summary"])
