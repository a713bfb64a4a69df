"""What estimators of labels can be asked besides `predict`; all of it is answered by the trained model."""

from typing import Any

from widemargin._threads import count_threads
from widemargin.answers.base import Ranked, SureSpan
from widemargin.answers.calibration import CalibrationReport
from widemargin.answers.constraints import Constraints
from widemargin.estimators.base import Model, ModelEstimator


class AnsweringEstimator(ModelEstimator[Model]):
    """An estimator whose trained model can be asked more than what to predict."""

    n_jobs: int | None

    def predict(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The best output for every input; of those that comply with the `constraints` if there are any."""
        return self._ask("predict", X, constraints=constraints)

    def predict_best(self, X: Any, k: int, constraints: Constraints | None = None) -> list[list[Ranked]]:
        """The `k` best outputs for every input with their scores, best first; fewer where there are no more."""
        return self._ask("predict_best", X, k, constraints=constraints)

    def confidence(self, X: Any, constraints: Constraints | None = None) -> Any:
        """For everything that is predicted, the probability that it is right; the model must have been calibrated."""
        return self._ask("confidence", X, constraints=constraints)

    def max_marginals(self, X: Any) -> Any:
        """For each position of every sequence, the best score with each of the `classes_` there."""
        self._check_fitted()
        order = [self.model_.labels.index(label) for label in self.classes_.tolist()]
        return [best[..., order] for best in self._ask("max_marginals", X)]

    def calibrate(self, X: Any, y: Any) -> CalibrationReport:
        """Learn what a margin means as a probability, from labelled data that were not trained on.

        `fit` forgets it; `save` keeps it. The report says how well confidence and truth agree afterwards.
        """
        return self._ask("calibrate", X, y)

    def _inputs(self, X: Any) -> Any:
        """What is asked about, checked."""
        self._check_fitted()
        return X

    def _ask(self, question: str, X: Any, *more: Any, **options: Any) -> Any:
        X = self._inputs(X)
        return getattr(self.model_, question)(X, *more, n_threads=count_threads(self.n_jobs), **options)


class TokenEstimator(AnsweringEstimator[Model]):
    """An estimator of what tokens are, and so of spans."""

    def predict_spans(self, X: Any, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The spans that are predicted for every sequence, each with the probability that it is right.

        The model must have been calibrated, and its labels must mark spans.
        """
        return self._ask("predict_spans", X, constraints=constraints)
