"""What a problem's optimum is without the library: all cuts by enumeration, and interior points."""

import numpy as np

from widemargin.objectives import Margin, PositionWise, Slack, Softmax


def all_cuts(small):
    """For every example the errors and the dense ψ of all its outputs."""
    table = []
    for i in range(small.examples.n_examples):
        differences = [small.examples.difference(np.array([i], dtype=np.int32), y) for y in small.outputs(i)]
        psi = np.zeros((len(differences), small.examples.n_weights))
        for k, difference in enumerate(differences):
            psi[k, difference.psi.indices] = difference.psi.values
        table.append((np.array([difference.errors[0] for difference in differences]), psi))
    return table


def all_blocks(problem, small):
    """For every block of the problem's objective the b and the dense a of all its cuts; of a smooth one Δ and ψ."""
    table, objective = all_cuts(small), problem.objective
    if isinstance(objective, Margin | Softmax):
        return table
    if isinstance(objective, Slack):
        return [(errors, errors[:, None] * psi) for errors, psi in table]
    assert isinstance(objective, PositionWise)
    blocks = []
    for i, (_, psi) in enumerate(table):
        by_output = np.array([small.position_errors(i, y) for y in small.outputs(i)])
        blocks += [(errors, errors[:, None] * psi) for errors in by_output.T]
    return blocks


def primal(problem, small, w):
    """P(w) by enumeration."""
    slacks = np.array([max(0.0, np.max(b - a @ w)) for b, a in all_blocks(problem, small)])
    penalty = 0.5 * w @ w if problem.penalty == "l2" else np.abs(w).sum()
    return penalty + problem.C * problem.c @ (slacks if problem.loss == "hinge" else slacks**2)


def optimum(problem, small):
    """The least P(w) and its w, by an interior point method on the enumerated quadratic programme."""
    least, x = quadratic_programme(*programme(problem, all_blocks(problem, small)))
    return least, weights_in(problem, x)


def programme(problem, blocks):
    """The quadratic programme of all cuts of the `blocks`, as `quadratic_programme` takes it.

    Variables are w = u − v, with v only where the penalty is Σ u + v, and the slacks of the blocks that count; each
    cut is a constraint −⟨w, a⟩ − ξ_i ≤ −b.
    """
    n, cuts = problem.n_weights, [(i, cut) for i, cut in enumerate(blocks) if problem.c[i] > 0]
    c = problem.C * problem.c[[i for i, _ in cuts]]
    l1, hinge = problem.penalty == "l1", problem.loss == "hinge"
    rows = [
        np.hstack([-a, *([a] if l1 else []), -np.tile(np.eye(len(cuts))[k], (len(a), 1))])
        for k, (_, (_, a)) in enumerate(cuts)
    ]
    n_variables = (2 * n if l1 else n) + len(cuts)
    constraints = np.vstack([*rows, -np.eye(n_variables)[0 if l1 else n :]])
    bounds = np.concatenate([*(-b for _, (b, _) in cuts), np.zeros(n_variables - (0 if l1 else n))])
    square = np.zeros(2 * n) if l1 else np.ones(n)
    quadratic = np.concatenate([square, np.zeros(len(c)) if hinge else 2.0 * c])
    linear = np.concatenate([1.0 - square[: n_variables - len(c)], c if hinge else np.zeros(len(c))])
    return quadratic, linear, constraints, bounds


def weights_in(problem, x):
    """The weights among the variables of a `programme`."""
    n = problem.n_weights
    return x[:n] - (x[n : 2 * n] if problem.penalty == "l1" else 0.0)


def quadratic_programme(quadratic, linear, constraints, bounds, *, strict=True):
    """The least ½ Σ quadratic x² + ⟨linear, x⟩ with constraints · x ≤ bounds, and its x: interior points.

    Unless `strict`, x may be as good as they got.
    """
    import clarabel
    from scipy import sparse

    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cone = [clarabel.NonnegativeConeT(len(bounds))]
    found = clarabel.DefaultSolver(
        sparse.diags(quadratic).tocsc(), linear, sparse.csc_matrix(constraints), bounds, cone, options
    ).solve()
    assert not strict or "Solved" in str(found.status)
    return float(found.obj_val), np.array(found.x)
