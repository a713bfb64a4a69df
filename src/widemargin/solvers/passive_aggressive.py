"""Passive-aggressive steps towards the plain prediction (Crammer et al. 2006), as CRFsuite makes them.

    ŷ = argmax_y ⟨w, φ(x_i, y)⟩;   F = m(Δ) − ⟨w, ψ_i(ŷ)⟩;   w ← w + τψ_i(ŷ) where Δ_i(ŷ) > 0 and F > 0

with τ = F / ‖ψ‖² without slack (PA), min(C c_i, F / ‖ψ‖²) with a linear one (PA-I), F / (‖ψ‖² + 1 / (2 C c_i)) with a
squared one (PA-II), and m(Δ) = Δ, √Δ or 1 the margin asked for. Unlike `mira`, which looks for the output that violates
its margin most, this asks only about the prediction, so that m need not be a sum over the parts of an output. Examples
of a batch are decoded at one w. The result is the average of w over all examples (`online`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.checks import choice, number
from widemargin.core.cuts import Cuts
from widemargin.core.problem import Problem
from widemargin.core.sparse import dot
from widemargin.solvers.online import AveragedSolver, AveragedState, add_averaged, small_batches

MARGINS: dict[str, Callable[[FloatVector], FloatVector]] = {"errors": np.positive, "root": np.sqrt, "one": np.sign}


@dataclass(slots=True)
class PassiveAggressiveState(AveragedState):
    """The state of `online`, and the sum of all F in the last epoch."""

    loss: float = 0.0


@kernel
def _update(
    w: FloatVector, u: FloatVector, t: int, cuts: Cuts, margin: FloatVector, most: FloatVector, ridge: FloatVector
) -> float:
    """Make a step for every cut, clipped to `most`; return the sum of F."""
    total, a = 0.0, cuts.a
    for k in range(len(margin)):
        begin, end = a.indptr[k], a.indptr[k + 1]
        loss, square = margin[k] - dot(a.indices, a.values, begin, end, w), ridge[k]
        for entry in range(begin, end):
            square += a.values[entry] * a.values[entry]
        if margin[k] > 0.0 and loss > 0.0:
            total += loss
            if end > begin:
                add_averaged(min(loss / square, most[k]), a, k, w, u, t + k)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveAggressive(AveragedSolver):
    """Passive-aggressive steps.

    Parameters
    ----------
    slack : ``"none"``, ``"linear"`` or ``"squared"``
    margin : how far predictions should be behind gold: by their ``"errors"``, the ``"root"`` of these, or ``"one"``
    C : the price of the slack; None: the problem's C
    average : return the average of w over all examples instead of the last w
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    """

    slack: Literal["none", "linear", "squared"] = choice("linear", "none", "squared")
    margin: Literal["errors", "root", "one"] = choice("root", "errors", "one")
    C: float | None = number(None, above=0.0)
    average: bool = True
    batch_size: int | None = number(None, least=1)

    state: ClassVar[type[AveragedState]] = PassiveAggressiveState

    def epoch(self, problem: Problem, state: PassiveAggressiveState, rng: np.random.Generator) -> None:
        """One pass with a step for every wrong prediction."""
        state.loss = 0.0
        prices = (problem.C if self.C is None else self.C) * problem.example_weight
        for batch in small_batches(problem, rng, self.batch_size):
            cuts, price = problem.mistakes(state.w, batch), prices[batch]
            most = price if self.slack == "linear" else np.full(len(batch), np.inf)
            ridge = 0.5 / price if self.slack == "squared" else np.zeros(len(batch))
            state.loss += _update(state.w, state.u, state.t, cuts, MARGINS[self.margin](cuts.b), most, ridge)
            state.t += len(batch)
