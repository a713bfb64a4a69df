"""Estimators by their abilities: names of features, probabilities, alternatives, confidence, spans."""

from typing import Any, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import AnyArray, FloatMatrix
from widemargin.metrics import sequence_scorer
from widemargin.tasks.answers import Answers, Ranked, SureSpan
from widemargin.tasks.base import Model
from widemargin.tasks.calibration import CalibrationReport
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.estimator import Estimator, joinable
from widemargin.text.inputs import drain

M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Answers)


class NamedEstimator(Estimator[M]):
    """An estimator whose features have names."""

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The names of the features, in the order of their weights; `input_features` is ignored."""
        self._check_fitted()
        model: Any = self.model_
        return np.array(model.extractor.names(), dtype=object)


class ProbableEstimator(Estimator[M]):
    """An estimator whose model gives probabilities, by its objective or by calibration (`tasks.answers`)."""

    def predict_minimum_risk(self, X: Any) -> Any:
        """The outputs with the least expected error: their parts are likely one by one."""
        return self._ask("predict_minimum_risk", X)

    def expected_counts(self, X: Any) -> Any:
        """The expected number of parts with each of the `classes_`, a row per input."""
        return self._ask("expected_counts", X)[:, self._order]


class TreeEstimator(ProbableEstimator[M]):
    """An estimator of trees, whose model may tag words by itself (`tasks.trees`)."""

    tags: Any

    @property
    def taggers_(self) -> dict[str, Model]:
        """The taggers that the model carries, by the column that each fills in."""
        self._check_fitted()
        return dict(self.model_.taggers)  # type: ignore[attr-defined]  # only models of trees have them

    def _inputs(self, X: Any) -> Any:
        """Sentences with their tags, predicted or given as the parameter `tags` says."""
        self._check_fitted()
        return self.model_.with_columns(self._read(X), self.tags)  # type: ignore[attr-defined]


class AnsweringEstimator(Estimator[A]):
    """An estimator whose model also gives alternatives, confidence and constrained outputs (`tasks.answers`)."""

    def predict(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The best output for every input, among those that meet the `constraints`."""
        return joinable(self._ask("predict", X, constraints=constraints))

    def predict_best(self, X: Any, k: int, constraints: Constraints | None = None) -> list[list[Ranked]]:
        """The `k` best outputs for every input with their scores, best first; fewer if fewer exist."""
        return self._ask("predict_best", X, k, constraints=constraints)

    def confidence(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The probability that each prediction is right; the model must be calibrated."""
        return self._ask("confidence", X, constraints=constraints)

    def max_marginals(self, X: Any) -> Any:
        """For each position of every sequence, the best score with each of the `classes_` there."""
        order = self._order
        return [best[..., order] for best in self._ask("max_marginals", X)]

    def calibrate(self, X: Any, y: Any) -> CalibrationReport:
        """Learn to turn margins into probabilities, from labelled data not used for training.

        `save` keeps the calibration, `fit` discards it. The report says how well confidence and truth agree afterwards.
        """
        return self._ask("calibrate", X, self._read(y))


class TokenEstimator(AnsweringEstimator[A], ProbableEstimator[A], NamedEstimator[A]):
    """An estimator that labels tokens, and hence marks spans."""

    def _read(self, values: Any) -> Any:
        return drain(values, nested=True)

    def predict_proba(self, X: Any, constraints: Constraints | None = None) -> list[FloatMatrix]:
        """For each token of every sequence, the probability of each of the `classes_`, under the `constraints`.

        The model must be calibrated, or trained with `likelihood` or `softmax-margin`.
        """
        order = self._order
        return [each[:, order] for each in self._ask("predict_proba", X, constraints=constraints)]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """{(feature, label): weight}, without weights of zero."""
        model: Any = self.model_
        found: dict[tuple[str, Any], float] = model.state_features()
        return found

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """{(label, next label): weight}, without weights of zero."""
        model: Any = self.model_
        found: dict[tuple[Any, Any], float] = model.transition_features()
        return found

    def _score(self, metric: str, X: Any, y: Any, sample_weight: Any) -> float:
        X = self._inputs(X)
        model: Any = self.model_
        gold, predicted = model.gold_and_predicted(X, self._read(y), count_threads(self.n_jobs))
        return sequence_scorer(metric).measure(gold, predicted, sample_weight)

    def predict_marginals(self, X: Any, constraints: Constraints | None = None) -> list[list[dict[Any, float]]]:
        """As `predict_proba`, with a dict from labels to probabilities for each token."""
        labels = self.classes_.tolist() if self.__sklearn_is_fitted__() else []
        return [
            [dict(zip(labels, row, strict=True)) for row in rows.tolist()]
            for rows in self.predict_proba(X, constraints)
        ]

    def predict_marginals_single(self, x: Any, constraints: Constraints | None = None) -> list[dict[Any, float]]:
        """As `predict_marginals`, for one sequence."""
        return self.predict_marginals([x], constraints)[0]

    def predict_spans(self, X: Any, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The predicted spans of every sequence, each with the probability that it is right; None if not calibrated.

        The labels must mark spans.
        """
        return self._ask("predict_spans", X, constraints=constraints)
