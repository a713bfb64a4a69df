"""A trained sequence tagger: labels, features and weights together, without anything of training.

This is what a model file of the structure ``chain`` holds. It needs no scikit-learn, so that a command line that only
predicts starts fast; `estimators.SequenceTagger` wraps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.answers.chain import ChainAnswers
from widemargin.features.base import Arrays, Extractor
from widemargin.features.extractors import describe, restore
from widemargin.features.inputs import prepared
from widemargin.features.template_extractor import TemplateExtractor
from widemargin.labels import are_labels
from widemargin.predictors.base import TokenPredictor, are_numbers, are_rows, packed_rows, selected_rows, stored_rows
from widemargin.structures import Chain, ChainExamples, ChainWeights

DENSE = ("transition", "begin", "end", "conditional")


@dataclass
class Tagger(ChainAnswers, TokenPredictor):
    """Labels, features and weights of a chain model."""

    structure = "chain"
    predicts = "label sequences"

    extractor: Extractor
    weights: ChainWeights

    @property
    def chain(self) -> Chain:
        """The layout of the weights."""
        return Chain(len(self.labels), self.extractor.n_features, self.extractor.n_transition_features)

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights.flat()

    @property
    def sizes(self) -> dict[str, int]:
        """How much of everything there is."""
        chain = self.chain
        return {
            "labels": chain.n_labels,
            "features": chain.n_features,
            "transition_features": chain.n_transition_features,
            "weights": chain.n_weights,
        }

    @property
    def code_names(self) -> list[str]:
        """The labels as strings."""
        return [str(label) for label in self.labels]

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that the templates look at."""
        return self.extractor.columns_read if isinstance(self.extractor, TemplateExtractor) else []

    def examples(self, X: Any) -> ChainExamples:
        """Sequences as examples to be decoded."""
        features = self.extractor.transform(prepared(X, self.extractor))
        return ChainExamples(self.chain, features.indptr, features.rows, transition_features=features.transition_rows)

    def compacted(self) -> "Tagger":
        """The same tagger without the features that have no weight at all."""
        weights = self.weights
        used = np.concatenate([np.diff(weights.thin_emission.indptr) > 0, weights.conditional.any(axis=(1, 2))])
        extractor = self.extractor.keep(used)
        if extractor is None:
            return self
        n = self.extractor.n_features
        thin = selected_rows(weights.thin_emission, used[:n])
        kept = weights._replace(thin_emission=thin, conditional=weights.conditional[used[n:]])
        return replace(self, extractor=extractor, weights=kept)

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = describe(self.extractor)
        tensors |= {f"weights.{name}": getattr(self.weights, name) for name in DENSE}
        return {"features": described}, tensors | packed_rows("weights.emission", self.weights.thin_emission)

    @classmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> "Tagger":
        labels, thin = header["labels"], stored_rows("weights.emission", tensors)
        dense = {part: tensors[f"weights.{part}"] for part in DENSE}
        weights = ChainWeights(np.empty((0, len(labels))), thin_emission=thin, **dense)
        return cls(labels, restore(header["features"], tensors), weights, summary=header["summary"])

    def _is_sound(self) -> bool:
        chain, weights, n = self.chain, self.weights, len(self.labels)
        shapes = {"transition": (n, n), "begin": (n,), "end": (n,), "conditional": (chain.n_transition_features, n, n)}
        return (
            are_labels(self.labels)
            and all(are_numbers(getattr(weights, part), shape) for part, shape in shapes.items())
            and are_rows(weights.thin_emission, chain.n_features, n)
        )
