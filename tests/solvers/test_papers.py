"""The variants that papers' figures are re-run with, against the papers' updates in a few lines of NumPy.

All outputs are enumerated, features are dense, and one example is visited at a time. The order of the visits comes from
the same generator. AdaGrad, AdaDelta and Pegasos: `test_primal`; the perceptron: `test_solvers`; MIRA: `test_mira`.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers import all_cuts, problem, quadratic_programme
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.errors import WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import MIRA, named_solver
from widemargin.structures.custom import custom_examples

pytestmark = pytest.mark.interpreted

PROBLEMS = ["chain, real-valued", "chain, conditional", "strong"]
SEED = 12  # no example is visited twice in a row: rounding would decide between gold and the cut just made equal to it


def run(text, name, epochs=1, **options):
    """The problem, all its cuts, weights to start from, and the solver's state and weights after some epochs."""
    training, small = problem(name, **options)
    solver, rng = named_solver(text), np.random.default_rng(SEED)
    start = np.random.default_rng(1).normal(scale=0.3, size=training.n_weights)
    dual = solver.kept_cuts(solver.start(training)) is not None
    if dual:  # it would turn weights to start from into cuts
        start = np.zeros(training.n_weights)
    state = solver.start(training, None if dual else start)
    for _ in range(epochs):
        solver.epoch(training, state, rng)
    # At w = 0 many outputs tie. The decoder takes the one with the lowest late labels; here it is the first.
    small = small._replace(outputs=lambda i, listed=small.outputs: sorted(listed(i), key=lambda y: y[::-1].tolist()))
    return training, all_cuts(small), start, state, solver.weights(state)


def visits(training, epochs=1, rng=None):
    """The examples in the order in which the solvers of `run` visit them."""
    rng = rng or np.random.default_rng(SEED)
    return [i for _ in range(epochs) for batch in training.batches(rng, 1) for i in batch]


def close(found, expected, atol=1e-11):
    assert np.abs(expected).max() > 1e-3
    return np.allclose(found, expected, rtol=0, atol=atol)


# MIRA (Crammer & Singer 2003; McDonald et al. 2005; Kummerfeld et al. 2015, §2.3; Chang & Yih 2013, §2.1)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("plain", [False, True])
def test_one_best_mira_without_slack(name, plain):
    training, table, w, state, last = run(f"mira(C=inf, plain={plain}, average=False, batch_size=1)", name, epochs=3)
    past = []
    for i in visits(training, 3):
        errors, psi = table[i]
        y = np.argmax((0 if plain else errors) - psi @ w)
        if psi[y].any():
            w = w + max(0.0, (errors[y] - psi[y] @ w) / (psi[y] @ psi[y])) * psi[y]
            assert psi[y] @ w >= errors[y] - 1e-9
        past.append(w)
    assert close(last, w)
    assert last is state.w
    assert close(MIRA().weights(state), np.mean(past, axis=0))


@pytest.mark.parametrize("name", ["chain, real-valued", "strong"])
@pytest.mark.parametrize("k", [2, 5])
def test_k_best_mira_by_plain_scores(name, k):
    """The smallest change of w that satisfies the constraints of the k best outputs by score, all of them."""
    training, table, w, _, last = run(f"mira(C=inf, k={k}, plain=True, average=False, batch_size=1)", name)
    for i in visits(training):
        errors, psi = table[i]
        best = np.argsort(psi @ w, kind="stable")[:k]
        _, change = quadratic_programme(np.ones(len(w)), np.zeros(len(w)), -psi[best], psi[best] @ w - errors[best])
        w = w + change
    assert close(last, w, 1e-5)


def test_an_output_without_features_of_its_own_keeps_no_other_from_its_margin():
    """No weights tell it from gold, so no step can satisfy its constraint; the others are satisfied all the same."""

    class Twins:
        def features(self, x, y):
            return {0: x if y < 2 else 0.0}

        def error(self, y, y_hat):
            return float(y != y_hat)

        def decode(self, x, w, y=None):
            return max(self.outputs(x), key=lambda v: w[0] * self.features(x, v)[0] + (y is not None and v != y))

        def outputs(self, x):
            return [0, 1, 2]

    training = Problem(custom_examples(Twins(), [0.5], [0]))
    assert fit(training, MIRA(C=np.inf, k=3), stop=Stop(epochs=1)).w == pytest.approx([2.0])


def test_what_may_be_infinite():
    assert np.inf == named_solver("mira(C=inf)").C
    for text in ("mira(C=-inf)", "mira(C=0)", "mira(C=nan)", "sgd(eta0=inf)", "mira(k=inf)"):
        with pytest.raises(WidemarginError):
            named_solver(text)


# Stochastic gradient descent (Chang & Yih 2013, §4.3)


def printed_sgd(w, order, table, C, eta0):
    for t, i in enumerate(order):
        errors, psi = table[i]
        y = np.argmax(errors - psi @ w)
        eta = eta0 / (1.0 + eta0 * t / C) ** 0.75
        g = -psi[y] if errors[y] > psi[y] @ w else 0.0
        w = max(1.0 - eta / C, 0.0) * w - eta * g
    return w


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("eta0", [0.5, 0.03125])
def test_sgd_as_printed(name, eta0):
    training, table, w, _, last = run(
        f"sgd(eta0={eta0}, average=False, printed=True, batch_size=1)", name, epochs=3, loss="hinge"
    )
    assert close(last, printed_sgd(w, visits(training, 3), table, training.C, eta0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_first_rate_as_printed(name):
    """The one of five with the least objective on the sample: here, on all examples."""
    training, table, start, state, _ = run("sgd(average=False, printed=True, batch_size=1)", name, loss="hinge")

    def value(eta0):
        w = printed_sgd(start, visits(training), table, training.C, eta0)
        return 0.5 * w @ w + training.C * sum(max(0.0, np.max(errors - psi @ w)) for errors, psi in table)

    assert state.eta0 == min([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32], key=value)


# Dual methods: working sets as lists of [b, a, α]


def visit(block, w, cut, cap, ridge, threshold, tolerance, steps):
    """Balamurugan et al. 2011, Algorithm 3, lines 9–23 for one example, with Algorithm 2; `block` changes in place."""
    gold = [0.0, np.zeros(len(w)), cap - sum(alpha for _, _, alpha in block)]

    def slope(one):
        return one[0] - one[1] @ w - (0.0 if one is gold else ridge * sum(alpha for _, _, alpha in block))

    new = next((one for one in block if one[0] == cut[0] and np.array_equal(one[1], cut[1])), [*cut, 0.0])
    if max(slope(new), 0.0) - min(slope(one) for one in [*block, gold] if one[2] > 0) > threshold:
        if slope(new) > 0 and not any(one is new for one in block):
            block.append(new)
        for _ in range(steps):
            p, q = max([gold, *block], key=slope), min((one for one in [gold, *block] if one[2] > 0), key=slope)
            if slope(p) - slope(q) <= tolerance:
                break
            difference = p[1] - q[1]
            curvature = difference @ difference + (ridge if gold is p or gold is q else 0.0)
            t = min((slope(p) - slope(q)) / curvature, q[2])
            p[2], q[2], w = p[2] + t, q[2] - t, w + t * difference
        block[:] = [one for one in block if one[2] > 0]
    return w


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("text", "threshold", "tolerance", "steps", "epochs"),
    [
        ("ocp(steps=1, batch_size=1)", 1e-12, 1e-12, 1, 3),
        ("sdm(batch_size=1)", 0.25, 0.15, 1000, 1),
        ("sdm(tau=1e-12, inner_tau=1e-12, batch_size=1)", 1e-12, 1e-12, 1000, 3),
    ],
)
def test_pair_steps_one_example_at_a_time(text, threshold, tolerance, steps, epochs, name, loss):
    """Online cutting planes move one dual variable a visit, and another against it; SDM solves the example.

    With the τ̃ of the paper the order of pair steps matters, and rounding decides it: an exact step leaves a tie with
    gold. So beyond the first epoch examples are solved to the end.
    """
    training, table, w, _, last = run(text, name, epochs, loss=loss)
    blocks = [[] for _ in table]
    cap, ridge = (training.C, 0.0) if loss == "hinge" else (np.inf, 1.0 / (2.0 * training.C))
    for i in visits(training, epochs):
        errors, psi = table[i]
        y = np.argmax(errors - psi @ w)
        w = visit(blocks[i], w, (errors[y], psi[y]), cap, ridge, threshold, tolerance, steps)
    assert close(last, w, 1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sweeps", [0, 2])
def test_dual_coordinate_descent_one_example_at_a_time(name, sweeps):
    """Chang & Yih 2013, Algorithms 1–3. After two epochs a working set has two cuts: the newest comes first."""
    training, table, w, _, last = run(f"dcd(sweeps={sweeps}, batch_size=1)", name, epochs=2)
    W, C = [[] for _ in table], training.C

    def update_weight(i, w):
        for cut in W[i][::-1]:
            delta, psi, alpha = cut
            d = (delta - w @ psi - sum(one[2] for one in W[i]) / (2 * C)) / (psi @ psi + 1 / (2 * C))
            cut[2] = max(alpha + d, 0.0)
            w = w + (cut[2] - alpha) * psi
        W[i] = [cut for cut in W[i] if cut[2] > 0]
        return w

    rng = np.random.default_rng(SEED)
    for epoch in range(2):
        rng.integers(1, 2147483647)  # the seed of the shuffles inside of working sets
        for _ in range(sweeps if epoch else 0):
            for i in rng.permutation(np.array([i for i, cuts in enumerate(W) if cuts], dtype=np.int32)):
                w = update_weight(i, w)
        for i in visits(training, rng=rng):
            errors, psi = table[i]
            y = np.argmax(errors - psi @ w)
            violation = errors[y] - psi[y] @ w - sum(cut[2] for cut in W[i]) / (2 * C)
            if violation >= 1e-6 and not any(np.array_equal(cut[1], psi[y]) for cut in W[i]):
                W[i].append([errors[y], psi[y], 0.0])
            w = update_weight(i, w)
    assert close(last, w)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("average", [False, True])
def test_frank_wolfe_one_example_at_a_time(name, average):
    """Lacoste-Julien et al. 2013, Algorithm 4, with exact line search and weighted averaging; C is their 1/λn."""
    training, table, w, _, last = run(f"bcfw(average={average}, batch_size=1)", name, epochs=3, loss="hinge")
    mean, C = np.zeros_like(w), training.C
    w_i, l_i = np.zeros((len(table), len(w))), np.zeros(len(table))
    for k, i in enumerate(visits(training, 3)):
        errors, psi = table[i]
        y = np.argmax(errors - psi @ w)
        w_s, l_s = C * psi[y], C * errors[y]
        move = w_i[i] - w_s
        gamma = np.clip((move @ w - l_i[i] + l_s) / (move @ move), 0.0, 1.0) if move.any() else 0.0
        w = w - gamma * move
        w_i[i], l_i[i] = (1 - gamma) * w_i[i] + gamma * w_s, (1 - gamma) * l_i[i] + gamma * l_s
        mean = k / (k + 2) * mean + 2 / (k + 2) * w
    assert close(last, mean if average else w)


PAGE = (Path(__file__).parents[2] / "docs" / "papers" / "as-printed.md").read_text(encoding="utf-8")
SOLVER_ROWS, OBJECTIVE_ROWS = (
    [text for row in re.findall(r"^\|[^|]*\|([^|]*)\|", table, re.MULTILINE) for text in re.findall("`([^`]+)`", row)]
    for table in re.split(r"`objective=`", PAGE.partition("## What C means")[0].partition("`solver=`")[2])
)


@pytest.mark.parametrize("text", SOLVER_ROWS)
def test_what_the_page_says_can_be_typed(text):
    solver = named_solver(text)
    training, _ = problem("chain, real-valued", loss="hinge" if "hinge" in solver.losses else "squared_hinge")
    assert fit(training, solver, stop=Stop(epochs=2, gap=None)).w.any()


def test_the_page_has_rows():
    assert len(SOLVER_ROWS) >= 15
    assert set(OBJECTIVE_ROWS) == {"margin", "slack", "golden-slack", "approximate-slack", "positions"} <= {*OBJECTIVES}
