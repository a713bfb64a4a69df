"""Training: from parameters and data to a trained model.

Every task has a function ``compile_…(parameters, data)`` that turns the user's data into arrays, once for any number of
training runs. `train` runs the training loop on them (`core.loop.fit`) and makes a model from the solution.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin.core.choices import Loss
from widemargin.core.examples import Examples, Latent, Outputs, count_unreachable
from widemargin.core.loop import fit
from widemargin.core.objective import Objective
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS, named_solver
from widemargin.tasks.parameters import PRESETS, Parameters, Preset, check_types

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison
    from widemargin.report.progress import Progress
    from widemargin.tasks.warm import Matched, Remembered

M = TypeVar("M")
Trained = TypeVar("Trained")


class Data(NamedTuple):
    """Training data: inputs, gold outputs, a weight per example, and development data (X, y).

    `told` are callbacks for models that are trained while the data are compiled (`tasks.jackknife`).
    """

    X: Any
    y: Any
    sample_weight: Any = None
    dev: tuple[Any, Any] | None = None
    told: Sequence[Callback] = ()


@dataclass(frozen=True)
class Compiled(Generic[M]):
    """Training data as arrays, and how to make a model from the weights found for them.

    Parameters
    ----------
    examples : the training examples
    model : makes a model from a solution and the summary of its training
    labels : the labels that the model will know
    score, metric : the development score as a function of the weights (None without development data), and its name
    sample_weight : a weight per example
    piecewise : whether more data may follow, piece by piece
    completions : latent examples: turns the user's own completions into those of the structure
    matched : the weights of another model, matched with those of these examples by names, to go on from
    """

    examples: Examples
    model: Callable[[Solution, dict[str, Any]], M]
    labels: Sequence[Any] = ()
    score: Score | None = None
    metric: str = ""
    sample_weight: Any = None
    piecewise: bool = False
    completions: Callable[[Any], Outputs] | None = None
    matched: "Callable[[M], Matched] | None" = None


@dataclass
class Warm:
    """The last run: its model, and the cuts of a dual solver with what they belong to: a digest, and the examples."""

    model: Any = None
    cuts: Any = None
    digest: str | None = None
    remembered: "Remembered | None" = None


def train(
    compile_data: Callable[..., Compiled[M]],
    parameters: Parameters,
    data: Data,
    callbacks: Sequence[Callback] = (),
    warm: Warm | None = None,
    **options: Any,
) -> tuple[M, Solution]:
    """A model trained with these parameters, and its solution; `options` go to `core.loop.fit`.

    `warm` is the run to continue; it is replaced by this one.
    """
    check_types(parameters)
    with _shown(parameters) as shown:
        compiled = compile_data(parameters, data._replace(told=_aside(shown)))
        if isinstance(compiled.examples, Latent):
            loop = _latent().latent_loop(compiled, parameters, None if warm is None else warm.model)
        else:
            loop = fit if warm is None else partial(_fit_warm, compiled, warm)
        solution = _run(loop, compiled, parameters, [*shown, *callbacks], **options)
    n_examples = compiled.examples.n_examples
    model: Any = model_of(compiled, parameters, solution, n_examples)
    if compiled.piecewise and solution.state is not None:
        from widemargin.core.online import Online  # seldom needed

        rng = np.random.default_rng(parameters.random_state)
        model.online = Online.of(solver_of(parameters), solution.state, rng, compiled.examples.n_weights, n_examples)
    solution = _slim(solution)
    if warm is not None:
        warm.model = model
        if warm.remembered is not None and warm.remembered.model is None:
            warm.remembered = warm.remembered._replace(model=model)
    return model, solution


def _fit_warm(compiled: Compiled[Any], warm: Warm, problem: Problem, solver: Solver, **options: Any) -> Solution:
    from widemargin.tasks.warm import beginning, digest_of, remembered  # seldom needed

    digest = digest_of(problem, solver)
    solution = fit(problem, solver, **options, **beginning(warm, compiled, problem, solver, digest))
    warm.cuts, warm.digest = solution.cuts, digest
    if warm.cuts is not None:
        warm.cuts.origin = None  # the digest tells as much, and holds no data
    warm.remembered = remembered(compiled, problem, solver, solution)
    return solution


def train_path(
    compile_data: Callable[..., Compiled[M]],
    parameters: Parameters,
    data: Data,
    C: Sequence[float],
    callbacks: Sequence[Callback] = (),
) -> list[tuple[M, Solution]]:
    """A model and its solution for each value in `C`, trained as a path (`core.path`); data are compiled once.

    Latent problems have local optima, so each value is trained by itself.
    """
    check_types(parameters)
    with _shown(parameters) as shown:
        compiled, callbacks = compile_data(parameters, data._replace(told=_aside(shown))), [*shown, *callbacks]
        if isinstance(compiled.examples, Latent):
            loop = _latent().latent_loop(compiled, parameters)
            train_one = lambda c: _run(loop, compiled, replace(parameters, C=c), callbacks)  # noqa: E731
            points = _latent().latent_path(train_one, C, callbacks)
        else:
            from widemargin.core.path import path_points  # seldom needed

            points = _run(path_points, compiled, parameters, callbacks, C=C)
    path = [(replace(parameters, C=each), _slim(solution)) for each, solution in points]
    n_examples = compiled.examples.n_examples
    return [(model_of(compiled, point, solution, n_examples), solution) for point, solution in path]


def train_piece(
    compile_data: Callable[..., Compiled[M]],
    parameters: Parameters,
    before: M | None,
    data: Data,
    labels: list[Any] | None = None,
) -> tuple[M, Solution]:
    """The model after one epoch over a piece of the data, and its solution.

    `before` is the model to go on from, None for the first piece: by what it holds of the last piece (`core.online`),
    or from the weights that `fit` found. `labels` are those of all pieces; None takes those of the data, and learns
    others as they come.

    The penalty of an epoch is spread over as many examples as the largest piece had, or `fit`: five more sequences do
    not shrink the weights as much as thousands do.
    """
    from widemargin.core.online import learn  # seldom needed
    from widemargin.tasks.warm import moves, weights_for

    check_types(parameters)
    solver, _, C = chosen(parameters)
    model: Any = before
    online, summary = (None, {}) if model is None else (model.online, model.summary)
    _check_piecewise(solver, None if online is None else online.solver, summary)
    compiled = compile_data(parameters, data, labels=labels, piece=True, after=before)
    n_examples = compiled.examples.n_examples
    most = max(n_examples, summary.get("examples", 0) if online is None else online.examples)
    problem = problem_of(
        replace(parameters, C=C * max(most, 1) / max(n_examples, 1)), compiled.examples, compiled.sample_weight
    )
    fixed = labels is not None or (online is not None and online.fixed)
    rng = np.random.default_rng(parameters.random_state) if online is None else online.generator
    if isinstance(compiled.examples, Latent):
        problem = _latent().on_the_way(problem, solver, compiled, parameters, rng)
    begin: dict[str, Any] = {}
    if model is not None and online is None:
        begin = {"w": weights_for(compiled, model)}
    elif online is not None:
        begin = {"before": online, "places": moves(compiled, model, online.n_weights)}
    trace = model.solution.trace if "solution" in summary else ()
    solution, online = learn(problem, _priced(solver, C), rng, trace=trace, examples=most, fixed=fixed, **begin)
    found: Any = model_of(compiled, parameters, solution)
    found.online = replace(online, solver=repr(solver))
    if "data" in summary:
        found.summary["data"] = summary["data"]  # how files are read
    return found, solution


def _check_piecewise(solver: Solver, before: str | None, summary: Mapping[str, Any]) -> None:
    """Raise unless the solver can go on from a model with this summary, whose pieces a solver `before` has learnt."""
    name = type(solver).__name__
    if not solver.online:
        able = ", ".join(name for name, each in SOLVERS.items() if each.online)
        raise UnsupportedError(f"{name} needs all data at once; solvers that learn piece by piece are {able}")
    if before is not None and before != repr(solver):
        raise WidemarginError(f"the pieces before were learnt by {before}, not by {solver}; fit anew")
    if before is None and summary and solver.goes_on_from != "weights":
        by = str(summary.get("solver", "another program"))
        own = by.partition("(")[0] in {name, *(known for known, each in SOLVERS.items() if type(each) is type(solver))}
        if not own or solver.goes_on_from == "own state":
            able = ", ".join(name for name, each in SOLVERS.items() if each.online and each.goes_on_from == "weights")
            what = (
                f"weights that {by} has found" if not own else "weights alone, and this model does not hold its state"
            )
            raise UnsupportedError(
                f"{name} cannot go on from {what}: its steps would be too long for them; solvers that can are {able}"
            )


def _priced(solver: Any, C: float) -> Solver:
    """The solver with the price C of the slack of one example, if it has one: that does not depend on how many come."""
    priced: Solver = replace(solver, C=C) if getattr(solver, "C", 0.0) is None else solver
    return priced


def compare_solvers(
    compile_data: Callable[..., Compiled[Any]],
    parameters: Parameters,
    data: Data,
    solvers: Iterable[str] | Mapping[str, Solver],
    about: Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
) -> "Comparison":
    """Train with each solver at the same C, and compare them.

    `solvers` are names of solvers or presets, with optional parameters, or a dict of solver objects by any name.
    `about` holds facts about the data for the report. Of a latent problem it is the first round that is compared, which
    is convex.
    """
    from widemargin.report.comparison import compare  # loads plotting code, which training does not need

    check_types(parameters)
    with _shown(parameters) as shown:
        compiled = compile_data(parameters, data._replace(told=_aside(shown)))
        if isinstance(compiled.examples, Latent):
            compiled = _latent().first_round(compiled, parameters)
    parameters = replace(parameters, C=chosen(parameters).C)
    named = solvers if isinstance(solvers, Mapping) else {name: name for name in solvers}
    choices = {name: replace(parameters, solver=solver) for name, solver in named.items()}
    size = {"labels": len(compiled.labels), "weights": compiled.examples.n_weights}
    scored = {} if compiled.score is None else {"score": compiled.metric}
    return compare(
        lambda name: problem_of(choices[name], compiled.examples, compiled.sample_weight),
        {name: solver_of(choice) for name, choice in choices.items()},
        stop=stop_of(parameters),
        score=compiled.score,
        seed=parameters.random_state or 0,
        callbacks=callbacks,
        verbose=bool(parameters.verbose),
        data={**(about or {}), **size, **scored},
        settings={"C": parameters.C, "jobs": parameters.n_jobs, **_own(parameters)},
    )


def _latent() -> Any:
    """The module for latent examples, which others do not need."""
    from widemargin.tasks import latent

    return latent


def _own(parameters: Parameters) -> dict[str, Any]:
    """The parameters that only this task has, as far as JSON can hold them."""
    shared = {each.name for each in fields(Parameters)}
    own = {each.name: getattr(parameters, each.name) for each in fields(parameters) if each.name not in shared}
    return {name: value for name, value in own.items() if value is not None and _is_plain(value)}


class Chosen(NamedTuple):
    """A solver, an objective and a C."""

    solver: Solver
    objective: Objective
    C: float


def chosen(parameters: Parameters) -> Chosen:
    """The solver, objective and C that the parameters name, with presets looked up."""
    solver, objective, C = parameters.solver, parameters.objective, parameters.C
    name, bracket, rest = str(solver).partition("(")
    preset = PRESETS.get(name, Preset("", "margin"))
    if preset.solver:
        solver = preset.solver + bracket + rest
    objective = preset.objective if objective is None else objective
    if isinstance(objective, str):
        if objective not in OBJECTIVES:
            raise WidemarginError(f"there is no objective {objective!r}; there are {', '.join(OBJECTIVES)}")
        objective = OBJECTIVES[objective]
    if isinstance(solver, str) or not hasattr(solver, "epoch"):
        solver = named_solver(solver, also=PRESETS)
    if C is None:
        C = parameters.usual_smooth_C if objective.kind == "smooth" else parameters.usual_C
    return Chosen(solver, objective, C)


def problem_of(parameters: Parameters, examples: Examples, sample_weight: Any = None) -> Problem:
    """The optimisation problem for these parameters and examples."""
    _, objective, C = chosen(parameters)
    return Problem(
        examples,
        objective,
        C=C,
        sample_weight=sample_weight,
        loss=loss_of(parameters),
        penalty=parameters.penalty,
        l1=parameters.l1,
        n_threads=count_threads(parameters.n_jobs),
        cut_memory=parameters.cut_memory,
    )


def loss_of(parameters: Parameters) -> Loss:
    """The loss that the parameters name, or else the one that their solver prefers."""
    solver, objective, _ = chosen(parameters)
    return parameters.loss or ("hinge" if objective.kind == "smooth" else solver.losses[0])


def stop_of(parameters: Parameters) -> Stop:
    """The stop rules among the parameters; without `max_epochs` those that are usual for the task and the solver."""
    epochs = parameters.max_epochs
    if epochs is None:
        epochs = min(parameters.usual_epochs, chosen(parameters).solver.usual_epochs or parameters.usual_epochs)
    return Stop(
        epochs=epochs,
        seconds=parameters.max_seconds,
        gap=parameters.tol,
        patience=parameters.patience,
    )


def summary_of(parameters: Parameters, solution: Solution) -> dict[str, Any]:
    """The record of training for the model file: the parameters that JSON can hold, and the solution without w."""
    known = {each.name: getattr(parameters, each.name) for each in fields(parameters) if each.name != "verbose"}
    plain = {name: value for name, value in known.items() if _is_plain(value)}
    _, objective, C = chosen(parameters)
    name = next((name for name, known in OBJECTIVES.items() if known == objective), str(objective))
    used = {"solver": str(parameters.solver), "objective": name, "C": C}
    return {"parameters": plain, **used, "solution": solution.summary()}


def _run(
    loop: Callable[..., Trained],
    compiled: Compiled[Any],
    parameters: Parameters,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Trained:
    problem, stop = problem_of(parameters, compiled.examples, compiled.sample_weight), stop_of(parameters)
    if compiled.examples.n_examples and not len(problem.weighted):
        raise DataError("every example has the weight 0, so there is nothing to learn from")
    options |= {"stop": stop, "callbacks": callbacks, "seed": parameters.random_state}
    return loop(problem, solver_of(parameters), score=compiled.score, **options)


@contextmanager
def _shown(parameters: Parameters) -> Iterator["Sequence[Progress]"]:
    """The callback that shows progress, if it shall be shown, for as long as data are compiled and trained on."""
    if not parameters.verbose:
        yield ()
        return
    from widemargin.report.progress import Progress  # needed only if something is shown

    with Progress(tol=parameters.tol) as progress:
        yield [progress]


def _aside(shown: "Sequence[Progress]") -> Sequence[Callback]:
    """What shows models that are trained while data are compiled."""
    if not shown:
        return ()
    from widemargin.report.progress import Aside

    return [Aside(each) for each in shown]


def solver_of(parameters: Parameters) -> Solver:
    """The solver that the parameters name; ``"auto"`` stands for one that can minimise what is asked for."""
    solver, objective, _ = chosen(parameters)
    if parameters.solver != "auto":
        return solver
    if objective.kind == "smooth":
        return SOLVERS["lbfgs"]
    return SOLVERS["proximal"] if parameters.penalty == "l1" else solver


def _slim(solution: Solution) -> Solution:
    """The solution without its cuts and state, which take more memory than all the rest."""
    return replace(solution, cuts=None, state=None)


def model_of(compiled: Compiled[M], parameters: Parameters, solution: Solution, n_examples: int | None = None) -> M:
    """The model with the weights of a solution, and the record of its training.

    `n_examples` is None for pieces: nobody knows how often they come.
    """
    size = {} if n_examples is None else {"examples": n_examples}
    metric = {} if compiled.score is None else {"metric": compiled.metric}
    unreachable = count_unreachable(compiled.examples)
    found = {"unreachable": unreachable} if unreachable else {}
    return compiled.model(solution, summary_of(parameters, solution) | metric | found | size)


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it as it is."""
    if isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float | bool | None)
