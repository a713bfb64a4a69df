"""Trained classifiers: labels, features and weights.

Model files call their structures ``classes`` and ``multilabel``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix
from widemargin.core.header import Fields, names, record
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.examples import WithSums
from widemargin.tasks.answers import Answers, Probable, Ranked, above_least, checked_k, together, weights_at
from widemargin.tasks.calibration import Judged, Margins, Tempered
from widemargin.tasks.classify.examples import ClassExamples, MultilabelExamples, multilabel_kind
from widemargin.tasks.constraints import Constraints, check_possible
from widemargin.text.inputs import describe
from widemargin.text.matrices import MatrixExtractor, in_shares


@dataclass
class LinearModel(Probable):
    """A trained classifier of either kind.

    `W` is features × labels. `bias` has one number per label, `pairs` one per pair of labels, or none at all.
    """

    fields: ClassVar[Fields] = {"labels": names(str, int, float, bool, at_least=1), "features": record({})}
    several: ClassVar[bool]
    """Whether an example may have several labels."""

    extractor: MatrixExtractor
    W: FloatMatrix
    bias: FloatVector
    pairs: FloatVector

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, features and weights."""
        return {"labels": len(self.labels), "features": self.extractor.n_features, "weights": len(self.w)}

    @property
    def w(self) -> FloatVector:
        """All weights as one vector, in the order of the structure with an intercept of 1."""
        return np.concatenate([self.W.ravel(), self.bias, self.pairs])

    @abstractmethod
    def examples(self, X: Any) -> Any:
        """The rows of the matrix `X` as examples to be decoded."""

    def predict_codes(self, X: Any, n_threads: int = 1) -> Any:
        """The outputs of all rows of the matrix `X`, in the encoding of the structure."""
        w = self.w
        return np.concatenate([each for part in in_shares(X) for each in predict(self.examples(part), w, n_threads)])

    def expected_counts(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The probabilities, since a row has each label once or not at all."""
        return self.predict_proba(X, n_threads)

    def likely(self, X: Any, n_threads: int = 1, **limits: Any) -> list[dict[str, Any]]:
        """The probabilities of the labels of every row."""
        rows = self.predict_proba(X, n_threads, **limits).tolist()
        return [{"probabilities": above_least(self.labels, row)} for row in rows]

    def compact(self) -> Self:
        """The same model without features whose weights are all zero."""
        used = (self.W != 0.0).any(axis=1)
        return replace(self, extractor=self.extractor.keep(used), W=self.W[used])

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = describe(self.extractor)
        return {"features": described}, tensors | {"weights": self.W, "bias": self.bias, "pairs": self.pairs}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        labels, extractor = stored.header["labels"], MatrixExtractor.restore(stored.part("features"))
        n = len(labels)
        W = stored.tensor("weights", np.float64, (extractor.n_features, n))
        bias, pairs = stored.vector("bias", np.float64, n), stored.vector("pairs", np.float64)
        if len(pairs):
            stored.vector("pairs", np.float64, n * (n - 1) // 2)
        return cls(labels, extractor, W, bias, pairs, summary=stored.header["summary"])


class Classifier(LinearModel, Answers):
    """One class out of several for each row of a matrix; all answers follow from the matrix of scores.

    Classes support only the `allowed` constraint: for each row, a set of classes, or None.
    """

    kind = "classes"
    predicts = "classes"
    several = False

    def examples(self, X: Any) -> ClassExamples:
        """The rows of the matrix `X` as examples to be decoded."""
        return ClassExamples(self.extractor.rows(X), self.extractor.n_features, len(self.labels), intercept=1.0)

    def scores(self, X: Any) -> FloatMatrix:
        """The score of every class for every row."""
        w, found = self.w, []
        for part in in_shares(X):
            examples = self.examples(part)
            found.append(examples.max_marginals(w, np.arange(examples.n_examples, dtype=np.int32)))
        return np.concatenate(found)

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Any]:
        """The class of every row."""
        return [self.labels[code] for code in self._margins(X, constraints).codes.tolist()]

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best classes of every row, best first; fewer if fewer are allowed."""
        scores = self._scores_under(X, constraints)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : checked_k(k)]
        return [
            [Ranked(row[c], self.labels[c]) for c in best if row[c] > -np.inf]
            for row, best in zip(scores.tolist(), order.tolist(), strict=True)
        ]

    def answers(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, best: int | None, confidence: bool
    ) -> list[dict[str, Any]]:
        """One dict per example: its class and, if wanted, the confidence in it and `best` alternatives."""
        parts: list[list[dict[str, Any]]] = [[{"label": label} for label in self.predict(X, n_threads, constraints)]]
        if confidence:
            parts.append([{"confidence": each} for each in self.confidence(X, n_threads, constraints).tolist()])
        if best is not None:
            ranked = self.predict_best(X, best, n_threads, constraints)
            parts.append([{"alternatives": [{"score": s, "label": label} for s, label in each]} for each in ranked])
        return together(*parts)

    def max_marginals(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The score of every class for every row."""
        return self.scores(X)

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> FloatVector:
        """For each predicted class, the probability that it is right."""
        return self.curve("labels")(self._margins(X, constraints).of_labels())

    def predict_proba(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> FloatMatrix:
        """The probability of every class for every row."""
        return _softmax(self.beta * self._scores_under(X, constraints))

    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> list[Any]:
        """The most probable classes, which are those with the best scores."""
        self.check_probable()
        return self.predict(X, n_threads)

    def judge(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The classes predicted for `X`, judged by `y`."""
        margins = self._margins(X)
        if len(margins.codes) != len(y):
            raise DataError(f"there are {len(margins.codes)} examples, but {len(y)} classes")
        # Compared as strings, because classes read from a file are strings.
        right = [str(self.labels[c]) == str(g) for c, g in zip(margins.codes.tolist(), y, strict=True)]
        return {"labels": Judged.of([margins.of_labels()], right)} if right else {}

    def temper(self, X: Any, y: Any, n_threads: int = 1) -> Tempered:
        """The probabilities of all classes, and which are right."""
        scores = self.scores(X)
        right = np.array([list(map(str, self.labels))]) == np.array(list(map(str, y)))[:, None]
        return Tempered(lambda beta: _softmax(beta * scores), right)

    def _margins(self, X: Any, constraints: Constraints | None = None) -> Margins:
        scores = self._scores_under(X, constraints)
        return Margins.of(scores.argmax(axis=1).astype(np.int32), scores)

    def _scores_under(self, X: Any, constraints: Constraints | None) -> FloatMatrix:
        scores = self.scores(X)
        if constraints is None:
            return scores
        if constraints != Constraints(allowed=constraints.allowed):
            raise UnsupportedError("classes support only the `allowed` constraint")
        sets: Sequence[Any] | None = constraints.allowed
        rows = None if sets is None else [None if each is None else [each] for each in sets]
        number = {label: k for k, label in enumerate(self.labels)}
        possible = replace(constraints, allowed=rows).possible_labels([1] * len(scores), number)
        scores = np.where(possible, scores, -np.inf)
        check_possible(np.arange(len(scores), dtype=np.int32), scores.max(axis=1, initial=-np.inf))
        return scores


def _softmax(scores: FloatMatrix) -> FloatMatrix:
    """Probabilities in proportion to the exponentials of the scores, row by row."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(axis=1, keepdims=True)


class MultilabelModel(LinearModel):
    """Any number of labels for each row of a matrix."""

    kind = "multilabel"
    predicts = "sets of labels"
    several = True

    def examples(self, X: Any) -> MultilabelExamples:
        """The rows of the matrix `X` as examples to be decoded."""
        kind = multilabel_kind(len(self.labels), pairwise=len(self.pairs) > 0)
        return kind(self.extractor.rows(X), self.extractor.n_features, len(self.labels), intercept=1.0)

    def predict(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The labels of every row."""
        sets: IntMatrix = self.predict_codes(X, n_threads)
        return [[label for label, has in zip(self.labels, row, strict=True) if has] for row in sets.tolist()]

    def predict_proba(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The probability of every label for every row."""
        w, found = weights_at(self.w, self.beta), []
        for part in in_shares(X):
            examples = self.examples(part)
            if not isinstance(examples, WithSums):
                n = len(self.labels)
                raise UnsupportedError(f"the sets of {n} labels with pairs are too many to be summed over")
            found.append(examples.probabilities(w, np.arange(examples.n_examples, dtype=np.int32))[0])
        return np.concatenate(found)

    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The labels with a probability above 0.5, which minimise the expected number of wrong labels."""
        rows = self.predict_proba(X, n_threads).tolist()
        return [[label for label, p in zip(self.labels, row, strict=True) if p > 0.5] for row in rows]
