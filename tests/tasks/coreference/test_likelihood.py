"""Likelihoods of coreference sum over all right antecedents, whatever is said about completions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from helpers.links import choices, error_of, phi, random_mentions
from widemargin.core.examples import LatentMarginals
from widemargin.core.loop import Stop
from widemargin.core.problem import Problem
from widemargin.core.restarts import fit_best, sums_completions
from widemargin.errors import UnsupportedError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS

pytestmark = pytest.mark.interpreted

C = 2.0


def mentions():
    return random_mentions(5, [5, 4], bits=5)


def objective(examples, w, scale):
    """½‖w‖² + C Σ ξ, by enumeration."""
    total = 0.5 * w @ w
    for m in range(examples.n_examples):
        backs = [int(y[0]) for y in choices(examples, m)]
        scores = np.array([phi(examples.features, m, back) @ w for back in backs])
        errors = np.array([error_of(examples, m, back) for back in backs])
        total += C * (logsumexp(scores + scale * errors) - logsumexp(scores[errors == 0.0]))
    return total


@pytest.mark.parametrize("completion", ["cccp", "online"])
@pytest.mark.parametrize(("name", "scale"), [("likelihood", 0.0), ("softmax-margin", 1.0)])
def test_lbfgs_finds_a_minimum_of_the_sum(name, scale, completion):
    examples = mentions()
    assert isinstance(examples, LatentMarginals)
    problem = Problem(examples, OBJECTIVES[name], C=C, loss="hinge")
    assert sums_completions(problem)
    assert not sums_completions(Problem(examples, C=C))
    solution = fit_best(problem, SOLVERS["lbfgs"], stop=Stop(epochs=60), completion=completion)
    assert solution.primal == pytest.approx(objective(examples, solution.w, scale))
    again = minimize(lambda w: objective(examples, w, scale), solution.w, method="BFGS", options={"maxiter": 20})
    assert again.fun == pytest.approx(solution.primal, rel=1e-5)
    # What is not convex proves nothing.
    assert solution.dual is None
    assert solution.gap is None
    assert not solution.certified


@pytest.mark.parametrize("solver", ["adagrad", "sgd", "adadelta", "pegasos"])
def test_gradient_solvers_lower_the_sum(solver):
    examples = mentions()
    problem = Problem(examples, OBJECTIVES["likelihood"], C=C, loss="hinge")
    solution = fit_best(problem, SOLVERS[solver], stop=Stop(epochs=30), completion="online")
    assert solution.primal == pytest.approx(objective(examples, solution.w, 0.0))
    assert solution.primal < 0.8 * objective(examples, np.zeros(examples.n_weights), 0.0)
    assert solution.gap is None
    assert not solution.certified


@pytest.mark.parametrize("solver", ["bundle", "one-slack"])
def test_solvers_that_keep_tangents_are_refused(solver):
    problem = Problem(mentions(), OBJECTIVES["likelihood"], C=C, loss="hinge")
    with pytest.raises(UnsupportedError, match="sums over what is hidden is not convex"):
        fit_best(problem, SOLVERS[solver], stop=Stop(epochs=1))
