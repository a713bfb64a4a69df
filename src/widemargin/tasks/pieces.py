"""Training piece by piece (`partial_fit`): one epoch over new data, starting where the last epoch ended."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from widemargin.core.examples import Latent
from widemargin.core.online import learn
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.solvers import SOLVERS
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.training import Compiled, Data, model_of
from widemargin.tasks.warm import moves, weights_for

M = TypeVar("M")


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
