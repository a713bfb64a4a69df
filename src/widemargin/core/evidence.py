"""Evidence: cuts summed up with α ≥ 0. Every lower bound on the least P is made of it.

    C Σ c_i ℓ(ξ_i(v)) ≥ t (β − ⟨v, s⟩) − t² q   for every v and 0 ≤ t ≤ most,    β = Σ bα,   s = Σ αa

with q = Σ A_i² / (4 C c_i) for the squared hinge, where any t will do; for the hinge q = 0, A_i ≤ C c_i and t ≤ 1. So

    P* ≥ max_t  tβ − r*(ts) − t² q

(`core.penalty`). A solver updates sums like these step by step, and the D that they give is good enough to steer by. A
proof needs sums that are computed afresh from α and cuts, then moved to the safe side by the largest possible rounding
error: a sum of n products is off by at most (n + 1) u Σ|terms|, so s by at most (n + 1) u Σ α‖a‖.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core import Penalty
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import WorkingSets
from widemargin.core.penalty import best_bound
from widemargin.core.products import inner
from widemargin.core.sparse import Rows

UNIT = 2.0**-52  # u; twice the error of rounding to nearest, to cover the products of small errors

EXPECTED = 64.0  # about how many roundings an expectation takes


class Evidence(NamedTuple):
    """β, q and s of the module's inequality, the largest t, and how far s may be off; β and q are on the safe side."""

    linear: float
    quadratic: float
    s: FloatVector
    most: float
    off: float = 0.0

    def bound(self, penalty: Penalty, l1: float) -> float:
        """The lower bound on the least P that this proves."""
        return best_bound(penalty, l1, self.linear, self.s, self.quadratic, self.most, self.off)


def smooth_doubt(alpha: FloatVector, scores: FloatVector) -> float:
    """A bound on the rounding error of Σ αb of smooth cuts, where `scores` are the sizes of ξ + ⟨w, a⟩ = b.

    Scores of size m are rounded by um, so that probabilities are off by a share of um, and ⟨w, a⟩ by um².
    """
    return EXPECTED * UNIT * inner(alpha, scores * (1.0 + scores))


class Ledger:
    """β, s and q while cuts are added to them, and the sums of sizes that bound their rounding errors."""

    def __init__(self, n_weights: int) -> None:
        self.s = np.zeros(n_weights)
        self.n, self.linear, self.size, self.reach, self.quadratic = 0, 0.0, 0.0, 0.0, 0.0

    def add(self, alpha: FloatVector, b: FloatVector, a: Rows) -> None:
        """Add cuts with their α."""
        self._count(len(b), *_add_rows(alpha, b, a, self.s))

    def add_sum(self, n: int, linear: float, s: FloatVector) -> None:
        """Add Σ bα and Σ αa of `n` cuts; the caller must account for the rounding errors in them."""
        self._count(n, linear, 0.0, 0.0)
        self.s += s

    def add_store(self, store: CutStore, cap: FloatVector) -> FloatVector:
        """Add all cuts of a store with their α, scaled down in blocks where they exceed `cap`; return every A_i."""
        mass = np.zeros(len(cap))
        self._count(len(store), *_add_sets(store.sets, cap, mass, self.s))
        return mass

    def evidence(self, most: float) -> Evidence:
        """The sums, on the safe side of rounding."""
        share = UNIT * (self.n + 1)
        return Evidence(
            self.linear - share * self.size, self.quadratic * (1.0 + share), self.s, most, share * self.reach
        )

    def _count(self, n: int, linear: float, size: float, reach: float) -> None:
        self.n, self.linear = self.n + n, self.linear + linear
        self.size, self.reach = self.size + size, self.reach + reach


@kernel
def _add_cut(alpha: float, a: Rows, begin: int, end: int, s: FloatVector) -> float:
    """Add αa to s; return α‖a‖."""
    square = 0.0
    for k in range(begin, end):
        s[a.indices[k]] += alpha * a.values[k]
    for k in range(begin, end):
        square += a.values[k] * a.values[k]
    return alpha * np.sqrt(square)


@kernel
def _add_rows(alpha: FloatVector, b: FloatVector, a: Rows, s: FloatVector) -> tuple[float, float, float]:
    """Add all αa to s; return Σ bα, Σ |bα| and Σ α‖a‖."""
    linear = size = reach = 0.0
    for k in range(len(b)):
        linear += alpha[k] * b[k]
        size += abs(alpha[k] * b[k])
        reach += _add_cut(alpha[k], a, a.indptr[k], a.indptr[k + 1], s)
    return linear, size, reach


@kernel
def _add_sets(sets: WorkingSets, cap: FloatVector, mass: FloatVector, s: FloatVector) -> tuple[float, float, float]:
    """Add all αa of working sets to s, like `_add_rows`; set `mass` to A_i ≤ `cap`. An α < 0 or NaN counts as 0."""
    linear = size = reach = 0.0
    pool = Rows(sets.begin, sets.indices, sets.values)
    for block in range(len(sets.first)):
        # The stored sums of α were updated step by step and have drifted; a proof needs this one.
        slot = sets.first[block]
        while slot >= 0:
            if sets.alpha[slot] > 0.0:
                mass[block] += sets.alpha[slot]
            slot = sets.after[slot]
        if mass[block] == 0.0:
            continue  # a block without α proves nothing, and its scale may be 0 / 0
        # A little less than the cap, so that the exact sum of the α is below it, too.
        scale = min(1.0, cap[block] / mass[block] * (1.0 - 2.0 * UNIT * (sets.size[block] + 1)))
        mass[block] *= scale
        slot = sets.first[block]
        while slot >= 0:
            alpha = scale * sets.alpha[slot]
            if alpha > 0.0:
                linear += alpha * sets.b[slot]
                size += abs(alpha * sets.b[slot])
                reach += _add_cut(alpha, pool, sets.begin[slot], sets.end[slot], s)
            slot = sets.after[slot]
    return linear, size, reach


def evidence_of(store: CutStore, n_weights: int, cap: FloatVector, ridge: FloatVector | None = None) -> Evidence:
    """The evidence in the α of a store.

    Without `ridge`, blocks have masses up to their `cap`, and t ≤ 1. With it, q = ½ Σ ridge_i A_i², and any t will do.
    """
    ledger = Ledger(n_weights)
    mass = ledger.add_store(store, cap)
    if ridge is None:
        return ledger.evidence(1.0)
    used = mass > 0.0
    ledger.quadratic = 0.5 * float(np.sum(ridge[used] * mass[used] ** 2))
    return ledger.evidence(np.inf)
