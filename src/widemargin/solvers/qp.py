"""The small quadratic programme at the heart of the dual solvers, by pair steps (SMO).

    max_α  Σ bα − ½ αᵀKα − ½ ridge A²,   A = Σ α ≤ cap,   α ≥ 0

A *zero cut* with a = 0, b = 0 holds what is left of the cap, so every step moves weight from one cut to another:
from q, the least violated with α > 0, to p, the most violated of all. With F = ∂D/∂α at the current point, F of the
zero cut being 0, the step to the optimum along the pair is

    t = (F_p − F_q) / (K_pp − 2K_pq + K_qq + ridge where one of the two is the zero cut)

clipped so that both α stay ≥ 0 (Balamurugan et al. 2011, Algorithm 2, with C in its place). The hinge has cap = C c_i
and ridge = 0; the squared hinge has cap = ∞ and ridge = 1 / (2 C c_i), and a pair with the zero cut is then the
coordinate step of Chang & Yih. The same programme serves one block of cuts, the cuts of a 1-slack method or bundle, and
the k best of MIRA.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector


@kernel
def pair_steps(
    K: FloatMatrix, F: FloatVector, alpha: FloatVector, n: int, ridge: float, tolerance: float, max_steps: int
) -> None:
    """Move `alpha` until no pair is violated by more than `tolerance`.

    Parameters
    ----------
    K : (> n, > n) products of the n cuts, symmetric; row and column n, those of the zero cut, are zero
    F : (> n) b − ⟨w, a⟩ − ridge · A of every cut at the current `alpha`, kept up to date; F[n] is zero
    alpha : (> n) exactly 0 where a step ends at 0; alpha[n] is what is left of the cap
    """
    for _ in range(max_steps):
        # Every cut may gain weight, the zero cut included, but only those with α > 0 can give some.
        p, q = n, -1
        for k in range(n + 1):
            if F[k] > F[p]:
                p = k
            if alpha[k] > 0.0 and (q < 0 or F[k] < F[q]):
                q = k
        if q < 0 or F[p] - F[q] <= tolerance:
            break
        curvature = K[p, p] - 2.0 * K[p, q] + K[q, q]
        # A step between two cuts leaves A as it is; one with the zero cut changes it, and so all F by the ridge.
        drop = 0.0
        if n in (p, q):
            curvature += ridge
            drop = ridge if q == n else -ridge
        t = alpha[q]
        if curvature > 0.0 and F[p] - F[q] < t * curvature:
            t = (F[p] - F[q]) / curvature
        if t == np.inf:
            break  # without curvature and without a cap there is no optimum: b > 0 = a
        # Exactly 0 where the step ends there: cuts with α = 0 are dropped.
        alpha[p] += t
        alpha[q] = alpha[q] - t if t < alpha[q] else 0.0
        for k in range(n):
            F[k] -= t * (K[k, p] - K[k, q] + drop)
