"""Trained classifiers: labels, features and weights together, without anything of training.

This is what model files of the structures ``classes`` and ``multilabel`` hold. It needs no scikit-learn, so that a
command line that only predicts starts fast; `estimators.LinearClassifier` and `MultilabelClassifier` wrap it.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix
from widemargin.answers.classes import ClassAnswers
from widemargin.features.extractors import describe
from widemargin.features.matrices import MatrixExtractor
from widemargin.model import vector
from widemargin.predictors.base import Arrays, Predictor, are_numbers
from widemargin.problem import predict
from widemargin.sparse import Rows
from widemargin.structures import ClassExamples, MultilabelExamples, multilabel_kind


@dataclass
class LinearModel(Predictor):
    """What both kinds of classifiers share.

    `W` is features × labels, `bias` one number a label, `pairs` one a pair of labels, if there are any.
    """

    extractor: MatrixExtractor
    W: FloatMatrix
    bias: FloatVector
    pairs: FloatVector

    @property
    def sizes(self) -> dict[str, int]:
        """How many labels, features and weights there are."""
        return {"labels": len(self.labels), "features": self.extractor.n_features, "weights": len(self.w)}

    @property
    def w(self) -> FloatVector:
        """All weights as one vector, in the order of the structure with an intercept of 1."""
        return np.concatenate([self.W.ravel(), self.bias, self.pairs])

    @abstractmethod
    def examples(self, X: Any) -> Any:
        """The rows of the matrix `X` as examples to be decoded."""

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1) -> list[Any]:
        """The output for every row of the matrix `X`."""

    def predict_codes(self, X: Any, n_threads: int = 1) -> Any:
        """The outputs of all rows of the matrix `X`, as the structure has them."""
        return np.concatenate(predict(self.examples(X), self.w, n_threads))

    def compacted(self) -> Self:
        """The same model without the features that have no weight at all."""
        used = (self.W != 0.0).any(axis=1)
        return replace(self, extractor=self.extractor.keep(used), W=self.W[used])

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = describe(self.extractor)
        return {"features": described}, tensors | {"weights": self.W, "bias": self.bias, "pairs": self.pairs}

    @classmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> Self:
        extractor = MatrixExtractor.restore(header["features"], tensors)
        bias, pairs = vector(tensors, "bias", np.float64), vector(tensors, "pairs", np.float64)
        return cls(header["labels"], extractor, tensors["weights"], bias, pairs, summary=header["summary"])

    def _is_sound(self) -> bool:
        labels, n = self.labels, len(self.labels)
        return (
            isinstance(labels, list)
            and {type(label) for label in labels} in ({str}, {int}, {float}, {bool})
            and len(set(labels)) == n
            and are_numbers(self.W, (self.extractor.n_features, n))
            and len(self.bias) == n
            and len(self.pairs) in (0, n * (n - 1) // 2)
        )

    def _rows(self, X: Any) -> Rows:
        return self.extractor.transform([X]).rows


class Classifier(ClassAnswers, LinearModel):
    """One class out of several for each row of a matrix."""

    structure = "classes"
    predicts = "classes"

    def examples(self, X: Any) -> ClassExamples:
        """The rows of the matrix `X` as examples to be decoded."""
        return ClassExamples(self._rows(X), self.extractor.n_features, len(self.labels), intercept=1.0)

    def scores(self, X: Any) -> FloatMatrix:
        """The score of every class for every row."""
        examples = self.examples(X)
        return examples.max_marginals(self.w, np.arange(examples.n_examples, dtype=np.int32))


class MultilabelModel(LinearModel):
    """Any number of labels for each row of a matrix."""

    structure = "multilabel"
    predicts = "sets of labels"

    def examples(self, X: Any) -> MultilabelExamples:
        """The rows of the matrix `X` as examples to be decoded."""
        kind = multilabel_kind(len(self.labels), pairwise=len(self.pairs) > 0)
        return kind(self._rows(X), self.extractor.n_features, len(self.labels), intercept=1.0)

    def predict(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The labels of every row."""
        sets: IntMatrix = self.predict_codes(X, n_threads)
        return [[label for label, has in zip(self.labels, row, strict=True) if has] for row in sets.tolist()]
