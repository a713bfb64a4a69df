"""Training settings: every keyword that estimators and the command line share, with its default, in one place.

Parameters are plain dataclasses, which estimators inherit; settings are parameters that can train. Free of
scikit-learn, so that the command line starts fast.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Protocol, TypeVar

from widemargin._threads import count_threads
from widemargin.errors import WidemarginError
from widemargin.loop import Callback, Score, Stop, fit
from widemargin.objectives import OBJECTIVES, Objective
from widemargin.online import Online
from widemargin.path import path_points
from widemargin.problem import Loss, Penalty, Problem
from widemargin.report.progress import Progress
from widemargin.solution import Solution
from widemargin.solvers import Solver, named_solver
from widemargin.structures.base import Examples

Trained = TypeVar("Trained")
Model = TypeVar("Model")
Model_co = TypeVar("Model_co", covariant=True)

STANDS_FOR = {"crf": "likelihood", "softmax-margin": "softmax-margin"}
"""The objective that the name of a solver stands for, where it is not margin scaling."""


@dataclass(kw_only=True, repr=False, eq=False)
class TrainingParameters:
    """What there is to choose whatever the structure.

    Parameters
    ----------
    solver : the name of a solver (`widemargin.solvers.SOLVERS`), perhaps with parameters as in ``"dcd(sweeps=3)"``, or
        a solver object
    C : trade-off; multiplies the sum of the slacks
    objective : the name of an objective (`widemargin.objectives.OBJECTIVES`), or an objective object; None takes the
        one that the solver's name stands for, else ``"margin"``
    loss : ``"squared_hinge"`` or ``"hinge"``; None takes what the solver prefers
    penalty : ``"l2"``, or ``"l1"`` where the solver can
    max_epochs, tol, patience, max_seconds : stop rules; `tol` is the relative duality gap to be proven, `patience`
        counts epochs without a better score on the development data. None switches a rule off.
    n_jobs : threads that decode; −1 uses all cores. The result does not depend on it.
    random_state : a seed; the same seed gives the same weights. None takes a fresh one.
    cut_memory : how many megabytes the cuts that a dual solver keeps may take
    verbose : show progress, if standard error is a terminal
    """

    solver: str | Solver = "auto"
    C: float = 0.1
    objective: str | Objective | None = None
    loss: Loss | None = None
    penalty: Penalty = "l2"
    max_epochs: int | None = 100
    tol: float | None = 0.01
    patience: int | None = None
    max_seconds: float | None = None
    n_jobs: int | None = -1
    random_state: int | None = 0
    cut_memory: float = 1024.0
    verbose: bool = False


class TrainingSettings(TrainingParameters):
    """Parameters that can train on compiled examples of any structure."""

    def solve(
        self,
        examples: Examples,
        sample_weight: Any = None,
        score: Score | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> Solution:
        """Train on compiled examples; `options` are those of `fit` that are no settings, such as a checkpoint."""
        return _slim(self._run(fit, examples, sample_weight, score=score, callbacks=callbacks, **options))

    def solve_path(
        self,
        examples: Examples,
        C: Sequence[float],
        sample_weight: Any = None,
        score: Score | None = None,
    ) -> list[tuple[float, Solution]]:
        """Train on compiled examples with every one of the `C`, each from where the one before has ended."""
        points = self._run(path_points, examples, sample_weight, C=C, score=score)
        return [(each, _slim(solution)) for each, solution in points]

    def _run(
        self,
        train: Callable[..., Trained],
        examples: Examples,
        sample_weight: Any,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> Trained:
        problem, stop = self.problem(examples, sample_weight), self.stop()
        with Progress(tol=self.tol, enabled=bool(self.verbose)) as progress:
            options |= {"stop": stop, "callbacks": [progress, *callbacks], "seed": self.random_state}
            return train(problem, self.chosen_solver(), **options)

    def problem(self, examples: Examples, sample_weight: Any = None) -> Problem:
        """The optimisation problem on compiled examples."""
        objective = self.objective or STANDS_FOR.get(str(self.solver).partition("(")[0], "margin")
        if isinstance(objective, str):
            if objective not in OBJECTIVES:
                raise WidemarginError(f"there is no objective {objective!r}; there are {', '.join(OBJECTIVES)}")
            objective = OBJECTIVES[objective]
        smooth = objective.kind == "smooth"
        return Problem(
            examples,
            objective,
            C=self.C,
            sample_weight=sample_weight,
            loss=self.loss or ("hinge" if smooth else self.chosen_solver().losses[0]),
            penalty=self.penalty,
            n_threads=count_threads(self.n_jobs),
            cut_memory=self.cut_memory,
        )

    def online(self, before: Online | None = None) -> Online:
        """The solver at work piece by piece: `before`, or a fresh one where there is none."""
        solver = self.chosen_solver()
        if before is not None and before.solver != solver:
            raise WidemarginError(f"the pieces before were learnt by {before.solver}, not by {solver}; fit anew")
        return before or Online(solver, self.random_state)

    def stop(self) -> Stop:
        """The stop rules."""
        return Stop(epochs=self.max_epochs, seconds=self.max_seconds, gap=self.tol, patience=self.patience)

    def summary(self, solution: Solution) -> dict[str, Any]:
        """What a model file tells of training: the settings that JSON can hold, and the solution without weights."""
        known = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "verbose"}
        parameters = {name: value for name, value in known.items() if _is_plain(value)}
        return {"parameters": parameters, "solver": str(self.solver), "solution": solution.summary()}

    def chosen_solver(self) -> Solver:
        """The solver as an object."""
        if not isinstance(self.solver, str) and hasattr(self.solver, "epoch"):
            return self.solver
        return named_solver(self.solver)


class Task(Protocol[Model_co]):
    """Training data compiled to arrays, and the development score if there is one."""

    @property
    def examples(self) -> Examples:
        """The training examples."""

    @property
    def score(self) -> Score | None:
        """The development score as a function of the weights."""

    def model(self, solution: Solution, settings: TrainingSettings) -> Model_co:
        """The model with the weights of `solution`, which training with `settings` has found."""


class ModelSettings(TrainingSettings, Generic[Model]):
    """Parameters that can train a model on inputs and outputs as users have them."""

    @abstractmethod
    def compile(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> Task[Model]:
        """Inputs and outputs as arrays, once, for any number of training runs."""

    def train(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> tuple[Model, Solution]:
        """A model for inputs like `X` with outputs like `y`; see `widemargin.estimators.base.ModelEstimator.fit`."""
        task = self.compile(X, y, dev)
        solution = self.solve(task.examples, sample_weight, task.score, callbacks, **options)
        return task.model(solution, self), solution

    def train_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[tuple[Model, Solution]]:
        """A model for every one of the `C`, with features compiled once; see `ModelEstimator.fit_path`."""
        task = self.compile(X, y, dev)
        points = self.solve_path(task.examples, C, sample_weight, task.score)
        return [(task.model(solution, replace(self, C=each)), solution) for each, solution in points]


def _slim(solution: Solution) -> Solution:
    """Without the cuts, which take more memory than all the rest."""
    return replace(solution, cuts=None)


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it as it is."""
    if isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float | bool | None)
