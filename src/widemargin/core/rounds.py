"""Rounds of learning with latent variables: settings, stop rule, state between two rounds, and completions.

`core.latent` makes the rounds. A completion is a gold output (y_i, h) with an h that is filled in
(`core.examples.Latent`).
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import WAKING, run
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.examples import Differences, Examples, FirstCompletions, Latent, LatentMarginals, Outputs, Scale
from widemargin.core.header import Place, many, row, whole
from widemargin.core.interrupt import interruption
from widemargin.core.latent import fit_latent
from widemargin.core.loop import fit, name_run
from widemargin.core.oracle import Meter
from widemargin.core.problem import Problem, in_shares
from widemargin.core.solution import EPOCH, ROUND, Epoch, Round, Solution
from widemargin.core.solver import Solver
from widemargin.core.sparse import Rows, plus
from widemargin.core.stop import Callback, Stop
from widemargin.errors import UnsupportedError, WidemarginError

LOOSEST = 0.1  # the gap of the first round
SHARE = 1.0  # a round ends when the gain that is still possible is at most this share of its gain so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How rounds follow each other.

    Parameters
    ----------
    most : stop after this many rounds
    tol : stop when a round provably cannot lower the objective by more than this share; without proofs, when it did
        not. 0 uses the gap that is asked for instead
    self_paced : let easy examples take part first: by ``"slack"`` or ``"uncertainty"``
    rebase : carry cuts and their α over to the next round; False begins each round without cuts
    loose : end rounds when they have gained enough; False solves each to the gap asked for and to `tol`
    """

    most: int = 50
    tol: float = 1e-3
    self_paced: str | None = None
    rebase: bool = True
    loose: bool = True

    def __post_init__(self) -> None:
        if not self.most >= 1:
            raise WidemarginError(f"there must be at least 1 round, not {self.most!r}")
        if not self.tol >= 0:
            raise WidemarginError(f"the tol of rounds must be a number of at least 0, not {self.tol!r}")
        if self.self_paced not in (None, "slack", "uncertainty"):
            raise WidemarginError(f"self-paced learning goes by 'slack' or 'uncertainty', not {self.self_paced!r}")


@dataclass(slots=True)
class Course:
    """Everything that later rounds depend on; a checkpoint keeps it, and a resumed run continues from it.

    The completions of the running round are the best at `w`, the weights after the previous round; in the first round
    they come from `seed`. `objective` is that of `w`, and `best_w` are the weights that scored best. Examples that are
    harder than `limit` do not take part.
    """

    seed: int = 0
    limit: float = np.inf
    objective: float = np.inf
    taking_part: FloatVector = field(default_factory=lambda: np.empty(0))
    w: FloatVector = field(default_factory=lambda: np.empty(0))
    best_w: FloatVector = field(default_factory=lambda: np.empty(0))
    best_score: float = -np.inf
    waited: int = 0
    rounds: list[Any] = field(default_factory=list)
    trace: list[Any] = field(default_factory=list)
    calls: int = 0
    seconds: float = 0.0

    def check(self, place: Place, n_weights: int, n_examples: int) -> None:
        """Raise an error about the first field with an impossible value."""
        many(row(*(ROUND[name] for name in Round._fields)))(self.rounds, place.at("rounds"))
        many(row(*(EPOCH[name] for name in Epoch._fields)))(self.trace, place.at("trace"))
        whole(at_least=0)(self.seed, place.at("seed"))
        for name, sizes in (("taking_part", (n_examples,)), ("w", (0, n_weights)), ("best_w", (0, n_weights))):
            if len(getattr(self, name)) not in sizes:
                raise place.at(name).wrong(getattr(self, name), f"a vector of {sizes[-1]} numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough(Stop):
    """Stops a round that has been solved well enough, given the objective `base` before it."""

    base: float = np.inf
    loose: bool = True

    def is_close(self, gap: float, primal: float) -> bool:
        """Whether the round has gained most of what it can gain, or provably has nothing to gain."""
        if self.gap is None:
            return False
        if not np.isfinite(self.base):
            return gap <= (max(LOOSEST, self.gap) if self.loose else self.gap)
        gained, left = self.base - primal, gap * primal
        return gained + left <= self.gap * self.base or (left <= SHARE * gained if self.loose else gap <= self.gap)


def complete(latent: Any, w: FloatVector, n_threads: int = 1) -> Outputs:
    """The best completions of all examples at `w`."""
    return _joined(in_shares(latent, partial(latent.complete, w), n_threads))


def begin(latent: Any, init: Any, rng: np.random.Generator, n_threads: int = 1) -> Outputs:
    """Completions to begin with.

    `init` is ``"random"``; ``"rule"``, which uses the structure's own rule, or random completions if it has none; the
    weights of a model; or completions.
    """
    if isinstance(init, str):
        if init not in ("rule", "random"):
            raise WidemarginError(f"completions begin by 'rule' or at 'random', not by {init!r}")
        return latent.first_completions() if init == "rule" and has_rule(latent) else latent.guess(rng)
    weights = isinstance(init, np.ndarray) and init.dtype == np.float64 and init.shape == (latent.n_weights,)
    return complete(latent, init, n_threads) if weights else init


def has_rule(latent: Any) -> bool:
    """Whether the structure has a rule of its own for the first completions."""
    return isinstance(latent, FirstCompletions)


def shifts(examples: Examples, before: Outputs) -> Rows:
    """φ(gold) minus φ of the completions `before`, a row per example; `examples` are completed."""
    return examples.difference(np.arange(examples.n_examples, dtype=np.int32), before).psi


def _joined(parts: Sequence[Outputs]) -> Outputs:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [completion for part in parts for completion in part]


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
    if n_restarts < 1:
        raise WidemarginError(f"n_restarts must be at least 1, not {n_restarts}")
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

    def train_some(numbers: Sequence[int], heard: threading.Event) -> list[tuple[int, Solution]]:
        found: list[tuple[int, Solution]] = []
        for number in numbers:
            told = callbacks if numbers[0] == 0 else ()
            name_run(f"restart {number + 1}/{n_restarts}", told)
            try:
                solution = train(
                    replace(problem, n_threads=1 if n > 1 else problem.n_threads, meter=Meter()),
                    solver,
                    init=init if number == 0 else "random",
                    seed=seed if number == 0 or seed is None else np.random.default_rng([seed, number]),
                    callbacks=told,
                    checkpoint=None if checkpoint is None else f"{os.fspath(checkpoint)}.{number}",
                    interrupted=heard,
                    **options,
                )
            except KeyboardInterrupt:
                break  # nothing was learnt in this run; those before are worth keeping
            found.append((number, replace(solution, cuts=None)))
            if heard.is_set():
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
