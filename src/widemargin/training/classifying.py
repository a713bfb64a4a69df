"""Training of classifiers: one class, or any number of labels, for each row of a matrix."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import AnyArray, FloatVector, IntMatrix, IntVector
from widemargin.errors import DataError, WidemarginError
from widemargin.features.matrices import MatrixExtractor
from widemargin.label_sets import class_numbers, indicators, set_costs
from widemargin.labels import cost_matrix
from widemargin.loop import Score
from widemargin.online import Online
from widemargin.predictors.classifier import Classifier, LinearModel, MultilabelModel
from widemargin.problem import checked_weights, predict
from widemargin.solution import Solution
from widemargin.sparse import Rows
from widemargin.structures import ClassExamples, MultilabelExamples, multilabel_kind
from widemargin.structures.base import Examples
from widemargin.training.base import ModelSettings, Trained, TrainingParameters, TrainingSettings

Model = TypeVar("Model", bound=LinearModel)
FEW_WEIGHTS = 200


@dataclass(kw_only=True, repr=False, eq=False)
class LinearParameters(TrainingParameters):
    """What there is to choose for linear classifiers; where weights are few, the solver ``"auto"`` is ``"bundle"``.

    Parameters
    ----------
    fit_intercept : whether labels have a bias, which is a weight like the others
    intercept_scaling : the value of the feature that the bias belongs to; the larger, the less the penalty on it counts
    costs : how bad errors are; what is not named costs 1
    """

    C: float = 1.0
    max_epochs: int | None = 1000
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
    """Training data compiled to arrays: labels, features, examples, and the development score if there is one."""

    kind: type[Model]
    labels: list[Any]
    extractor: MatrixExtractor
    examples: ClassExamples | MultilabelExamples
    score: Score | None = None

    def model(self, solution: Solution, settings: TrainingSettings) -> Model:
        """The classifier with the weights of `solution`, which training with `settings` has found."""
        linear = self.examples.linear
        W, pairs = solution.w[: linear.n_linear].reshape(-1, len(self.labels)), solution.w[linear.n_linear :]
        bias = linear.intercept * W[-1] if linear.intercept else np.zeros(len(self.labels))
        W, summary = W[: linear.n_features].copy(), settings.summary(solution)
        return self.kind(self.labels, self.extractor, W, bias, pairs.copy(), summary=summary)


class LinearSettings(LinearParameters, ModelSettings[Model]):
    """Parameters that can train a classifier of either kind."""

    def _run(self, train: Callable[..., Trained], examples: Examples, *arguments: Any, **options: Any) -> Trained:
        settings = self
        if self.solver == "auto" and examples.n_weights <= FEW_WEIGHTS:
            # A few planes under the whole objective describe it; block by block, `auto` would take many epochs.
            settings = replace(self, solver="bundle", loss=self.problem(examples).loss)
        return super(LinearSettings, settings)._run(train, examples, *arguments, **options)

    @abstractmethod
    def compile(
        self, X: Any, y: Any, dev: tuple[Any, Any] | None = None, labels: list[Any] | None = None
    ) -> ClassifyingTask[Model]:
        """The rows of a matrix and their labels as arrays; `labels` are those of `y` if None."""

    def learn(
        self, online: "OnlineClassifying[Model] | None", X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "OnlineClassifying[Model]":
        """One epoch over a piece of the data, the first where `online` is None."""
        labels = None if classes is None else np.unique(classes).tolist()
        if online is not None:
            if labels is not None and labels != online.task.labels:
                raise DataError("the classes are others than those of the first call")
            labels = online.task.labels
        task = self.compile(X, y, labels=labels)
        run = self.online(None if online is None else online.run)
        return OnlineClassifying(run, task, run.learn(self.problem(task.examples, sample_weight)))


@dataclass
class OnlineClassifying(Generic[Model]):
    """A classifier that learns piece by piece: the solver at work, the last piece, and what has come of all of them."""

    run: Online
    task: ClassifyingTask[Model]
    solution: Solution


class ClassifierSettings(ClassifierParameters, LinearSettings[Classifier]):
    """Parameters that can train a classifier."""

    def compile(
        self, X: Any, y: Any, dev: tuple[Any, Any] | None = None, labels: list[Any] | None = None
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
        return ClassifyingTask(Classifier, labels, extractor, examples, score)

    def train(
        self, X: Any, y: Any, sample_weight: Any = None, *rest: Any, **options: Any
    ) -> tuple[Classifier, Solution]:
        """A classifier for rows like those of `X`; see `widemargin.LinearClassifier.fit`."""
        return super().train(*merged(X, y, self.weighed(y, sample_weight)), *rest, **options)

    def train_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[tuple[Classifier, Solution]]:
        """A classifier for every one of the `C`; see `widemargin.LinearClassifier.fit_path`."""
        X, y, sample_weight = merged(X, y, self.weighed(y, sample_weight))
        return super().train_path(X, y, C, sample_weight, dev)

    def weighed(self, y: Any, sample_weight: Any) -> Any:
        """The weights of examples, times those of their classes."""
        if self.class_weight is None:
            return sample_weight
        labels, gold = class_numbers(y)
        weight = checked_weights(sample_weight, len(gold))
        of_class = np.ones(len(labels))
        if self.class_weight == "balanced":
            sums = np.bincount(gold, weight, len(labels))
            of_class = sums.sum() / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1.0))
        elif isinstance(self.class_weight, Mapping):
            for label, each in self.class_weight.items():
                if label not in labels:
                    raise DataError(f"class_weight names the class {label!r}, which the training data do not have")
                of_class[labels.index(label)] = each
        else:
            raise DataError(f"class_weight must be a dict, 'balanced' or None, not {self.class_weight!r:.60}")
        return weight * of_class[gold]

    def _score(self, examples: ClassExamples, gold: IntVector) -> Score:
        """The share of right classes as a function of the weights."""
        n_threads = count_threads(self.n_jobs)

        def score(w: FloatVector) -> float:
            return float(np.mean(np.concatenate(predict(examples, w, n_threads)) == gold))

        return score


class MultilabelSettings(MultilabelParameters, LinearSettings[MultilabelModel]):
    """Parameters that can train a classifier of sets of labels."""

    def compile(
        self, X: Any, y: Any, dev: tuple[Any, Any] | None = None, labels: list[Any] | None = None
    ) -> ClassifyingTask[MultilabelModel]:
        """Features and sets of labels as arrays; `labels` are those of `y` if None."""
        extractor = MatrixExtractor()
        features = extractor.fit([X]).rows
        labels, gold = indicators(y, labels)
        _check_lengths(features, gold)
        kind, n, intercept = multilabel_kind(len(labels), pairwise=self.pairwise), extractor.n_features, self._intercept
        examples = kind(features, n, len(labels), gold, costs=set_costs(self.costs, labels), intercept=intercept)
        score = None
        if dev is not None:
            dev_examples = kind(extractor.transform([dev[0]]).rows, n, len(labels), intercept=intercept)
            score = self._score(dev_examples, indicators(dev[1], labels)[1])
        return ClassifyingTask(MultilabelModel, labels, extractor, examples, score)

    def _score(self, examples: MultilabelExamples, gold: IntMatrix) -> Score:
        """F1 of the labels, over all examples, as a function of the weights."""
        n_threads = count_threads(self.n_jobs)

        def score(w: FloatVector) -> float:
            predicted = np.concatenate(predict(examples, w, n_threads))
            return float(2.0 * (predicted * gold).sum() / max(predicted.sum() + gold.sum(), 1))

        return score


def merged(X: Any, y: Any, sample_weight: Any) -> tuple[Any, AnyArray, FloatVector]:
    """Every distinct example once, with the sum of its weights, in an order of their own.

    So an example that is repeated is the same to the last digit as one that weighs more, and the order of examples does
    not matter.
    """
    from scipy import sparse  # slow to import

    rows, labels = sparse.csr_array(X, dtype=np.float64, copy=True), np.asarray(y)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if labels.shape != (rows.shape[0],):
        return X, labels, sample_weight  # for others to complain about
    weight, numbers = checked_weights(sample_weight, len(labels)), class_numbers(labels)[1]
    keys = [
        (rows.indices[a:b].tobytes(), rows.data[a:b].tobytes(), number)
        for (a, b), number in zip(pairwise(rows.indptr.tolist()), numbers.tolist(), strict=True)
    ]
    # Without examples that do not count, but for classes that have no others.
    kept = np.flatnonzero((weight > 0) | (np.bincount(numbers, weight) == 0)[numbers])
    order = np.array(sorted(kept.tolist(), key=keys.__getitem__))
    first = np.flatnonzero([k == 0 or keys[order[k]] != keys[order[k - 1]] for k in range(len(order))])
    return rows[order[first]], labels[order[first]], np.add.reduceat(weight[order], first)


def _check_lengths(features: Rows, gold: IntVector | IntMatrix) -> None:
    if len(features.indptr) - 1 != len(gold):
        raise DataError(f"X has {len(features.indptr) - 1} rows, but y has {len(gold)}")
