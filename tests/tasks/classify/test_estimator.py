"""Linear classifiers as estimators: what scikit-learn expects of them, and the optima that it finds."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import widemargin
from widemargin import LinearClassifier, MultilabelClassifier
from widemargin.core.model_file import read_model, write_model
from widemargin.errors import DataError, ModelFileError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
X_SETS, Y_SETS = make_multilabel_classification(60, 8, n_classes=4, random_state=0)
EXACT = {"solver": "bundle", "tol": 1e-9, "max_epochs": 1000}
"""Close enough to the optimum for predictions to be compared digit by digit."""


@pytest.mark.parametrize("solver", ["auto", "dcd", "sdm", "perceptron"])
def test_neither_order_nor_repetition_matters(solver):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, len(Y)).astype(float)
    order = rng.permutation(np.repeat(np.arange(len(Y)), weights.astype(int)))
    weighted = LinearClassifier(solver=solver, max_epochs=3).fit(X, Y, sample_weight=weights)
    repeated = LinearClassifier(solver=solver, max_epochs=3).fit(X[order], Y[order])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


def test_small_data_are_learnt_to_the_end_and_their_likelihood_too():
    assert LinearClassifier(tol=1e-6).fit(X, Y).solution_.certified
    likely = LinearClassifier(objective="likelihood", tol=1e-6).fit(X, Y).solution_
    assert likely.certified
    assert likely.gap <= 1e-6


def test_the_hinge_has_the_objective_of_crammer_and_singer():
    ours = LinearClassifier(C=0.3, loss="hinge", fit_intercept=False, solver="sdm", tol=1e-6, max_epochs=2000).fit(X, Y)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=0.3, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(X, Y)
    scores = theirs.decision_function(X)
    gold = scores[np.arange(len(Y)), Y]
    slacks = (scores + 1.0 - np.eye(3)[Y] - gold[:, None]).max(axis=1)
    objective = 0.5 * (theirs.coef_**2).sum() + 0.3 * slacks.sum()
    assert ours.solution_.primal == pytest.approx(objective, rel=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.02)


def test_the_likelihood_is_that_of_logistic_regression():
    ours = LinearClassifier(C=2.0, objective="likelihood", solver="lbfgs", fit_intercept=False, tol=1e-9).fit(X, Y)
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-9, max_iter=10_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_two_classes_have_one_row_of_weights():
    two = Y < 2
    fitted = LinearClassifier().fit(X[two], NAMES[two])
    assert fitted.coef_.shape == (1, 4)
    assert fitted.intercept_.shape == (1,)
    decision = fitted.decision_function(X[two])
    np.testing.assert_allclose(decision, X[two] @ fitted.coef_[0] + fitted.intercept_[0])
    assert np.array_equal(fitted.predict(X[two]), fitted.classes_[(decision > 0).astype(int)])


def test_costs_and_class_weights_move_the_borders():
    def mistaken(**options):
        predicted = LinearClassifier(**options).fit(X, NAMES).predict(X)
        return int(((NAMES == "versicolor") & (predicted == "virginica")).sum())

    plain = mistaken(C=0.05)
    assert mistaken(C=0.05, costs={("versicolor", "virginica"): 5.0}) < plain
    assert mistaken(C=0.05, class_weight={"versicolor": 20.0}) < plain
    weighted = LinearClassifier(**EXACT, class_weight="balanced").fit(X[30:], Y[30:])
    by_hand = LinearClassifier(**EXACT).fit(X[30:], Y[30:], sample_weight=np.array([2.0, 0.8, 0.8])[Y[30:]])
    np.testing.assert_allclose(weighted.coef_, by_hand.coef_, atol=1e-6)
    with pytest.raises(DataError, match="names the class 'daisy'"):
        LinearClassifier(class_weight={"daisy": 1.0}).fit(X, NAMES)


def test_sparse_and_dense_matrices_are_the_same():
    dense, thin = LinearClassifier().fit(X, Y), LinearClassifier().fit(sparse.csr_array(X), Y)
    assert np.array_equal(dense.coef_, thin.coef_)
    assert np.array_equal(dense.predict(X), thin.predict(sparse.csc_array(X)))


def test_pairs_of_labels_tell_which_go_together():
    rng = np.random.default_rng(0)
    chosen = rng.integers(3, size=300)
    y = np.stack([chosen == 0, chosen == 1], axis=1).astype(int)
    features = y + rng.normal(size=y.shape)
    together = MultilabelClassifier().fit(features, y)
    assert together.model_.pairs[0] < 0
    assert not together.predict(features).all(axis=1).any()


def test_sets_of_labels_may_be_given_in_any_form():
    words = [[f"label {k}" for k in np.flatnonzero(row)] for row in Y_SETS]
    expected = MultilabelClassifier().fit(X_SETS, Y_SETS).predict(X_SETS)
    fitted = MultilabelClassifier().fit(X_SETS, words)
    assert fitted.classes_.tolist() == [f"label {k}" for k in range(4)]
    assert np.array_equal(fitted.predict(X_SETS), expected)
    assert fitted.score(X_SETS, words) == np.mean((expected == Y_SETS).all(axis=1))
    assert np.array_equal(MultilabelClassifier().fit(X_SETS, sparse.csr_array(Y_SETS)).predict(X_SETS), expected)
    with pytest.raises(DataError, match="matrix of 0 and 1"):
        MultilabelClassifier().fit(X_SETS, Y_SETS + 1)
    with pytest.raises(DataError, match=r"y\[0\] must be a list of labels"):
        MultilabelClassifier().fit(X_SETS, ["a"] * 60)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (LinearClassifier(), NAMES),
        (LinearClassifier(fit_intercept=False, costs={0: 2.0}), Y),
        (MultilabelClassifier(), Y_SETS),
        (MultilabelClassifier(pairwise=False, costs={1: 2.0}), Y_SETS),
    ],
)
def test_a_saved_model_predicts_the_same(estimator, y, tmp_path):
    data = X if isinstance(estimator, LinearClassifier) else X_SETS
    fitted = estimator.fit(data, y)
    fitted.save(tmp_path / "model.wm")
    loaded = widemargin.load(tmp_path / "model.wm")
    assert type(loaded) is type(fitted)
    assert np.array_equal(loaded.predict(data), fitted.predict(data))
    assert np.array_equal(loaded.classes_, fitted.classes_)
    assert loaded.n_features_in_ == data.shape[1]
    assert np.array_equal(pickle.loads(pickle.dumps(loaded)).predict(data), fitted.predict(data))


@pytest.mark.parametrize(
    "damage",
    [
        {"weights": np.zeros((4, 2))},
        {"bias": np.zeros(4)},
        {"pairs": np.zeros(2)},
        {"columns": np.array([0, 1, 2, 9], dtype=np.int32)},
        {"weights": np.zeros((4, 3), dtype=np.int64)},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_model_is_refused(damage, tmp_path):
    LinearClassifier().fit(X, Y).save(tmp_path / "model.wm")
    header, tensors = read_model(tmp_path / "model.wm")
    write_model(tmp_path / "bad.wm", header, {**tensors, **damage})
    with pytest.raises(ModelFileError, match=f"bad.wm is damaged: its tensor {next(iter(damage))} (is|has) .*, not "):
        widemargin.load(tmp_path / "bad.wm")


def test_training_piece_by_piece():
    order = np.random.default_rng(0).permutation(len(X))
    online = LinearClassifier(solver="perceptron")
    for _ in range(20):
        for part in np.array_split(order, 3):
            online.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    assert online.score(X, Y) > 0.9
    with pytest.raises(DataError, match="others than those of the first call"):
        online.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 4 features"):
        online.partial_fit(X[:, :3], Y)
    assert not hasattr(LinearClassifier(), "partial_fit")


def test_development_data_and_paths():
    fitted = LinearClassifier(max_epochs=5, tol=None).fit(X[::2], Y[::2], dev=(X[1::2], Y[1::2]))
    assert fitted.solution_.trace[fitted.solution_.epoch - 1].score == pytest.approx(fitted.score(X[1::2], Y[1::2]))
    path = MultilabelClassifier().fit_path(X_SETS, Y_SETS, C=[0.01, 1.0], dev=(X_SETS, Y_SETS))
    assert [each.C for each in path] == [0.01, 1.0]
    search = GridSearchCV(LinearClassifier(), {"C": [0.01, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9


def test_one_class_is_too_few():
    with pytest.raises(DataError, match="only one class, 1"):
        LinearClassifier().fit(X, np.ones(len(X), dtype=int))


def test_auto_can_minimise_whatever_is_asked_for():
    X, y = load_iris(return_X_y=True)
    for options, solver in [({}, "Auto("), ({"penalty": "l1"}, "Proximal"), ({"objective": "likelihood"}, "LBFGS(")]:
        estimator = LinearClassifier(max_epochs=3, **options)
        assert estimator.compare(X, y, ["auto"]).settings["solvers"]["auto"].startswith(solver)
        assert estimator.fit(X, y).get_params()["solver"] == "auto"
        assert estimator.solution_.certified
    comparison = LinearClassifier(max_epochs=3).compare(X, y, ["auto"])
    assert comparison.settings["fit_intercept"] is True
