"""What all estimators share: the choice of a solver, the stop rules, and one call of the training loop."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from widemargin._threads import count_threads
from widemargin.errors import WidemarginError
from widemargin.loop import Callback, Score, Stop, fit
from widemargin.problem import Problem
from widemargin.report.progress import Progress
from widemargin.solution import Solution
from widemargin.solvers import SOLVERS, Solver
from widemargin.structures.base import Examples


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators, whose constructors all take these keywords.

    Parameters
    ----------
    solver : the name of a solver (`widemargin.solvers.SOLVERS`), or a solver object
    C : trade-off; multiplies the sum of the slacks
    max_epochs, tol, patience, max_seconds : stop rules; `tol` is the relative duality gap to be proven, `patience`
        counts epochs without a better score on the development data. None switches a rule off.
    n_jobs : threads that decode; −1 uses all cores. The result does not depend on it.
    random_state : a seed; the same seed gives the same weights. None takes a fresh one.
    verbose : show progress, if standard error is a terminal
    """

    solver: str | Solver
    C: float
    max_epochs: int | None
    tol: float | None
    patience: int | None
    max_seconds: float | None
    n_jobs: int | None
    random_state: int | None
    verbose: bool

    def _solve(
        self, examples: Examples, sample_weight: Any, score: Score | None, callbacks: Sequence[Callback]
    ) -> Solution:
        """Train on the compiled examples."""
        problem = Problem(examples, C=self.C, sample_weight=sample_weight, n_threads=count_threads(self.n_jobs))
        stop = Stop(epochs=self.max_epochs, seconds=self.max_seconds, gap=self.tol, patience=self.patience)
        with Progress(tol=self.tol, enabled=bool(self.verbose)) as progress:
            return fit(
                problem,
                self._solver(),
                stop=stop,
                score=score,
                callbacks=[progress, *callbacks],
                seed=self.random_state,
            )

    def _solver(self) -> Solver:
        if not isinstance(self.solver, str):
            return self.solver
        if self.solver not in SOLVERS:
            raise WidemarginError(f"there is no solver {self.solver!r}; there are {', '.join(SOLVERS)}")
        return SOLVERS[self.solver]

    def _summary(self, solution: Solution) -> dict[str, Any]:
        """What a model file tells of training."""
        simple = str | int | float | bool | None
        known = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name != "verbose"
            and all(isinstance(each, simple) for each in (value if type(value) in (list, tuple) else [value]))
        }
        return {"parameters": known, "solver": str(self.solver), "solution": solution.summary()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")
