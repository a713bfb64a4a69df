"""Pair steps against an independent quadratic programme."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from widemargin.solvers.qp import pair_steps

pytestmark = pytest.mark.interpreted


def value(K, b, ridge, alpha):
    return b @ alpha - 0.5 * alpha @ K @ alpha - 0.5 * ridge * alpha.sum() ** 2


@given(
    st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([(2.0, 0.0), (0.3, 0.0), (np.inf, 1.0)]), st.booleans()
)
def test_pair_steps_find_the_optimum(seed, n, kind, warm):
    cap, ridge = kind
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (n, 4)).astype(np.float64)
    if n > 2:
        a[1] = a[0]  # twins with other b: no curvature between them
    b, K = rng.integers(-1, 4, n).astype(np.float64), a @ a.T
    alpha = rng.random(n) * rng.integers(0, 2, n) if warm else np.zeros(n)
    if alpha.sum() > cap:
        alpha *= cap / alpha.sum()
    before = value(K, b, ridge, alpha)
    F = np.append(b - K @ alpha - ridge * alpha.sum(), 0.0)
    alpha = np.append(alpha, cap - alpha.sum())
    pair_steps(np.pad(K, (0, 1)), F, alpha, n, ridge, 1e-10, 100_000)
    assert np.all(alpha >= 0)
    assert np.isinf(cap) or alpha.sum() == pytest.approx(cap, abs=1e-9)
    alpha = alpha[:n]
    assert np.allclose(F[:n], b - K @ alpha - ridge * alpha.sum(), atol=1e-8)
    found = value(K, b, ridge, alpha)
    assert found >= before - 1e-12
    room = {"type": "ineq", "fun": lambda x: cap - x.sum(), "jac": lambda x: -np.ones(n)}
    best = minimize(
        lambda x: -value(K, b, ridge, x),
        np.full(n, 0.1 * min(cap, 1.0) / n),
        jac=lambda x: K @ x + ridge * x.sum() - b,
        bounds=[(0, None)] * n,
        constraints=[] if np.isinf(cap) else [room],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found >= -best.fun - 1e-6 * max(1.0, abs(best.fun))
