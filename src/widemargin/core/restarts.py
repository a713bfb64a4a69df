"""Restarts: local optima differ, so train from several first completions and keep the run with the best objective.

Each run trains and decodes on a thread of its own. If decoding a batch takes less time than waking a thread a few
times, runs would mostly wait for the interpreter lock, so they are made one after the other.

A run goes in rounds (`core.latent`), or completes every example whenever it is visited.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import WAKING, run
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.checks import check_number
from widemargin.core.examples import Differences, Latent, LatentMarginals, Outputs, Scale
from widemargin.core.header import Range
from widemargin.core.interrupt import interruption
from widemargin.core.latent import fit_latent
from widemargin.core.loop import fit, name_run
from widemargin.core.oracle import Meter
from widemargin.core.problem import Problem
from widemargin.core.rounds import Rounds, begin
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.sparse import plus
from widemargin.core.stop import Callback
from widemargin.errors import UnsupportedError, WidemarginError

SOME = 8


def fit_best(
    problem: Problem,
    solver: Solver,
    *,
    n_restarts: int = 1,
    completion: str = "cccp",
    rounds: Rounds | None = None,
    init: Any = "rule",
    seed: int | None = 0,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Solution:
    """The best of `n_restarts` runs on latent examples; `problem.n_threads` of them at a time, where that is faster.

    The first run begins with `init`, the others with random completions. Ctrl-C ends all of them and keeps the best so
    far. The number of threads does not change the result.

    Parameters
    ----------
    problem, solver : what to minimise, and how
    n_restarts : how many runs; with several, run k = 0, 1, … saves to `checkpoint.k`
    completion : ``"cccp"``, in rounds (`fit_latent`), or ``"online"``, at every visit (`fit_completing`); ignored if
        the objective sums over completions, since no completion is chosen then
    rounds, init, seed, callbacks, checkpoint, options : as in `fit_latent`; callbacks hear of one run at a time
    """
    check_number("n_restarts", n_restarts, Range(1), whole=True)
    if completion not in ("cccp", "online"):
        raise WidemarginError(f"completion is 'cccp' or 'online', not {completion!r}")
    in_rounds = completion == "cccp" and not sums_completions(problem)
    train: Any = partial(fit_latent, rounds=rounds) if in_rounds else fit_completing
    if n_restarts == 1:
        only: Solution = train(
            problem, solver, init=init, seed=seed, callbacks=callbacks, checkpoint=checkpoint, **options
        )
        return only

    n = min(problem.n_threads, n_restarts) if _is_worth_threads(problem) else 1

    def train_some(numbers: Sequence[int], event: threading.Event) -> list[tuple[int, Solution]]:
        found: list[tuple[int, Solution]] = []
        for number in numbers:
            informed = callbacks if numbers[0] == 0 else ()
            name_run(f"restart {number + 1}/{n_restarts}", informed)
            try:
                solution = train(
                    replace(problem, n_threads=1 if n > 1 else problem.n_threads, meter=Meter()),
                    solver,
                    init=init if number == 0 else "random",
                    seed=seed if number == 0 or seed is None else np.random.default_rng([seed, number]),
                    callbacks=informed,
                    checkpoint=None if checkpoint is None else f"{os.fspath(checkpoint)}.{number}",
                    interrupted=event,
                    **options,
                )
            except KeyboardInterrupt:
                break  # nothing was learnt in this run; those before are worth keeping
            found.append((number, replace(solution, cuts=None)))
            if event.is_set():
                break
        return found

    with interruption() as interrupted:
        parts = run([partial(train_some, range(first, n_restarts, n), interrupted) for first in range(n)])
    found = dict(sorted((each for part in parts for each in part), key=lambda each: each[0]))
    if not found:
        raise KeyboardInterrupt
    values = {number: np.inf if each.primal is None else each.primal for number, each in found.items()}
    best = min(values, key=values.__getitem__)  # the first of equals
    return replace(found[best], restarts=tuple(values.values()))


def _is_worth_threads(problem: Problem) -> bool:
    """Whether decoding a batch takes long compared with waking threads."""
    work = problem.examples.work
    return work is not None and bool(len(work)) and problem.batch_size * float(work.mean()) > SOME * WAKING


def fit_completing(problem: Problem, solver: Solver, *, init: Any = "rule", seed: Any = 0, **options: Any) -> Solution:
    """Train on latent examples, each completed whenever it is visited: latent perceptron, MIRA, AdaGrad, …

    For solvers that keep no cuts. The solution's `primal` is the objective of `core.latent`; nothing is proven.
    """
    rng = np.random.default_rng(seed)
    return fit(completing(problem, solver, init, rng), solver, seed=rng, **options)


def completing(problem: Problem, solver: Solver, init: Any, rng: np.random.Generator) -> Problem:
    """The problem with examples that are completed, or summed over completions, whenever they are visited."""
    summed = sums_completions(problem)
    if summed and not (solver.online or solver.descends):
        raise UnsupportedError(
            f"{type(solver).__name__} keeps tangents, but a likelihood that sums over what is hidden is not convex; "
            "those that need none are lbfgs, sgd, pegasos, adagrad and adadelta"
        )
    if not summed and not solver.online:
        raise UnsupportedError(
            f"{type(solver).__name__} keeps what it learnt from a completion, so it needs rounds; those that complete "
            "at every visit are perceptron, mira, sgd, pegasos and adagrad"
        )
    latent: Any = problem.examples
    kind = SummedOnTheWay if summed else CompletedOnTheWay
    return replace(problem, examples=kind(latent, begin(latent, init, rng, problem.n_threads)))


class CompletedOnTheWay:
    """Latent examples that are completed whenever they are decoded, at the weights of that moment.

    Their cuts are subgradients of the objective (5) of `core.latent`. That objective is not convex, so the cuts do not
    hold at other weights: only solvers that keep no cuts can use them (perceptron, MIRA, AdaGrad). No gap is proven.
    """

    exact = convex = False

    def __init__(self, latent: Latent, first: Outputs) -> None:
        self.latent: Any = latent
        self.base: Any = latent.completed(first)
        self.n_examples, self.n_weights, self.work = self.base.n_examples, self.base.n_weights, self.base.work

    def contents(self) -> Any:
        """The latent examples, for digests (`core.contents`): the first completions make no difference."""
        return self.latent

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> tuple[Outputs, Outputs]:
        """The best outputs, and the best completions."""
        return self.base.decode(w, batch, error_scale=error_scale), self.latent.complete(w, batch)

    def difference(self, batch: IntVector, outputs: tuple[Outputs, Outputs]) -> Differences:
        """Errors of the outputs, and the features of the completions minus those of the outputs."""
        decoded, completions = outputs
        errors, psi = self.base.difference(batch, decoded)
        minus = self.base.difference(batch, completions).psi
        each = np.arange(len(batch), dtype=np.int32)
        return Differences(errors, plus(psi, np.full(len(batch), -1.0), minus, each))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that decoding and completing the batch read."""
        runs: LongMatrix = self.base.support(batch)
        return runs


class SummedOnTheWay(CompletedOnTheWay):
    """The same for likelihoods: all completions count at once, so none is chosen."""

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log Σ_h p(y_i, h), and the expected features of completions minus those of all outputs."""
        found: Differences = self.latent.expectation_over_completions(w, batch, error_scale=error_scale)
        return found


def sums_completions(problem: Problem) -> bool:
    """Whether objective and examples sum over all outputs and completions, so that no completion must be chosen."""
    return problem.objective.kind == "smooth" and isinstance(problem.examples, LatentMarginals)
