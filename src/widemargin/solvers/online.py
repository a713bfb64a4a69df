"""Shared by the online solvers: small batches, subgradients at weights brought up to date where needed, averages.

    P(w) / C = Σ_batches [ λ r(w) + Σ_{i in batch} c_i ℓ(ξ_i(w)) ],   λ = 1 / (C · number of batches)

with r the penalty and ℓ the loss, so an epoch is one pass over the terms of P / C, whatever the batch size. In code λ
is `strength`. A batch's gradient is zero at most weights, where only the penalty acts. Such weights are left alone
until a batch reads them (`Examples.support`); only then are they brought up to date (Kummerfeld et al. 2015, Algorithm
1), by the solver's state.

The average of w over all steps of a mistake-driven solver is lazy, too. With u = Σ t·δ_t over the updates w ← w + δ_t,
each with the number t of steps before it, the mean of w over T steps is w − u / T; so an update touches no more of u
than of w.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.cuts import Cuts
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, start_weights
from widemargin.core.sparse import Rows, add_scaled, coalesce, new_table


class Gradient(NamedTuple):
    """Σ −αa over a batch, a subgradient of its losses: distinct indices and their values."""

    indices: IntVector
    values: FloatVector


class Lazy(Protocol):
    """A state in which some weights lag behind."""

    w: FloatVector

    def catch_up(self, runs: LongMatrix) -> None:
        """Bring the weights of the runs [begin, end) up to date."""


def small_size(problem: Problem, size: int | None) -> int:
    """The `size` of batches; a small part of the problem's choice if it is None.

    No line search corrects a stale gradient, so batches are smaller than those of dual solvers.
    """
    return size or max(1, problem.batch_size // 48)


def small_batches(problem: Problem, rng: np.random.Generator, size: int | None) -> list[IntVector]:
    """All examples, shuffled, in batches of `small_size`."""
    return problem.batches(rng, small_size(problem, size))


def strength(problem: Problem, batches: list[IntVector]) -> float:
    """λ, the share of the penalty in one batch."""
    return 1.0 / (problem.C * max(len(batches), 1))


def tangents(problem: Problem, state: Lazy, batches: list[IntVector], lazy: bool) -> Iterator[tuple[Cuts, FloatVector]]:
    """The cuts of one batch after another at `state.w`, with the α for which −Σ αa is a subgradient of Σ c_i ℓ(ξ_i).

    At that moment only the weights that the batch reads are up to date, or all of them if not `lazy`.
    """
    for batch in batches:
        state.catch_up(problem.examples.support(batch) if lazy else everything(state.w))
        cuts = problem.cuts(state.w, batch)
        yield cuts, problem.tangent(cuts, state.w) / problem.C


def everything(w: FloatVector) -> LongMatrix:
    """All weights as one run."""
    return np.array([[0, len(w)]], dtype=np.int64)


def gradient(alpha: FloatVector, a: Rows) -> Gradient:
    """−Σ αa."""
    return Gradient(*_sum(alpha, a))


@kernel
def _sum(alpha: FloatVector, a: Rows) -> tuple[IntVector, FloatVector]:
    room = begin = write = a.indptr[0]
    for k in range(len(alpha)):
        if alpha[k] > 0.0:
            room += a.indptr[k + 1] - a.indptr[k]
    indices, values = np.empty(room, dtype=np.int32), np.empty(room)
    for k in range(len(alpha)):
        if alpha[k] > 0.0:
            for entry in range(a.indptr[k], a.indptr[k + 1]):
                indices[write] = a.indices[entry]
                values[write] = -alpha[k] * a.values[entry]
                write += 1
    end = coalesce(indices, values, begin, write, begin, new_table(room))
    return indices[:end], values[:end]


@dataclass(slots=True)
class AveragedState:
    """The current weights `w`, the lazy part `u` of their average, and the number `t` of steps made."""

    w: FloatVector
    u: FloatVector
    t: int = 0

    @property
    def mean(self) -> FloatVector:
        """The average of w over all steps."""
        return self.w - self.u / max(self.t, 1)

    def last(self) -> FloatVector:
        """w after the last step."""
        return self.w

    def move(self, w: FloatVector) -> None:
        """Go on from `w`: an update like any other."""
        self.u += self.t * (w - self.w)
        self.w[:] = w


@kernel
def add_averaged(step: float, rows: Rows, row: int, w: FloatVector, u: FloatVector, t: int) -> None:
    """w += step · a for a row a, after t steps."""
    begin, end = rows.indptr[row], rows.indptr[row + 1]
    add_scaled(step, rows.indices, rows.values, begin, end, w)
    add_scaled(step * t, rows.indices, rows.values, begin, end, u)


class AveragedSolver(Solver, Protocol):
    """A mistake-driven solver whose states are averaged: it defines its own epochs and inherits the rest."""

    average: bool

    online: ClassVar[bool] = True
    mixes: ClassVar[bool] = True
    usual_epochs: ClassVar[int | None] = 15
    state: ClassVar[type[AveragedState]] = AveragedState

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: Any = None) -> Any:
        """Weights zero, a copy of `w`, or the combination of `cuts`."""
        return self.state(start_weights(problem, w, cuts), np.zeros(problem.n_weights))

    def count_as_epoch(self, problem: Problem, state: Any, examples: int) -> None:
        """Let the weights count for this many examples in the average."""
        state.t = examples

    def weights(self, state: Any) -> FloatVector:
        """The average of w over all steps so far, or the last w."""
        w: FloatVector = state.mean if self.average else state.w
        return w
