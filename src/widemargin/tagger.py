"""A trained sequence tagger: labels, features and weights together, without anything of training.

This is what a model file of the structure ``chain`` holds. It needs no scikit-learn, so that a command line that only
predicts starts fast; `estimators.SequenceTagger` wraps it.
"""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.columns import Columns, boundaries, split
from widemargin.errors import ModelFileError
from widemargin.features.base import Extractor
from widemargin.features.extractors import describe, restore
from widemargin.features.inputs import lengths, prepared
from widemargin.model import ModelFile, read_model, write_model
from widemargin.problem import predict
from widemargin.structures.chain import Chain, ChainExamples, ChainWeights

STRUCTURE = "chain"


@dataclass
class Tagger:
    """Labels, features and weights of a chain model.

    `summary` is what training had to say of itself: solver, C, objective, gap, …
    """

    labels: list[Any]
    extractor: Extractor
    w: FloatVector
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def chain(self) -> Chain:
        """The layout of the weights."""
        return Chain(len(self.labels), self.extractor.n_features, self.extractor.n_transition_features)

    @property
    def weights(self) -> ChainWeights:
        """The weights by their parts."""
        return self.chain.parts(self.w)

    def predict_codes(self, X: Any, n_threads: int = 1) -> IntVector:
        """The label numbers of all positions, sequences end to end."""
        X = prepared(X, self.extractor)
        features = self.extractor.transform(X)
        examples = ChainExamples(
            self.chain, features.indptr, features.rows, transition_features=features.transition_rows
        )
        return np.concatenate(predict(examples, self.w, n_threads))

    def predict(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The labels of every sequence."""
        names = self.labels
        flat = [names[code] for code in self.predict_codes(X, n_threads).tolist()]
        return split(flat, X.indptr if isinstance(X, Columns) else boundaries(lengths(X)))

    def compacted(self) -> "Tagger":
        """The same tagger without the features that have no weight at all."""
        parts = self.weights
        used = np.concatenate([parts.emission.any(axis=1), parts.conditional.any(axis=(1, 2))])
        extractor = self.extractor.keep(used)
        if extractor is None:
            return self
        n = len(parts.emission)
        kept = (parts.emission[used[:n]], parts.transition, parts.begin, parts.end, parts.conditional[used[n:]])
        return Tagger(self.labels, extractor, np.concatenate([part.ravel() for part in kept]), self.summary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without the features that have no weight."""
        tagger = self.compacted()
        described, tensors = describe(tagger.extractor)
        header = {"structure": STRUCTURE, "labels": self.labels, "features": described, "summary": self.summary}
        write_model(path, header, {"weights": tagger.w, **tensors})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tagger":
        """Read a model file that `save` wrote."""
        return cls.from_file(read_model(path), os.fspath(path))

    @classmethod
    def from_file(cls, file: ModelFile, name: str) -> "Tagger":
        """The tagger in a model file that has been read."""
        header, tensors = file
        if header.get("structure") != STRUCTURE:
            raise ModelFileError(f"the model {name} predicts {header.get('structure')!r}, not label sequences")
        try:
            extractor = restore(header["features"], tensors)
            tagger = cls(header["labels"], extractor, tensors["weights"], header["summary"])
            if len(tagger.w) != tagger.chain.n_weights:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"the model {name} is damaged: its parts do not fit together") from None
        return tagger
