"""The penalty r(w) of a problem, and the lower bounds that it allows.

    "l2"           r(w) = ½‖w‖²
    "l1"           r(w) = ‖w‖₁
    "elastic-net"  r(w) = ½‖w‖² + λ‖w‖₁   (Zou & Hastie 2005), λ being `l1`
    "none"         r(w) = 0

Cuts that add up to R(v) ≥ β − ⟨v, s⟩ for every v bound the optimum: P* ≥ β + min_v r(v) − ⟨v, s⟩ = β − r*(s), where

    "l2"           r*(s) = ½‖s‖²
    "l1"           r*(s) = 0 if ‖s‖_∞ ≤ 1, else ∞
    "elastic-net"  r*(s) = ½ Σ_j max(|s_j| − λ, 0)²
    "none"         r*(s) = 0 if s = 0, else ∞

Since also R ≥ 0, β and s may be replaced by tβ and ts for any t from 0 to 1, which makes the bound of "l1" finite.
"""

from math import inf, sqrt
from typing import get_args

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector
from widemargin.core import Penalty
from widemargin.core.products import inner

PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
HALVINGS = 40
UNIT = 2.0**-50  # the rounding unit, with some room


def formula(penalty: Penalty, l1: float) -> str:
    """The penalty as it is printed.

    >>> formula("elastic-net", 0.5)
    '½‖w‖² + 0.5 ‖w‖₁'
    """
    return {"l2": "½‖w‖²", "l1": "‖w‖₁", "elastic-net": f"½‖w‖² + {l1:g} ‖w‖₁", "none": "0"}[penalty]


def value(penalty: Penalty, l1: float, w: FloatVector) -> float:
    """r(w)."""
    if penalty == "none":
        return 0.0
    if penalty == "l1":
        return float(np.abs(w).sum())
    square = 0.5 * inner(w, w)
    return square if penalty == "l2" else square + l1 * float(np.abs(w).sum())


def bound(penalty: Penalty, l1: float, beta: float, s: FloatVector) -> float:
    """A lower bound on the optimum from R(v) ≥ β − ⟨v, s⟩ and R(v) ≥ 0."""
    if penalty == "l2":
        return beta - 0.5 * inner(s, s)
    if penalty == "elastic-net":
        return beta - 0.5 * _excess(s, l1, 1.0)[0]
    return max(largest_scale(penalty, s, 1.0) * beta, 0.0)


def best_bound(
    penalty: Penalty, l1: float, beta: float, s: FloatVector, quadratic: float, most: float, off: float = 0.0
) -> float:
    """max_t tβ − r*(ts) − t² · quadratic over 0 ≤ t ≤ `most`; `quadratic` is positive or `most` finite, if β > 0.

    `off` bounds ‖s − s'‖, where s' is the exact vector without rounding. Where r* is finite, r*(ts) and r*(ts') differ
    by at most t² (‖s‖ · off + ½ off²).
    """
    if not beta > 0.0:
        return 0.0
    size = sqrt(inner(s, s))
    quadratic += size * off + 0.5 * off * off + UNIT * len(s) * size * size
    if penalty == "elastic-net":
        t = _best_scale(l1, beta, s, quadratic, most)
        spent = 0.5 * _excess(s, l1, t)[0] + t * t * quadratic
    else:
        quadratic += 0.5 * size * size if penalty == "l2" else 0.0
        t = largest_scale(penalty, s, most, off)
        t = min(t, beta / (2.0 * quadratic)) if quadratic > 0 else t
        spent = t * t * quadratic
    found = t * beta * (1.0 - UNIT) - spent * (1.0 + UNIT)
    return max(found, 0.0) if np.isfinite(t) else 0.0


def largest_scale(penalty: Penalty, s: FloatVector, most: float, off: float = 0.0) -> float:
    """The largest t ≤ `most` for which r*(ts) is finite, for every s that differs by at most `off`."""
    if penalty in ("l2", "elastic-net"):
        return most
    size = float(np.abs(s).max(initial=0.0)) + off
    if penalty == "l1":
        return min(most, 1.0 / max(size, 1e-300))
    return 0.0 if size > 0.0 else most


def _best_scale(l1: float, beta: float, s: FloatVector, quadratic: float, most: float) -> float:
    """The t ≤ `most` where the slope β − Σ max(t|s_j| − λ, 0)|s_j| − 2t · quadratic, which falls with t, is 0."""

    def rises(t: float) -> bool:
        return beta - _excess(s, l1, t)[1] - 2.0 * t * quadratic >= 0.0

    low, high = 0.0, min(most, beta / (2.0 * quadratic) if quadratic > 0 else inf)
    if not np.isfinite(high) or rises(high):
        return high if np.isfinite(high) else 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rises(middle) else (low, middle)
    return low


@kernel
def _excess(s: FloatVector, l1: float, t: float) -> tuple[float, float]:
    """Σ max(t|s_j| − λ, 0)², and Σ max(t|s_j| − λ, 0)|s_j|."""
    squares = slope = 0.0
    for each in s:
        size = abs(each)
        over = max(t * size - l1, 0.0)
        squares += over * over
        slope += over * size
    return squares, slope
