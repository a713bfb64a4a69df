"""What a solver is. Hyper-parameters are the fields of a frozen dataclass; everything that changes is in its state."""

from typing import Any, ClassVar, Protocol

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.choices import Loss, Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem


class Solver(Protocol):
    """Consumes cuts. The training loop owns the clock, the stop rules and the certificate; a solver owns its steps.

    A solver derives from this class and declares what it can do; the mismatch is an error before a run starts.

    `losses`, `penalties`, `kinds` : what it can minimise, its own choice of loss first; `kinds` are the objective's
    `online` : it learns from each example as it comes, so that `partial_fit` makes sense

    A state is a dataclass of arrays, numbers and `CutStore`s, so that a checkpoint can hold it.
    """

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge", "hinge")
    penalties: ClassVar[tuple[Penalty, ...]] = ("l2",)
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum",)
    online: ClassVar[bool] = False

    @property
    def requires(self) -> tuple[type, ...]:
        """The protocols (`core.examples`) that the examples must offer beyond decoding; parameters may decide."""
        return ()

    @property
    def requires_of_objective(self) -> tuple[type, ...]:
        """The protocols (`core.objective`) that the objective must offer beyond `cuts`; parameters may decide."""
        return ()

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> Any:
        """A fresh state; near the weights `w`, or at the dual point that `cuts` hold, where these are given."""

    def epoch(self, problem: Problem, state: Any, rng: np.random.Generator) -> None:
        """Visit every block once, moving `state` in place; whole whenever `problem` is asked for cuts."""

    def weights(self, state: Any) -> FloatVector:
        """The weights that the state stands for; may share memory with it."""

    def dual(self, problem: Problem, state: Any) -> float | None:
        """A lower bound on P at every w; None for solvers without one, which are certified by `Problem.bounds`."""
        return None


def start_weights(problem: Problem, w: FloatVector | None, cuts: CutStore | None) -> FloatVector:
    """Where a primal solver starts: at zero, at a copy of `w`, or at the weights that `cuts` stand for."""
    if cuts is not None:
        return cuts.combination(problem.n_weights)
    return np.zeros(problem.n_weights) if w is None else w.copy()
