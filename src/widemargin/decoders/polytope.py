"""Graphs as integer programmes over the local polytope (Wainwright & Jordan 2008, ch. 8), solved by HiGHS.

    max ⟨θ, μ⟩,   Σ_a μ_v(a) = 1,   Σ_b μ_uv(a, b) = μ_u(a),   Σ_a μ_uv(a, b) = μ_v(b),   0 ≤ μ ≤ 1

With whole μ_v this is the best output. Without, it is the linear programme that the messages of `decoders.messages`
approach: its value is a bound, and its solution may have fractions (Finley & Joachims 2008 learn from those).
"""

from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector, LongMatrix, LongVector
from widemargin.decoders.coverage import LARGEST, OTHER, OUT_OF_TIME, SOLVED, TINY, Limits
from widemargin.errors import WidemarginError

INFEASIBLE = 2  # SciPy's status
TOLERANCE = 1e-6
"""By how much HiGHS may miss the value of one node or edge, where the largest score is `LARGEST`."""


class Polytope(NamedTuple):
    """low ≤ rows · μ ≤ high, equations if both are the same; which parts are labels of nodes; how many items."""

    rows: Any
    low: FloatVector
    high: FloatVector
    is_label: LongVector
    n_items: int


class Point(NamedTuple):
    """The best μ found, None if there is none, and a bound on the value of all."""

    mu: FloatVector | None
    bound: float


def polytope(widths: LongVector, ends: LongMatrix, at_node: LongVector, at_edge: LongVector, n_parts: int) -> Polytope:
    """The equations of a graph whose parts are numbered as in `structures.graph`."""
    from scipy.sparse import coo_array

    n_labels = int(widths.sum())
    nodes = np.repeat(np.arange(len(widths)), widths)
    row, column, entry = [nodes], [np.arange(n_labels)], [np.ones(n_labels)]
    count = len(widths)
    for (u, v), at in zip(ends.tolist(), at_edge.tolist(), strict=True):
        pairs = np.arange(widths[u] * widths[v])
        for node, label in ((u, pairs // widths[v]), (v, pairs % widths[v])):
            own = np.arange(widths[node])
            row += [count + label, count + own]
            column += [at + pairs, at_node[node] + own]
            entry += [np.ones(len(pairs)), -np.ones(len(own))]
            count += len(own)
    cells = (np.concatenate(entry), (np.concatenate(row), np.concatenate(column)))
    rows = coo_array(cells, shape=(count, n_parts)).tocsr()
    is_label = (np.arange(n_parts) < n_labels).astype(np.int64)
    right = np.zeros(count)
    right[: len(widths)] = 1.0
    return Polytope(rows, right, right, is_label, len(widths) + len(ends))


def solve(given: Polytope, theta: FloatVector, *, whole: bool, limits: Limits | None = None) -> Point:
    """The best μ, and a bound that holds in spite of HiGHS's tolerances; −∞ if scores of −∞ forbid all outputs."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    possible = theta > -np.inf
    values, cut = np.where(possible, theta, 0.0), limits or Limits()
    scale = LARGEST / max(float(np.abs(values).max(initial=0.0)), TINY)
    given_options = {"mip_rel_gap": 0.0, "time_limit": cut.seconds, "node_limit": cut.nodes}
    options: Any = {name: value for name, value in given_options.items() if value is not None}
    result = milp(
        -scale * values,
        integrality=given.is_label if whole else None,
        bounds=Bounds(0.0, possible.astype(np.float64)),
        constraints=LinearConstraint(given.rows, given.low, given.high),
        options=options,
    )
    if result.status == INFEASIBLE:
        return Point(None, -np.inf)
    limited = (OUT_OF_TIME,) if cut.nodes is None else (OUT_OF_TIME, OTHER)
    if result.status not in (SOLVED, *limited):
        raise WidemarginError(f"HiGHS failed on the programme of a graph: {result.message}")
    bound = result.fun if not whole and result.status == SOLVED else result.mip_dual_bound
    slack = TOLERANCE * given.n_items
    found = None if result.x is None else np.clip(result.x, 0.0, 1.0)
    if bound is None:
        return Point(found, np.inf)
    return Point(found, (slack - float(bound)) / scale)
