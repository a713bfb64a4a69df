"""A trained sequence tagger: labels, features and weights together, without anything of training.

This is what a model file of the structure ``chain`` holds. It needs no scikit-learn, so that a command line that only
predicts starts fast; `estimators.SequenceTagger` wraps it.
"""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from widemargin.calibration import Calibration
from widemargin.chain_answers import ChainAnswers
from widemargin.columns import boundaries
from widemargin.errors import ModelFileError
from widemargin.features.base import Extractor
from widemargin.features.extractors import describe, restore
from widemargin.features.inputs import prepared
from widemargin.labels import are_labels
from widemargin.model import ModelFile, read_model, vector, write_model
from widemargin.sparse import Rows
from widemargin.structures import Chain, ChainExamples, ChainWeights

STRUCTURE = "chain"
DENSE = ("transition", "begin", "end", "conditional")


@dataclass
class Tagger(ChainAnswers):
    """Labels, features and weights of a chain model.

    `summary` is what training had to say of itself: settings, objective, gap, why it stopped, … `calibration` makes
    confidence a probability, once there has been one.
    """

    labels: list[Any]
    extractor: Extractor
    weights: ChainWeights
    summary: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    @property
    def chain(self) -> Chain:
        """The layout of the weights."""
        return Chain(len(self.labels), self.extractor.n_features, self.extractor.n_transition_features)

    def examples(self, X: Any) -> ChainExamples:
        """Sequences as examples to be decoded."""
        features = self.extractor.transform(prepared(X, self.extractor))
        return ChainExamples(self.chain, features.indptr, features.rows, transition_features=features.transition_rows)

    def compacted(self) -> "Tagger":
        """The same tagger without the features that have no weight at all."""
        weights = self.weights
        counts = np.diff(weights.thin_emission.indptr)
        used = np.concatenate([counts > 0, weights.conditional.any(axis=(1, 2))])
        extractor = self.extractor.keep(used)
        if extractor is None:
            return self
        n = len(counts)
        thin = weights.thin_emission._replace(indptr=boundaries(counts[used[:n]]))
        kept = weights._replace(thin_emission=thin, conditional=weights.conditional[used[n:]])
        return replace(self, extractor=extractor, weights=kept)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without the features that have no weight."""
        tagger = self.compacted()
        described, tensors = describe(tagger.extractor)
        header = {"structure": STRUCTURE, "labels": self.labels, "features": described, "summary": self.summary}
        if self.calibration is not None:
            header["calibration"] = self.calibration.described()
        weights = tagger.weights
        tensors |= {f"weights.{name}": getattr(weights, name) for name in DENSE}
        tensors |= {f"weights.emission.{name}": part for name, part in weights.thin_emission._asdict().items()}
        write_model(path, header, tensors)

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
            dense = {part: tensors[f"weights.{part}"] for part in DENSE}
            thin = Rows(
                vector(tensors, "weights.emission.indptr", np.int64),
                vector(tensors, "weights.emission.indices", np.int32),
                vector(tensors, "weights.emission.values", np.float64),
            )
            labels = header["labels"]
            weights = ChainWeights(np.empty((0, len(labels))), thin_emission=thin, **dense)
            calibration = Calibration.restored(header["calibration"]) if "calibration" in header else None
            tagger = cls(labels, restore(header["features"], tensors), weights, header["summary"], calibration)
            tagger._check()
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ModelFileError(f"the model {name} is damaged: its parts do not fit together") from None
        return tagger

    def _check(self) -> None:
        """Raise ValueError unless every index is within bounds: kernels do not check."""
        chain, weights, n = self.chain, self.weights, len(self.labels)
        indptr, indices, values = weights.thin_emission
        shapes = {"transition": (n, n), "begin": (n,), "end": (n,), "conditional": (chain.n_transition_features, n, n)}
        sound = (
            are_labels(self.labels)
            and all(getattr(weights, part).shape == shape for part, shape in shapes.items())
            and all(getattr(weights, part).dtype == np.float64 for part in DENSE)
            and len(indptr) == chain.n_features + 1
            and indptr[0] == 0
            and indptr[-1] == len(indices) == len(values)
            and bool((np.diff(indptr) >= 0).all())
            and (len(indices) == 0 or 0 <= indices.min() <= indices.max() < n)
        )
        if not sound:
            raise ValueError
