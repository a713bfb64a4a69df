"""Every penalty with L-BFGS: against SciPy's bounded minimiser, by certificate; and who refuses which."""

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers import SOLVERS, problem, random_chain
from widemargin import SequenceTagger
from widemargin.core.loop import fit
from widemargin.core.penalty import PENALTIES, best_bound, bound, value
from widemargin.core.problem import Problem
from widemargin.core.sparse import add_rows
from widemargin.core.stop import Stop
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import Softmax
from widemargin.solvers import LBFGS

pytestmark = pytest.mark.interpreted

ROWS = [("l2", 1.0), ("l1", 1.0), ("elastic-net", 0.0), ("elastic-net", 0.3), ("elastic-net", 2.0)]


def smooth(penalty, l1=1.0, C=3.0, **options):
    model = random_chain(3, [3, 2, 4, 1, 3, 2], n_features=5, binary=False)
    return Problem(model.compiled(), Softmax(error_scale=0.0), C=C, loss="hinge", penalty=penalty, l1=l1, **options)


def risk(training, w):
    """C Σ c_i ξ_i and its gradient."""
    total, gradient = 0.0, np.zeros(len(w))
    for cuts in training.full_pass(w):
        total += training.C * training.losses(cuts.block, training.slacks_of(cuts, w))
        add_rows(-training.C * training.c[cuts.block], cuts.a, gradient)
    return total, gradient


def reference(training):
    """The least P, with w = p − q and p, q ≥ 0, so that ‖w‖₁ = Σ p + q is smooth."""
    n = training.n_weights
    square = float(training.penalty in ("l2", "elastic-net"))
    kink = {"l1": 1.0, "elastic-net": training.l1}.get(training.penalty, 0.0)

    def both(pq):
        w = pq[:n] - pq[n:]
        loss, g = risk(training, w)
        g += square * w
        return loss + square * 0.5 * w @ w + kink * pq.sum(), np.concatenate([g + kink, kink - g])

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(both, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * n), options=options)


@pytest.mark.parametrize(("penalty", "l1"), ROWS)
def test_lbfgs_reaches_the_optimum_and_proves_it(penalty, l1):
    training = smooth(penalty, l1)
    solution = fit(training, LBFGS(), stop=Stop(epochs=400, gap=1e-7))
    assert solution.stopped == "gap"
    assert solution.certified
    assert solution.primal == pytest.approx(reference(training).fun, rel=1e-6)
    assert solution.dual <= reference(training).fun * (1 + 1e-9)


def test_an_l1_norm_leaves_weights_out():
    active = [np.count_nonzero(fit(smooth("elastic-net", l1), LBFGS()).w) for l1 in (0.0, 0.5, 2.0, 1e3)]
    assert active == sorted(active, reverse=True)
    assert active[0] > active[1] > active[2] > active[3] == 0


def test_without_a_penalty_there_is_no_proof_but_the_gradient_vanishes():
    """Labels that contradict each other keep the optimum finite."""
    model = random_chain(3, [1] * 40, n_features=2, per_position=1)
    training = Problem(model.compiled(), Softmax(error_scale=0.0), C=1.0, loss="hinge", penalty="none")
    solver = LBFGS()
    assert solver.dual(training, solver.start(training)) is None
    solution = fit(training, solver, stop=Stop(epochs=200, gap=None))
    assert solution.stopped == "precision"
    assert np.abs(risk(training, solution.w)[1]).max() < 1e-4
    assert solution.primal == pytest.approx(reference(training).fun, rel=1e-8)
    assert solution.dual == 0.0


@pytest.mark.parametrize(("penalty", "l1"), [*ROWS, ("none", 1.0)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_bounds_hold_at_any_weights(penalty, l1, loss):
    """For a problem that no solver of these penalties minimises, too: no w may lie below the bound of another."""
    training, _ = problem("chain", penalty=penalty, l1=l1, loss=loss)
    rng = np.random.default_rng(0)
    found = [training.bounds(rng.normal(size=training.n_weights) * scale) for scale in (0.0, 0.01, 0.1, 0.3, 1.0)]
    assert max(lower for _, lower in found) <= min(primal for primal, _ in found)
    assert all(lower >= 0 for _, lower in found)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("beta", [-1.0, 0.5, 4.0])
def test_bounds_are_the_conjugate(penalty, beta):
    """min_v r(v) + β − ⟨v, s⟩ on a fine grid of one coordinate; best over a grid of t."""
    grid = np.concatenate([[-1e6], np.linspace(-6, 6, 2401), [1e6]])
    for s in (0.0, 0.4, -0.9, 2.5):
        r = np.array([value(penalty, 0.7, np.array([v])) for v in grid])
        least = [t * beta + np.min(r - grid * t * s) for t in np.linspace(0, 1, 201)]
        vector = np.array([s])
        assert best_bound(penalty, 0.7, beta, vector, 0.0, 1.0) == pytest.approx(max(*least, 0.0), abs=2e-2)
        if penalty in ("l2", "elastic-net"):
            assert bound(penalty, 0.7, beta, vector) == pytest.approx(least[-1], abs=1e-4)
        else:
            expected = bound(penalty, 0.7, beta, vector)
            assert best_bound(penalty, 0.7, beta, vector, 0.0, 1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_solvers_refuse_what_they_cannot_minimise(solver, penalty):
    if penalty in SOLVERS[solver].penalties:
        return
    objective = {} if "maximum" in SOLVERS[solver].kinds else {"objective": Softmax()}
    training, _ = problem("chain", penalty=penalty, loss=SOLVERS[solver].losses[0], **objective)
    with pytest.raises(UnsupportedError, match=f"not {penalty}"):
        fit(training, SOLVERS[solver])


def test_values_that_make_no_sense_are_refused():
    for l1 in (-1.0, np.nan, "1"):
        with pytest.raises(WidemarginError, match="l1 must be a number of at least 0"):
            smooth("elastic-net", l1)
    with pytest.raises(WidemarginError, match="penalty must be one of l2, l1, elastic-net, none, not 'l3'"):
        smooth("l3")


def test_estimators_take_the_elastic_net():
    X, y = [["a", "b"], ["b", "c", "a"], ["c"]] * 3, [["A", "B"], ["B", "C", "A"], ["C"]] * 3
    few, many = (
        SequenceTagger(solver="crf", penalty="elastic-net", l1=l1, templates="word").fit(X, y) for l1 in (2.0, 0.01)
    )
    assert 0 < np.count_nonzero(few.solution_.w) < np.count_nonzero(many.solution_.w)
    assert few.solution_.certified
    assert few.model_.summary["parameters"]["l1"] == 2.0
