"""What a solver is: a frozen bag of hyper-parameters that moves an explicit state through epochs."""

from typing import Any, ClassVar, Protocol

import numpy as np

from widemargin._types import FloatVector
from widemargin.problem import Loss, Problem


class Solver(Protocol):
    """Consumes cuts. The training loop owns the clock, the stop rules and the certificate; a solver owns its steps.

    `losses` names the losses it can minimise and `requires` the protocols (`structures.base`) that the examples must
    offer beyond decoding; both are checked before a run starts.
    """

    losses: ClassVar[tuple[Loss, ...]]
    requires: ClassVar[tuple[type, ...]]

    def start(self, problem: Problem, w: FloatVector | None = None) -> Any:
        """A fresh state, at the weights `w` where the solver can start from given ones."""

    def epoch(self, problem: Problem, state: Any, rng: np.random.Generator) -> None:
        """Visit every block once, moving `state` in place; whole whenever `problem` is asked for cuts."""

    def weights(self, state: Any) -> FloatVector:
        """The weights that the state stands for; may share memory with it."""

    def dual(self, problem: Problem, state: Any) -> float | None:
        """The dual objective, a lower bound on P at every w; None for solvers without one."""
