"""Trained classifiers: labels, features and weights together, without anything of training.

This is what model files of the structures ``classes`` and ``multilabel`` hold. It needs no scikit-learn, so that a
command line that only predicts starts fast; `estimators.LinearClassifier` and `MultilabelClassifier` wrap it.
"""

import os
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.errors import ModelFileError
from widemargin.features.extractors import describe
from widemargin.features.matrices import MatrixExtractor
from widemargin.model import ModelFile, read_model, vector, write_model
from widemargin.problem import predict
from widemargin.sparse import Rows
from widemargin.structures import ClassExamples, MultilabelExamples, multilabel


@dataclass
class LinearModel:
    """What both kinds of classifiers share.

    `W` is features × labels, `bias` one number a label, `pairs` one a pair of labels, if there are any. `summary` is
    what training had to say of itself: settings, objective, gap, why it stopped, …
    """

    structure: ClassVar[str]
    predicts: ClassVar[str]

    labels: list[Any]
    extractor: MatrixExtractor
    W: FloatMatrix
    bias: FloatVector
    pairs: FloatVector
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def w(self) -> FloatVector:
        """All weights as one vector, in the order of the structure with an intercept of 1."""
        return np.concatenate([self.W.ravel(), self.bias, self.pairs])

    @abstractmethod
    def examples(self, features: Rows) -> Any:
        """Examples to be decoded."""

    def predict_codes(self, X: Any, n_threads: int = 1) -> Any:
        """The outputs of all rows of the matrix `X`, as the structure has them."""
        return np.concatenate(predict(self.examples(self._rows(X)), self.w, n_threads))

    def compacted(self) -> Self:
        """The same model without the features that have no weight at all."""
        used = (self.W != 0.0).any(axis=1)
        return replace(self, extractor=self.extractor.keep(used), W=self.W[used])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without the features that have no weight."""
        model = self.compacted()
        described, tensors = describe(model.extractor)
        header = {"structure": self.structure, "labels": self.labels, "features": described, "summary": self.summary}
        write_model(path, header, tensors | {"weights": model.W, "bias": model.bias, "pairs": model.pairs})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file that `save` wrote."""
        return cls.from_file(read_model(path), os.fspath(path))

    @classmethod
    def from_file(cls, file: ModelFile, name: str) -> Self:
        """The classifier in a model file that has been read."""
        header, tensors = file
        if header.get("structure") != cls.structure:
            raise ModelFileError(f"the model {name} predicts {header.get('structure')!r}, not {cls.predicts}")
        try:
            extractor = MatrixExtractor.restore(header["features"], tensors)
            bias, pairs = vector(tensors, "bias", np.float64), vector(tensors, "pairs", np.float64)
            model = cls(header["labels"], extractor, tensors["weights"], bias, pairs, header["summary"])
            model._check()
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ModelFileError(f"the model {name} is damaged: its parts do not fit together") from None
        return model

    def _check(self) -> None:
        """Raise ValueError unless all parts are of the size that the others imply: kernels do not check."""
        labels, n = self.labels, len(self.labels)
        sound = (
            {type(label) for label in labels} in ({str}, {int}, {float}, {bool})
            and len(set(labels)) == n
            and self.W.shape == (self.extractor.n_features, n)
            and self.W.dtype == np.float64
            and len(self.bias) == n
            and len(self.pairs) in (0, n * (n - 1) // 2)
        )
        if not sound:
            raise ValueError

    def _rows(self, X: Any) -> Rows:
        return self.extractor.transform([X]).rows


class Classifier(LinearModel):
    """One class out of several for each row of a matrix."""

    structure = "classes"
    predicts = "classes"

    def examples(self, features: Rows) -> ClassExamples:
        """Examples to be decoded."""
        return ClassExamples(features, self.extractor.n_features, len(self.labels), intercept=1.0)

    def predict(self, X: Any, n_threads: int = 1) -> list[Any]:
        """The class of every row."""
        codes: IntVector = self.predict_codes(X, n_threads)
        return [self.labels[code] for code in codes.tolist()]

    def scores(self, X: Any) -> FloatMatrix:
        """The score of every class for every row."""
        examples = self.examples(self._rows(X))
        return examples.max_marginals(self.w, np.arange(examples.n_examples, dtype=np.int32))


class MultilabelModel(LinearModel):
    """Any number of labels for each row of a matrix."""

    structure = "multilabel"
    predicts = "sets of labels"

    def examples(self, features: Rows) -> MultilabelExamples:
        """Examples to be decoded."""
        kind = multilabel(len(self.labels), pairwise=len(self.pairs) > 0)
        return kind(features, self.extractor.n_features, len(self.labels), intercept=1.0)

    def predict(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The labels of every row."""
        sets: IntMatrix = self.predict_codes(X, n_threads)
        return [[label for label, has in zip(self.labels, row, strict=True) if has] for row in sets.tolist()]
