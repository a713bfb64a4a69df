"""Training of classifiers: one class, or any number of labels, for each row of a matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, IntMatrix, IntVector
from widemargin.classifier import Classifier, LinearModel, MultilabelModel
from widemargin.errors import DataError, WidemarginError
from widemargin.features.matrices import MatrixExtractor
from widemargin.label_sets import class_numbers, indicators, set_costs
from widemargin.labels import cost_matrix
from widemargin.loop import Callback, Score
from widemargin.online import Online
from widemargin.problem import checked_weights, predict
from widemargin.solution import Solution
from widemargin.sparse import Rows
from widemargin.structures import ClassExamples, MultilabelExamples, multilabel
from widemargin.training.base import TrainingParameters, TrainingSettings

Model = TypeVar("Model", bound=LinearModel)


@dataclass(kw_only=True, repr=False, eq=False)
class LinearParameters(TrainingParameters):
    """What there is to choose for linear classifiers.

    Parameters
    ----------
    fit_intercept : whether labels have a bias, which is a weight like the others
    intercept_scaling : the value of the feature that the bias belongs to; the larger, the less the penalty on it counts
    costs : how bad errors are; what is not named costs 1
    """

    C: float = 1.0
    tol: float | None = 0.001
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    costs: Mapping[Any, float] | None = None

    @property
    def _intercept(self) -> float:
        if not self.fit_intercept:
            return 0.0
        if not (np.isfinite(self.intercept_scaling) and self.intercept_scaling > 0):
            raise WidemarginError(f"intercept_scaling must be a positive number, not {self.intercept_scaling!r}")
        return float(self.intercept_scaling)


@dataclass(kw_only=True, repr=False, eq=False)
class ClassifierParameters(LinearParameters):
    """What there is to choose for a classifier; costs are ``{(gold, predicted): cost}`` or ``{gold: cost}``.

    Parameters
    ----------
    class_weight : how much the examples of each class count, ``{class: weight}`` with 1 for the others; or
        ``"balanced"``, so that all classes count the same in sum
    """

    class_weight: Mapping[Any, float] | str | None = None


@dataclass(kw_only=True, repr=False, eq=False)
class MultilabelParameters(LinearParameters):
    """What there is to choose for sets of labels; costs are ``{label: cost}``.

    Parameters
    ----------
    pairwise : whether pairs of labels have weights, too: which labels go together
    """

    pairwise: bool = True


@dataclass(frozen=True)
class ClassifyingTask(Generic[Model]):
    """Training data compiled to arrays: labels, features, examples and their weights, the development score if any."""

    kind: type[Model]
    labels: list[Any]
    extractor: MatrixExtractor
    examples: ClassExamples | MultilabelExamples
    sample_weight: FloatVector
    score: Score | None = None

    def model(self, solution: Solution, settings: TrainingSettings) -> Model:
        """The classifier with the weights of `solution`, which training with `settings` has found."""
        linear = self.examples.linear
        W, pairs = solution.w[: linear.n_linear].reshape(-1, len(self.labels)), solution.w[linear.n_linear :]
        bias = linear.intercept * W[-1] if linear.intercept else np.zeros(len(self.labels))
        W = W[: linear.n_features].copy()
        return self.kind(self.labels, self.extractor, W, bias, pairs.copy(), settings.summary(solution))


class LinearSettings(LinearParameters, TrainingSettings, Generic[Model]):
    """Parameters that can train a classifier of either kind."""

    def train(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> tuple[Model, Solution]:
        """A classifier for rows like those of the matrix `X`, labelled like `y`."""
        task = self.compile(X, y, sample_weight, dev)
        solution = self.solve(task.examples, task.sample_weight, task.score, callbacks, **options)
        return task.model(solution, self), solution

    def train_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[tuple[Model, Solution]]:
        """A classifier for every one of the `C`."""
        task = self.compile(X, y, sample_weight, dev)
        points = self.solve_path(task.examples, C, task.sample_weight, task.score)
        return [(task.model(solution, replace(self, C=each)), solution) for each, solution in points]

    def learn(
        self, online: "OnlineClassifying[Model] | None", X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "OnlineClassifying[Model]":
        """One epoch over a piece of the data, the first where `online` is None."""
        before = None if online is None else online.task
        labels = before.labels if before is not None else None if classes is None else np.unique(classes).tolist()
        if before is not None and classes is not None and np.unique(classes).tolist() != before.labels:
            raise DataError("the classes are others than those of the first call")
        task = self.compile(X, y, sample_weight, labels=labels)
        if before is not None and task.extractor.n_features != before.extractor.n_features:
            raise DataError(
                f"X has {task.extractor.n_features} features, but the pieces before had {before.extractor.n_features}"
            )
        run = self.online(None if online is None else online.run)
        solution = run.learn(self.problem(task.examples, task.sample_weight))
        return OnlineClassifying(run, task, solution)

    def compile(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        labels: list[Any] | None = None,
    ) -> ClassifyingTask[Model]:
        """Features and labels as arrays; `labels` are those of `y` if None."""
        raise NotImplementedError


@dataclass
class OnlineClassifying(Generic[Model]):
    """A classifier that learns piece by piece: the solver at work, the last piece, and what has come of all of them."""

    run: Online
    task: ClassifyingTask[Model]
    solution: Solution


class ClassifierSettings(ClassifierParameters, LinearSettings[Classifier]):
    """Parameters that can train a classifier."""

    def compile(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        labels: list[Any] | None = None,
    ) -> ClassifyingTask[Classifier]:
        """Features and classes as arrays; `labels` are those of `y` if None."""
        extractor = MatrixExtractor()
        features = extractor.fit([X]).rows
        labels, gold = class_numbers(y, labels)
        if len(labels) < 2:
            raise DataError(f"there is only one class, {labels[0]!r}; at least two are needed to tell them apart")
        _check_lengths(features, gold)
        n, intercept = extractor.n_features, self._intercept
        examples = ClassExamples(
            features, n, len(labels), gold, costs=cost_matrix(self.costs, labels), intercept=intercept
        )
        score = None
        if dev is not None:
            dev_examples = ClassExamples(extractor.transform([dev[0]]).rows, n, len(labels), intercept=intercept)
            known = {label: code for code, label in enumerate(labels)}
            dev_gold = np.array([known.get(label, -1) for label in np.asarray(dev[1]).tolist()], dtype=np.int32)
            score = self._score(dev_examples, dev_gold)
        weight = checked_weights(sample_weight, len(gold))
        return ClassifyingTask(
            Classifier, labels, extractor, examples, weight * self._weights(labels, gold, weight), score
        )

    def _weights(self, labels: list[Any], gold: IntVector, sample_weight: FloatVector) -> FloatVector:
        """What the class of every example adds to its weight."""
        of_class = np.ones(len(labels))
        if self.class_weight == "balanced":
            sums = np.bincount(gold, sample_weight, len(labels))
            of_class = sums.sum() / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1.0))
        elif isinstance(self.class_weight, Mapping):
            for label, weight in self.class_weight.items():
                if label not in labels:
                    raise DataError(f"class_weight names the class {label!r}, which the training data do not have")
                of_class[labels.index(label)] = weight
        elif self.class_weight is not None:
            raise DataError(f"class_weight must be a dict, 'balanced' or None, not {self.class_weight!r:.60}")
        return checked_weights(of_class, len(labels))[gold]

    def _score(self, examples: ClassExamples, gold: IntVector) -> Score:
        """The share of right classes as a function of the weights."""
        n_threads = count_threads(self.n_jobs)

        def score(w: FloatVector) -> float:
            return float(np.mean(np.concatenate(predict(examples, w, n_threads)) == gold))

        return score


class MultilabelSettings(MultilabelParameters, LinearSettings[MultilabelModel]):
    """Parameters that can train a classifier of sets of labels."""

    def compile(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        labels: list[Any] | None = None,
    ) -> ClassifyingTask[MultilabelModel]:
        """Features and sets of labels as arrays; `labels` are those of `y` if None."""
        extractor = MatrixExtractor()
        features = extractor.fit([X]).rows
        labels, gold = indicators(y, labels)
        _check_lengths(features, gold)
        kind, n, intercept = multilabel(len(labels), pairwise=self.pairwise), extractor.n_features, self._intercept
        examples = kind(features, n, len(labels), gold, costs=set_costs(self.costs, labels), intercept=intercept)
        score = None
        if dev is not None:
            dev_examples = kind(extractor.transform([dev[0]]).rows, n, len(labels), intercept=intercept)
            score = self._score(dev_examples, indicators(dev[1], labels)[1])
        weight = checked_weights(sample_weight, len(gold))
        return ClassifyingTask(MultilabelModel, labels, extractor, examples, weight, score)

    def _score(self, examples: MultilabelExamples, gold: IntMatrix) -> Score:
        """F1 of the labels, over all examples, as a function of the weights."""
        n_threads = count_threads(self.n_jobs)

        def score(w: FloatVector) -> float:
            predicted = np.concatenate(predict(examples, w, n_threads))
            return float(2.0 * (predicted * gold).sum() / max(predicted.sum() + gold.sum(), 1))

        return score


def _check_lengths(features: Rows, gold: IntVector | IntMatrix) -> None:
    if len(features.indptr) - 1 != len(gold):
        raise DataError(f"X has {len(features.indptr) - 1} rows, but y has {len(gold)}")
