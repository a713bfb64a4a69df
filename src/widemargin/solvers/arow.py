"""Adaptive regularisation of weights, AROW (Crammer, Kulesza & Dredze 2009; for structures Mejer & Crammer 2010).

w is the mean of a Gaussian over weight vectors with the variances σ_j. A wrong prediction ŷ = argmax_y ⟨w, φ(x_i, y)⟩
moves the weights that are least certain most, and makes those it touches more certain:

    F = Δ − ⟨w, ψ⟩;   β = 1 / (Σ_j σ_j ψ_j² + γ);   w_j ← w_j + F β σ_j ψ_j;   1/σ_j ← 1/σ_j + ψ_j² / γ

The paper calls γ r; an example's weight c_i divides it. Only the diagonal of the covariance is kept, and updated by the
paper's rule for the inverse. Examples of a batch are decoded at one w; steps are made one after the other.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver, number, start_weights
from widemargin.core.sparse import dot
from widemargin.solvers.online import small_batches


@dataclass(slots=True)
class AROWState:
    """The mean `w`, the variance of each weight, and the sum of all F in the last epoch."""

    w: FloatVector
    variance: FloatVector
    loss: float = 0.0

    def last(self) -> FloatVector:
        """w after the last step."""
        return self.w

    def move(self, w: FloatVector) -> None:
        """Go on from `w`; the variances stay."""
        self.w[:] = w


@kernel
def _update(w: FloatVector, variance: FloatVector, cuts: Cuts, gamma: FloatVector) -> float:
    """Make a step for every cut; return the sum of F."""
    total, a = 0.0, cuts.a
    for k in range(len(gamma)):
        begin, end = a.indptr[k], a.indptr[k + 1]
        loss = cuts.b[k] - dot(a.indices, a.values, begin, end, w)
        if cuts.b[k] <= 0.0 or loss <= 0.0:
            continue
        total += loss
        # The whole sum comes first: every weight of the step uses the variances from before it.
        spread = gamma[k]
        for entry in range(begin, end):
            spread += variance[a.indices[entry]] * a.values[entry] * a.values[entry]
        for entry in range(begin, end):
            j, value = a.indices[entry], a.values[entry]
            w[j] += loss / spread * variance[j] * value
            variance[j] = 1.0 / (1.0 / variance[j] + value * value / gamma[k])
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class AROW(Solver):
    """AROW with a variance for every weight.

    Parameters
    ----------
    variance : the variance of every weight at first
    gamma : the larger, the less a single example changes; the paper's r
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    """

    variance: float = number(1.0, above=0.0)
    gamma: float = number(1.0, above=0.0)
    batch_size: int | None = number(None, least=1)

    online: ClassVar[bool] = True
    goes_on_from: ClassVar[Literal["weights", "own weights", "own state"]] = "own state"
    mixes: ClassVar[bool] = True
    usual_epochs: ClassVar[int | None] = 15

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> AROWState:
        """Weights zero, or a copy of `w`, all equally uncertain."""
        return AROWState(start_weights(problem, w, cuts), np.full(problem.n_weights, float(self.variance)))

    def epoch(self, problem: Problem, state: AROWState, rng: np.random.Generator) -> None:
        """One pass with a step for every wrong prediction."""
        state.loss = 0.0
        for batch in small_batches(problem, rng, self.batch_size):
            cuts = problem.mistakes(state.w, batch)
            state.loss += _update(state.w, state.variance, cuts, self.gamma / problem.example_weight[batch])

    def weights(self, state: AROWState) -> FloatVector:
        """The mean."""
        return state.w
