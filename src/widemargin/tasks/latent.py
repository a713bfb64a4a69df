"""Training on latent examples, whose gold outputs have a hidden side, for `tasks.training`.

It is a module of its own so that training on other examples does not load it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.core.loop import name_run
from widemargin.core.problem import Problem
from widemargin.core.restarts import completing, fit_best
from widemargin.core.rounds import Rounds, begin
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.tasks.warm import weights_for

if TYPE_CHECKING:
    from widemargin.tasks.plan import Plan
    from widemargin.tasks.training import Compiled


def latent_loop(compiled: "Compiled[Any]", parameters: Any, before: Any = None) -> Callable[..., Solution]:
    """The training loop for latent examples, with the options in `parameters` (`LatentParameters`).

    The weights of the model `before`, if given, choose the first completions.
    """
    return partial(
        fit_best,
        n_restarts=parameters.n_restarts,
        completion=parameters.completion,
        rounds=Rounds(most=parameters.max_rounds, tol=parameters.round_tol, self_paced=parameters.self_paced),
        init=_beginning(compiled, parameters) if before is None else weights_for(compiled, before),
    )


def latent_path(
    train: Callable[[float], Solution], C: Sequence[float], callbacks: Sequence[Callback]
) -> list[tuple[float, Solution]]:
    """A solution for each value in `C`, each trained by itself because of local optima; Ctrl-C leaves out the rest."""
    found: list[tuple[float, Solution]] = []
    for each in C:
        name_run(f"C {each:g}", callbacks)
        try:
            found.append((each, train(each)))
        except KeyboardInterrupt:
            if not found:
                raise
            break  # this C has no solution; keep those of the values before it
        if found[-1][1].stopped == "interrupted":
            break
    return found


def first_round(compiled: "Compiled[Any]", parameters: Any, plan: "Plan") -> "Compiled[Any]":
    """The same data with the first completions as gold: a convex problem."""
    latent: Any = compiled.examples
    first = begin(latent, _beginning(compiled, parameters), np.random.default_rng(plan.seed), plan.n_threads)
    return replace(compiled, examples=latent.completed(first))


def on_the_way(
    problem: Problem, solver: Solver, compiled: "Compiled[Any]", parameters: Any, rng: np.random.Generator
) -> Problem:
    """The problem with examples that are completed at every visit."""
    return completing(problem, solver, _beginning(compiled, parameters), rng)


def _beginning(compiled: "Compiled[Any]", parameters: Any) -> Any:
    """The start of training for `core.rounds.begin`: a name, weights, or completions."""
    init = parameters.init
    if isinstance(init, str):
        return init
    model = getattr(init, "model_", init)
    if not hasattr(model, "w") and not hasattr(init, "__len__"):
        raise WidemarginError(f"init must be 'rule', 'random', completions or a trained model, not {init!r:.60}")
    if hasattr(model, "w"):
        if len(model.w) != compiled.examples.n_weights:
            raise WidemarginError(
                f"the model to begin with has {len(model.w)} weights, but there are {compiled.examples.n_weights} now"
            )
        return np.array(model.w, dtype=np.float64)
    if compiled.completions is None:
        raise UnsupportedError("completions of your own cannot be given for this task; begin by 'rule' or at 'random'")
    return compiled.completions(init)
