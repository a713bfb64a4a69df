"""A plan of training: parameters resolved once.

Parameters hold the user's words: names of solvers, objectives and presets, and None for defaults. A `Plan` holds the
solver that runs, the problem that it solves, and when it stops. All training code takes a plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from widemargin._threads import count_threads
from widemargin.core import Loss, Penalty
from widemargin.core.examples import Examples
from widemargin.core.objective import Objective
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.core.stop import Stop
from widemargin.errors import WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import named_solver
from widemargin.tasks.parameters import PRESETS, Parameters, Preset, check_parameters


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train.

    Parameters
    ----------
    solver : the solver that runs
    objective, C, loss, penalty, l1, n_threads, cut_memory : the problem, as `core.problem.Problem` has it
    stop : when training ends
    seed : the seed of everything random; None draws a fresh one
    record : facts for the model's summary: the parameters that JSON can hold, solver, objective and C
    """

    solver: Solver
    objective: Objective
    C: float
    loss: Loss
    penalty: Penalty
    l1: float
    n_threads: int
    cut_memory: float
    stop: Stop
    seed: int | None
    record: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, parameters: Parameters) -> "Plan":
        """Resolve parameters; raise if one of them is invalid."""
        check_parameters(parameters)
        solver, objective = solver_and_objective(parameters)
        smooth = objective.kind == "smooth"
        C = parameters.C
        if C is None:
            C = parameters.usual_smooth_C if smooth else parameters.usual_C
        epochs = parameters.max_epochs
        if epochs is None:
            epochs = min(parameters.usual_epochs, solver.usual_epochs or parameters.usual_epochs)
        name = next((name for name, known in OBJECTIVES.items() if known == objective), str(objective))
        given = {name: value for name, value in plain_values(parameters).items() if name != "verbose"}
        return cls(
            solver=solver,
            objective=objective,
            C=C,
            loss=parameters.loss or ("hinge" if smooth else solver.losses[0]),
            penalty=parameters.penalty,
            l1=parameters.l1,
            n_threads=count_threads(parameters.n_jobs),
            cut_memory=parameters.cut_memory,
            stop=Stop(epochs=epochs, seconds=parameters.max_seconds, gap=parameters.tol, patience=parameters.patience),
            seed=parameters.random_state,
            record={"parameters": given, "solver": str(parameters.solver), "objective": name, "C": C},
        )

    def at(self, C: float) -> "Plan":
        """The same plan with another C."""
        parameters = self.record.get("parameters", {}) | {"C": C}
        return replace(self, C=C, record={**self.record, "parameters": parameters, "C": C})

    def problem(self, examples: Examples, sample_weight: Any = None) -> Problem:
        """The problem to minimise on these examples."""
        return Problem(
            examples,
            self.objective,
            C=self.C,
            sample_weight=sample_weight,
            loss=self.loss,
            penalty=self.penalty,
            l1=self.l1,
            n_threads=self.n_threads,
            cut_memory=self.cut_memory,
        )


def solver_and_objective(parameters: Parameters) -> tuple[Solver, Objective]:
    """The solver and the objective, looked up if given by name; ``"auto"`` is a solver that suits the objective."""
    solver, objective = parameters.solver, parameters.objective
    name, bracket, rest = str(solver).partition("(")
    preset = PRESETS.get(name, Preset("", "margin"))
    if preset.solver:
        solver = preset.solver + bracket + rest
    objective = preset.objective if objective is None else objective
    if isinstance(objective, str):
        if objective not in OBJECTIVES:
            raise WidemarginError(f"there is no objective {objective!r}; there are {', '.join(OBJECTIVES)}")
        objective = OBJECTIVES[objective]
    if solver == "auto" and objective.kind == "smooth":
        solver = "lbfgs"
    elif solver == "auto" and parameters.penalty == "l1":
        solver = "proximal"
    if isinstance(solver, str) or not hasattr(solver, "epoch"):
        solver = named_solver(solver, also=PRESETS)
    return solver, objective


def plain_values(parameters: Parameters) -> dict[str, Any]:
    """The parameters that JSON can hold as they are."""
    known = {each.name: getattr(parameters, each.name) for each in fields(parameters)}
    return {name: value for name, value in known.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float | bool | None)
