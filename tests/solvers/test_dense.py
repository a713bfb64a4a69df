"""Few dense features, noisy or random labels, any C: where block-wise ascent is slow, the default solver converges."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import chain
from widemargin import Problem, SequenceTagger
from widemargin.objectives import Margin, PositionWise, Slack
from widemargin.solvers import SOLVERS
from widemargin.testing import check_solver


def dense(labels, n=30, length=8, n_features=8, n_labels=4, seed=0):
    """Sequences of normal features with random labels, or with those of a linear rule, a fifth of them replaced."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(length, n_features)) for _ in range(n)]
    rule = rng.normal(size=(n_features, n_labels))
    right = [(x @ rule).argmax(1) for x in X]
    noise = 1.0 if labels == "random" else 0.2
    y = [np.where(rng.random(length) < noise, rng.integers(n_labels, size=length), each) for each in right]
    return X, [[str(label) for label in each] for each in y]


@pytest.mark.parametrize("C", [1e-6, 1e-3, 10.0, 1e6])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("objective", ["margin", "slack", "positions"])
@pytest.mark.parametrize("labels", ["random", "noisy"])
def test_the_default_converges_at_any_c(labels, objective, loss, C):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger = SequenceTagger(C=C, objective=objective, loss=loss, max_epochs=50, tol=0.01).fit(*dense(labels))
    assert tagger.solution_.gap <= 0.01
    assert tagger.solution_.certified or "next to nothing" in tagger.solution_.doubt


def wide():
    """Fewer blocks than weights: the cuts are rotated into their span."""
    return chain(2, [3, 4, 5, 4, 2], n_features=30, binary=False).examples


@pytest.mark.parametrize("objective", [Margin(), Slack(), PositionWise()])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_interior_points_with_few_blocks(C, loss, objective):
    check_solver(SOLVERS["interior"], Problem(wide(), objective, C=C, loss=loss), gap=1e-6)


@pytest.mark.parametrize("solver", ["auto", "dcd", "dcd-light", "sdm", "ocp", "cpd", "n-slack", "bcfw", "one-slack"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_run_cut_short_is_no_worse_than_zero(solver, epochs):
    tagger = SequenceTagger(solver=solver, C=1e3, max_epochs=epochs, tol=0.01)
    X, y = dense("random")
    with pytest.warns(
        ConvergenceWarning, match=r"has not converged: the gap is .*% after . epochs, above the 1% wanted"
    ):
        tagger.fit(X, y)
    power = 2 if SOLVERS[solver].losses[0] == "squared_hinge" else 1
    assert tagger.solution_.primal <= (1 + 1e-8) * 1e3 * sum(len(each) ** power for each in y)
    assert tagger.solution_.w.any()
    assert tagger.solution_.certified or "next to nothing" in tagger.solution_.doubt
