"""MIRA, the margin-infused relaxed algorithm (Crammer & Singer 2003; McDonald et al. 2005).

Each example makes the smallest change of w that puts the gold output ahead of the k best others by their errors, up to
a slack with a price:

    w ← argmin_w' ½‖w' − w‖² + C c_i ξ   with   ξ ≥ 0,   ⟨w', ψ_j⟩ ≥ Δ_j − ξ   for the k best outputs j of ⟨w, φ⟩ + Δ

Its dual is the programme of `qp` with F_j = Δ_j − ⟨w, ψ_j⟩, cap = C c_i and no ridge, and the step is w += Σ α_j ψ_j.
For k = 1 that is the passive-aggressive step τ = clip((Δ − ⟨w, ψ⟩) / ‖ψ‖², 0, C c_i). Examples of a batch are decoded
at one w; steps are made one after the other, each with the violations at the current w. The result is the average of w
over all steps (`online`). Like the perceptron, MIRA minimises no sum of losses exactly, whichever loss the problem
names.

With C = ∞ there is no slack: the step satisfies its constraints exactly (Crammer & Singer 2003; Chang & Yih 2013, §2.1;
Kummerfeld et al. 2015, §2.3). Where no w' satisfies those of several outputs, the step ends somewhere between them.
*Plain* MIRA takes the k best outputs of ⟨w, φ⟩, without Δ (McDonald et al. 2005).
"""

from dataclasses import dataclass

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core.cuts import Cuts
from widemargin.core.examples import KBest
from widemargin.core.objective import BestCuts
from widemargin.core.problem import Problem
from widemargin.core.products import new_lookup, products
from widemargin.core.solver import number
from widemargin.core.sparse import dot
from widemargin.solvers.online import AveragedSolver, AveragedState, add_averaged, small_batches
from widemargin.solvers.qp import pair_steps

TOLERANCE = 1e-8
MAX_STEPS = 1000


@kernel
def _update(w: FloatVector, u: FloatVector, t: int, cuts: Cuts, c: FloatVector, max_steps: int) -> int:
    """Make one step for every block; the cuts of a block are consecutive. Return the number of steps."""
    indptr = cuts.a.indptr
    n, most, longest, size = len(cuts.b), 0, indptr[0], 0
    for k in range(n):
        size = size + 1 if k > 0 and cuts.block[k] == cuts.block[k - 1] else 1
        most, longest = max(most, size), max(longest, indptr[k + 1] - indptr[k])
    # Room for the largest block, and one more for the zero cut; every step overwrites what it uses.
    K, F, alpha = np.empty((most + 1, most + 1)), np.empty(most + 1), np.empty(most + 1)
    lookup = new_lookup(longest)
    steps, first = 0, 0
    while first < n:
        last = first + 1
        while last < n and cuts.block[last] == cuts.block[first]:
            last += 1
        size, cap = last - first, c[cuts.block[first]]
        products(cuts.a, first, last, lookup, K)
        for k in range(size):
            F[k] = cuts.b[first + k] - dot(cuts.a.indices, cuts.a.values, indptr[first + k], indptr[first + k + 1], w)
            K[k, size] = K[size, k] = alpha[k] = 0.0
            if cap == np.inf and K[k, k] == 0.0:
                F[k] = -np.inf  # no change of w satisfies a constraint without features
        # Each example starts at α = 0, with all of the cap on the zero cut: MIRA remembers no α from pass to pass.
        F[size], K[size, size], alpha[size] = 0.0, 0.0, cap
        pair_steps(K, F, alpha, size, 0.0, TOLERANCE, max_steps)
        for k in range(size):
            if alpha[k] > 0.0:
                add_averaged(alpha[k], cuts.a, first + k, w, u, t + steps)
        steps, first = steps + 1, last
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class MIRA(AveragedSolver):
    """MIRA with the `k` best outputs.

    Parameters
    ----------
    k : how many outputs of an example a step looks at; more than one requires examples that offer `KBest`
    C : the price of the slack; None: the problem's C; inf: no slack, a hard margin
    plain : look at the k best outputs by their scores alone, instead of scores plus errors
    average : return the average of w over all steps instead of the last w
    batch_size : how many examples are decoded at one w; None: a small part of the problem's choice
    """

    k: int = number(1, least=1)
    C: float | None = number(None, above=0.0, may_be_infinite=True)
    plain: bool = False
    average: bool = True
    batch_size: int | None = number(None, least=1)

    @property
    def requires(self) -> tuple[type, ...]:
        """Several outputs per example, if k > 1."""
        return (KBest,) if self.k > 1 else ()

    @property
    def requires_of_objective(self) -> tuple[type, ...]:
        """The cuts of several outputs, if k > 1."""
        return (BestCuts,) if self.k > 1 and not self.plain else ()

    def epoch(self, problem: Problem, state: AveragedState, rng: np.random.Generator) -> None:
        """One pass with a step for every example."""
        c = self._prices(problem)
        for batch in small_batches(problem, rng, self.batch_size):
            if self.plain:
                cuts = problem.mistakes(state.w, batch, self.k)
            else:
                cuts = problem.cuts(state.w, batch) if self.k == 1 else problem.best_cuts(state.w, batch, self.k)
            state.t += _update(state.w, state.u, state.t, cuts, c, MAX_STEPS)

    def _prices(self, problem: Problem) -> FloatVector:
        """C c_i of every block; the blocks of plain outputs are the examples, whatever the objective."""
        c = problem.example_weight if self.plain else problem.c
        C = problem.C if self.C is None else self.C
        return C * c if np.isfinite(C) else np.full(len(c), np.inf)
