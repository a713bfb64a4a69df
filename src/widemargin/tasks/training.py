"""Training: from parameters and data to a trained model.

Every task has a function ``compile_…(parameters, data)`` that turns the user's data into arrays, once for any number of
training runs. `train` runs the training loop on them (`core.loop.fit`) by the `Plan` of the parameters, and makes a
model from the solution. `train_piece` trains for one epoch over new data, starting where the last epoch ended
(`partial_fit`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin.core.asking import helpers
from widemargin.core.examples import Examples, Latent, Outputs, count_unreachable
from widemargin.core.loop import fit
from widemargin.core.online import learn
from widemargin.core.problem import Problem, predict
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback, Score
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.solvers import SOLVERS
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan, plain_values
from widemargin.tasks.warm import moves, weights_for

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison
    from widemargin.tasks.warm import Matched, Remembered

M = TypeVar("M")
Trained = TypeVar("Trained")


class Data(NamedTuple):
    """Training data: inputs, gold outputs, a weight per example, and development data (X, y).

    `told` holds callbacks for models that are trained while the data are compiled (`tasks.stacking`).
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
    completions : for latent examples, turns the user's own completions into those of the structure
    matched : matches the weights of another model with these examples by name, to go on from them
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


def score_of_outputs(examples: Examples, n_jobs: int | None, measure: Callable[[Any], float]) -> Score:
    """A development score as a function of the weights: the `measure` of all outputs, end to end."""
    n_threads = count_threads(n_jobs)
    return lambda w: measure(np.concatenate(predict(examples, w, n_threads)))


@dataclass
class Warm:
    """The last run: its model and the cuts of a dual solver, with a digest and a record of their examples."""

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
    plan = Plan.of(parameters)
    with _compiled(compile_data, parameters, data) as (compiled, shown), helpers(compiled.examples, plan.n_threads):
        if isinstance(compiled.examples, Latent):
            loop = _latent().latent_loop(compiled, parameters, None if warm is None else warm.model)
        else:
            loop = fit if warm is None else partial(_fit_warm, compiled, warm)
        solution = _run(loop, compiled, plan, [*shown, *callbacks], **options)
    n_examples = compiled.examples.n_examples
    model: Any = model_of(compiled, plan, solution, n_examples)
    if compiled.piecewise and solution.state is not None:
        from widemargin.core.online import Online  # seldom needed

        rng = np.random.default_rng(plan.seed)
        model.online = Online.of(plan.solver, solution.state, rng, compiled.examples.n_weights, n_examples)
    solution = _without_cuts(solution)
    if warm is not None:
        warm.model = model
        if warm.remembered is not None and warm.remembered.model is None:
            warm.remembered = warm.remembered._replace(model=model)
    return model, solution


def _fit_warm(compiled: Compiled[Any], warm: Warm, problem: Problem, solver: Solver, **options: Any) -> Solution:
    from widemargin.tasks.warm import beginning, digest_of, remember  # seldom needed

    digest = digest_of(problem, solver)
    solution = fit(problem, solver, **options, **beginning(warm, compiled, problem, solver, digest))
    warm.cuts, warm.digest = solution.cuts, digest
    if warm.cuts is not None:
        warm.cuts.origin = None  # the digest says as much without holding data
    warm.remembered = remember(compiled, problem, solver, solution)
    return solution


def train_path(
    compile_data: Callable[..., Compiled[M]],
    parameters: Parameters,
    data: Data,
    C: Sequence[float],
    callbacks: Sequence[Callback] = (),
) -> list[tuple[M, Solution]]:
    """A model and its solution for each value in `C`, trained as a path (`core.loop`); data are compiled once.

    Latent problems have local optima, so each value is trained by itself.
    """
    plan = Plan.of(parameters)
    with _compiled(compile_data, parameters, data) as (compiled, shown), helpers(compiled.examples, plan.n_threads):
        callbacks = [*shown, *callbacks]
        if isinstance(compiled.examples, Latent):
            loop = _latent().latent_loop(compiled, parameters)
            train_one = lambda c: _run(loop, compiled, plan.at(c), callbacks)  # noqa: E731
            points = _latent().latent_path(train_one, C, callbacks)
        else:
            from widemargin.core.loop import path_points  # seldom needed

            points = _run(path_points, compiled, plan, callbacks, C=C)
    path, n_examples = [(each, _without_cuts(solution)) for each, solution in points], compiled.examples.n_examples
    return [(model_of(compiled, plan.at(each), solution, n_examples), solution) for each, solution in path]


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
    `about` holds facts about the data for the report. On a latent problem, solvers are compared on the first round,
    which is convex.
    """
    from widemargin.report.comparison import compare  # loads plotting code, which training does not need

    plan = Plan.of(parameters)
    with _compiled(compile_data, parameters, data) as (compiled, _):
        latent = isinstance(compiled.examples, Latent)
        convex = _latent().first_round(compiled, parameters, plan) if latent else compiled
    named = solvers if isinstance(solvers, Mapping) else {name: name for name in solvers}
    plans = {name: Plan.of(replace(parameters, C=plan.C, solver=solver)) for name, solver in named.items()}
    size = {"labels": len(convex.labels), "weights": convex.examples.n_weights}
    scored = {} if convex.score is None else {"score": convex.metric}
    with helpers(convex.examples, plan.n_threads):
        return compare(
            lambda name: plans[name].problem(convex.examples, convex.sample_weight),
            {name: each.solver for name, each in plans.items()},
            stop=plan.stop,
            score=convex.score,
            seed=plan.seed or 0,
            callbacks=callbacks,
            verbose=bool(parameters.verbose),
            data={**(about or {}), **size, **scored},
            settings={"C": plan.C, "jobs": parameters.n_jobs, **_task_parameters(parameters)},
        )


def _latent() -> Any:
    """The module for latent examples, imported only for them."""
    from widemargin.tasks import latent

    return latent


def _task_parameters(parameters: Parameters) -> dict[str, Any]:
    """The parameters that only this task has and JSON can hold."""
    shared = {each.name for each in fields(Parameters)}
    values = plain_values(parameters)
    return {name: value for name, value in values.items() if name not in shared and value is not None}


def _run(
    loop: Callable[..., Trained],
    compiled: Compiled[Any],
    plan: Plan,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Trained:
    problem = plan.problem(compiled.examples, compiled.sample_weight)
    if compiled.examples.n_examples and not len(problem.weighted_examples):
        raise DataError("every example has the weight 0, so there is nothing to learn from")
    options |= {"stop": plan.stop, "callbacks": callbacks, "seed": plan.seed}
    return loop(problem, plan.solver, score=compiled.score, **options)


@contextmanager
def _compiled(
    compile_data: Callable[..., Compiled[M]], parameters: Parameters, data: Data
) -> Iterator[tuple[Compiled[M], Sequence[Callback]]]:
    """The compiled data, and callbacks that show the progress of compiling and training; none unless `verbose`."""
    if not parameters.verbose:
        yield compile_data(parameters, data._replace(told=())), ()
        return
    from widemargin.report.progress import Aside, Progress  # needed only if something is shown

    with Progress(tol=parameters.tol) as progress:
        yield compile_data(parameters, data._replace(told=[Aside(progress)])), [progress]


def _without_cuts(solution: Solution) -> Solution:
    """The solution without its cuts and state, which take most of its memory."""
    return replace(solution, cuts=None, state=None)


def model_of(compiled: Compiled[M], plan: Plan, solution: Solution, n_examples: int | None = None) -> M:
    """The model with the weights of a solution, and the record of its training.

    `n_examples` is None for pieces, whose number is unknown.
    """
    size = {} if n_examples is None else {"examples": n_examples}
    metric = {} if compiled.score is None else {"metric": compiled.metric}
    unreachable = count_unreachable(compiled.examples)
    found = {"unreachable": unreachable} if unreachable else {}
    record = {**plan.record, "solution": solution.summary()}
    return compiled.model(solution, record | metric | found | size)


def train_piece(
    compile_data: Callable[..., Compiled[M]],
    parameters: Parameters,
    before: M | None,
    data: Data,
    labels: list[Any] | None = None,
) -> tuple[M, Solution]:
    """The model after one epoch over a piece of the data, and its solution.

    `before` is the model to go on from, None for the first piece. Training continues from its online state
    (`core.online`), or else from its weights. `labels` are those of all pieces; None takes those of the data, and adds
    new labels as they come.

    The penalty of an epoch is spread over as many examples as the largest piece, or `fit`, had: five more sequences
    shrink the weights less than thousands do.
    """
    plan = Plan.of(parameters)
    solver: Any = plan.solver
    model: Any = before
    online, summary = (None, {}) if model is None else (model.online, model.summary)
    _check_piecewise(solver, None if online is None else online.solver, summary)
    compiled = compile_data(parameters, data, labels=labels, piece=True, after=before)
    n_examples = compiled.examples.n_examples
    most = max(n_examples, summary.get("examples", 0) if online is None else online.examples)
    spread = plan.at(plan.C * max(most, 1) / max(n_examples, 1))
    problem = spread.problem(compiled.examples, compiled.sample_weight)
    fixed = labels is not None or (online is not None and online.fixed)
    rng = np.random.default_rng(plan.seed) if online is None else online.generator
    if isinstance(compiled.examples, Latent):
        from widemargin.tasks.latent import on_the_way  # seldom needed

        problem = on_the_way(problem, solver, compiled, parameters, rng)
    begin: dict[str, Any] = {}
    if model is not None and online is None:
        begin = {"w": weights_for(compiled, model)}
    elif online is not None:
        begin = {"before": online, "places": moves(compiled, model, online.n_weights)}
    trace = model.solution.trace if "solution" in summary else ()
    # C is the price of one example's slack, whatever the size of a piece.
    priced = replace(solver, C=plan.C) if getattr(solver, "C", 0.0) is None else solver
    solution, online = learn(problem, priced, rng, trace=trace, examples=most, fixed=fixed, **begin)
    found: Any = model_of(compiled, plan, solution)
    found.online = replace(online, solver=repr(solver))
    if "data" in summary:
        found.summary["data"] = summary["data"]  # how files are read
    return found, solution


def _check_piecewise(solver: Solver, before: str | None, summary: Mapping[str, Any]) -> None:
    """Raise unless the solver can go on from a model with this summary; the solver `before` trained its pieces."""
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
