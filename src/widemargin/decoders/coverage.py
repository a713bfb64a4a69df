"""Choose items within a budget, by their own values and by the concepts that they cover: an integer programme.

    max Σ_i v_i s_i + Σ_c u_c z_c,   Σ_i cost_i s_i ≤ budget,   s_i ∈ {0, 1},   z_c = max of s_i over the items with c

This is the model of Gillick & Favre (2009) with values of either sign. A concept c counts once, however many chosen
items have it. Only one side of z_c = max s_i ever matters:

    u_c > 0    z_c ≤ Σ_i s_i       as large as it can be anyway
    u_c < 0    z_c ≥ s_i, each i   as small as it can be anyway

so z may be continuous, and the programme has a row for each concept with u_c > 0 and one for each item of a concept
with u_c < 0. HiGHS solves it by branch and bound, through SciPy. If a limit ends the search early, HiGHS returns the
best items found so far and an upper bound on the value of all others; a greedy choice replaces these items if it is
better. The tolerances of HiGHS are about a millionth of the largest value.
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatVector, IntVector, LongVector
from widemargin.errors import DataError, WidemarginError

LARGEST = 1e3  # values are scaled to this, so that HiGHS's absolute tolerance of 1e-6 is small beside them
TINY = 1e-300
OPEN = 1e-6  # a relative distance to the bound that tolerances do not explain
SOLVED, OUT_OF_TIME, OTHER = 0, 1, 4  # SciPy's status; a limit of nodes is reported as OTHER


class Coverage(NamedTuple):
    """Items and concepts: `items[indptr[c]:indptr[c + 1]]` are the items with concept c; `costs` of the items."""

    indptr: LongVector
    items: IntVector
    costs: LongVector
    budget: int

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.costs)

    @property
    def concept(self) -> LongVector:
        """The concept of each entry of `items`."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def covered(self, chosen: BoolVector) -> BoolVector:
        """The concepts that the chosen items cover."""
        times = np.bincount(self.concept, weights=chosen[self.items], minlength=len(self.indptr) - 1)
        return times > 0

    def value(self, chosen: BoolVector, item_values: FloatVector, concept_values: FloatVector) -> float:
        """Σ v_i s_i + Σ u_c z_c of the chosen items."""
        return float(item_values[chosen].sum() + concept_values[self.covered(chosen)].sum())


class Limits(NamedTuple):
    """When to give up: after so many seconds, or so many nodes of the search; None for never.

    Seconds depend on the machine and its load, so results with a limit of seconds may differ from run to run. Results
    with a limit of nodes do not.
    """

    seconds: float | None = None
    nodes: int | None = None


class Selection(NamedTuple):
    """The best items found, their value, and an upper bound on the value of any items; the two agree if proven."""

    chosen: BoolVector
    value: float
    bound: float


def best_items(
    coverage: Coverage, item_values: FloatVector, concept_values: FloatVector, limits: Limits | None = None
) -> Selection:
    """The items of greatest value within the budget."""
    if not (np.isfinite(item_values).all() and np.isfinite(concept_values).all()):
        raise DataError("the values of what is to be chosen are not finite numbers; are the weights damaged?")
    chosen = np.zeros(coverage.n_items, dtype=np.bool_)
    usable = _usable(coverage, item_values, concept_values)
    if not usable.any():
        return Selection(chosen, 0.0, 0.0)
    found, bound = _solved(coverage, np.flatnonzero(usable), item_values, concept_values, limits or Limits())
    bound = min(bound, _at_most(coverage, usable, item_values, concept_values))
    chosen[found] = True
    value = coverage.value(chosen, item_values, concept_values)
    if bound > value + OPEN * abs(bound):  # cut short, perhaps before HiGHS had found anything
        greedy = _greedy(coverage, usable, item_values, concept_values)
        other = coverage.value(greedy, item_values, concept_values)
        if other > value:
            chosen, value = greedy, other
    return Selection(chosen, value, max(value, bound))


def _greedy(
    coverage: Coverage, usable: BoolVector, item_values: FloatVector, concept_values: FloatVector
) -> BoolVector:
    """A greedy choice: add the item with the greatest gain per cost until none gains anything."""
    chosen, left = np.zeros(coverage.n_items, dtype=np.bool_), usable.copy()
    while left.any():
        new = np.where(coverage.covered(chosen), 0.0, concept_values)[coverage.concept]
        gains = item_values + np.bincount(coverage.items, weights=new, minlength=coverage.n_items)
        left &= (gains > 0.0) & (coverage.costs <= coverage.budget - coverage.costs[chosen].sum())
        if left.any():
            best = int(np.argmax(np.where(left, gains / np.maximum(coverage.costs, 1), -np.inf)))
            chosen[best], left[best] = True, False
    return chosen


def _usable(coverage: Coverage, item_values: FloatVector, concept_values: FloatVector) -> BoolVector:
    """The items that can improve some set; all others add at most v_i + Σ max(u_c, 0) ≤ 0, or exceed the budget."""
    worth = np.maximum(concept_values, 0.0)[coverage.concept]
    most = item_values + np.bincount(coverage.items, weights=worth, minlength=coverage.n_items)
    return (most > 0.0) & (coverage.costs <= coverage.budget)


def _at_most(coverage: Coverage, usable: BoolVector, item_values: FloatVector, concept_values: FloatVector) -> float:
    """A bound that needs no search: the sum of all positive values."""
    return float(
        np.maximum(item_values[usable], 0.0).sum() + np.maximum(concept_values[coverage.covered(usable)], 0.0).sum()
    )


def _solved(
    coverage: Coverage, items: LongVector, item_values: FloatVector, concept_values: FloatVector, limits: Limits
) -> tuple[LongVector, float]:
    """The chosen ones of `items`, and the bound; +∞ if there is none yet."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    matrix, upper, concepts = _rows(coverage, items, concept_values)
    values = np.concatenate([item_values[items], concept_values[concepts]])
    scale = LARGEST / max(float(np.abs(values).max()), TINY)
    # Without presolving: a fifth faster for budgets of few items. HiGHS 1.12 also writes a line to the standard output
    # when it repairs a solution of a presolved programme.
    given = {"presolve": False, "mip_rel_gap": 0.0, "time_limit": limits.seconds, "node_limit": limits.nodes}
    options: Any = {name: value for name, value in given.items() if value is not None}
    result = milp(
        -scale * values,
        integrality=(np.arange(len(values)) < len(items)).astype(np.int64),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(matrix, -np.inf, upper),
        options=options,
    )
    limited = (OUT_OF_TIME,) if limits.nodes is None else (OUT_OF_TIME, OTHER)
    if result.status not in (SOLVED, *limited):
        raise WidemarginError(f"HiGHS failed on a programme that has a solution: {result.message}")
    bound = result.mip_dual_bound
    chosen = np.empty(0, dtype=np.int64) if result.x is None else items[result.x[: len(items)] > 0.5]
    return chosen, np.inf if bound is None else -float(bound) / scale


def _rows(coverage: Coverage, items: LongVector, concept_values: FloatVector) -> tuple[Any, FloatVector, LongVector]:
    """The constraints, rows · (s, z) ≤ upper, over the `items` and their concepts of non-zero value."""
    from scipy.sparse import csr_array

    column = np.full(coverage.n_items, -1, dtype=np.int64)
    column[items] = np.arange(len(items))
    kept = (column[coverage.items] >= 0) & (concept_values[coverage.concept] != 0.0)
    s, concept = column[coverage.items[kept]], coverage.concept[kept]
    concepts, z = np.unique(concept, return_inverse=True)
    good = concept_values[concepts] > 0.0
    # Row 0 is the budget. A concept with u > 0 has a row z − Σ s ≤ 0, one with u < 0 a row s − z ≤ 0 for each item.
    n_good, entry_good = int(good.sum()), good[z]
    row_of_good = np.cumsum(good)
    n_bad = int((~entry_good).sum())
    row = np.where(entry_good, row_of_good[z], n_good + np.cumsum(~entry_good))
    places = np.arange(n_good + 1, n_good + n_bad + 1)
    rows = np.concatenate([np.zeros(len(items), dtype=np.int64), row, row_of_good[good], places])
    columns = np.concatenate([np.arange(len(items)), s, len(items) + np.flatnonzero(good), len(items) + z[~entry_good]])
    entries = np.concatenate([coverage.costs[items], np.where(entry_good, -1.0, 1.0), np.ones(n_good), -np.ones(n_bad)])
    shape = (1 + n_good + n_bad, len(items) + len(concepts))
    upper = np.zeros(shape[0])
    upper[0] = coverage.budget
    return csr_array((entries, (rows, columns)), shape=shape), upper, concepts
