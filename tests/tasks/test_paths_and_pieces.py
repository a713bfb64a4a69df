"""Estimators that are trained along a path of C, or piece by piece."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from helpers import Matching
from widemargin import LinearClassifier, MultilabelClassifier, SequenceTagger, StructuredPredictor, load
from widemargin.core.model_file import read_model
from widemargin.data.generators import addresses
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.solvers import SOLVERS
from widemargin.text.columns import Column
from widemargin.text.inputs import as_columns

X, Y = addresses(60, seed=1)
X_TEST, Y_TEST = addresses(30, seed=2)
LABELS = sorted({label for y in Y for label in y})
ONLINE = [name for name, solver in SOLVERS.items() if solver.online]
SIMPLE = ("lower", "shape", "suffix2", "shape[-1]", "shape[1]")


def small(**options):
    return SequenceTagger(**{"templates": SIMPLE, "max_epochs": 5, "n_jobs": 1, **options})


def matchings(n, seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(3, 3, 4)) for _ in range(n)]
    return X, [Matching().decode(x, np.array([1.0, -1.0, 0.5, 0.0])) for x in X]


def test_a_path_of_taggers():
    estimator = small(tol=1e-3, max_epochs=200)
    before = estimator.get_params()
    path = estimator.fit_path(X, Y, C=[0.2, 0.05, 0.1])
    assert [each.C for each in path] == [0.2, 0.05, 0.1]
    assert estimator.get_params() == before
    assert not estimator.__sklearn_is_fitted__()
    calls = 0
    for each in path:
        alone = clone(each).fit(X, Y)
        calls += alone.solution_.oracle_calls
        assert each.solution_.certified
        assert each.solution_.cuts is None
        assert each.solution_.primal == pytest.approx(alone.solution_.primal, rel=2e-3)
        assert each.tagger_.summary["parameters"]["C"] == each.C
        assert each.classes_.tolist() == LABELS
        assert each.score(X_TEST, Y_TEST) > 0.5
    assert sum(each.solution_.oracle_calls for each in path) < calls


def test_a_path_with_weights_and_development_data():
    weight = np.ones(len(X))
    weight[0] = 0.0
    path = small().fit_path(X, Y, [0.01, 0.1], sample_weight=weight, dev=(X_TEST, Y_TEST))
    assert all(row.score is not None for each in path for row in each.solution_.trace)
    with pytest.raises(DataError, match="sample_weight has the shape"):
        small().fit_path(X, Y, [0.01, 0.1], sample_weight=weight[1:])


def test_a_path_of_structured_predictors():
    X, y = matchings(12, 0)
    path = StructuredPredictor(Matching()).fit_path(X, y, C=[1.0, 0.1], dev=matchings(5, 1))
    assert [each.C for each in path] == [1.0, 0.1]
    for each in path:
        assert each.solution_.certified
        assert each.score(X, y) > -1.5


@pytest.mark.parametrize("solver", ["perceptron", "mira", "mira(k=3)"])
def test_the_same_data_piece_by_piece_are_epochs_of_fit(solver):
    estimator = small(solver=solver)
    for epochs in (1, 2, 3):
        assert estimator.partial_fit(X, Y) is estimator
        whole = small(solver=solver, max_epochs=epochs).fit(X, Y)
        assert np.array_equal(estimator.solution_.w, whole.solution_.w)
        assert estimator.predict(X_TEST) == whole.predict(X_TEST)
    assert len(estimator.solution_.trace) == 3


@pytest.mark.parametrize("hash_bits", [None, 12])
def test_pieces_with_other_words_and_labels(hash_bits, tmp_path):
    estimator, scores = small(solver="perceptron", hash_bits=hash_bits), []
    for begin in range(0, 60, 10):
        piece = slice(begin, begin + 10)
        estimator.partial_fit(X[piece], Y[piece], classes=LABELS if begin == 0 else None)
        assert estimator.classes_.tolist() == LABELS
        assert [len(labels) for labels in estimator.predict(X_TEST)] == [len(x) for x in X_TEST]
        scores.append(estimator.score(X_TEST, Y_TEST))
    assert scores[-1] > scores[0]
    estimator.save(tmp_path / "model.wm")
    again = load(tmp_path / "model.wm")
    assert again.predict(X_TEST) == estimator.predict(X_TEST)
    assert again.solution_.trace == estimator.solution_.trace


def test_labels_that_are_listed_are_all_there_will_be():
    estimator = small(solver="perceptron").partial_fit([["a", "b"]], [[1, 2]], classes=[1, 2])
    weights = estimator.solution_.w
    with pytest.raises(DataError, match="the label 3 is not among the classes"):
        estimator.partial_fit([["a"]], [[3]])
    for classes in ([1, 2, 3], [1]):
        with pytest.raises(DataError, match="the classes are others"):
            estimator.partial_fit([["a"]], [[1]], classes=classes)
    assert estimator.solution_.w is weights
    estimator.partial_fit([["a"]], [[1]], classes=np.array([2, 1])).partial_fit([], [])
    assert estimator.classes_.tolist() == [1, 2]
    with pytest.raises(DataError, match="the label 'b' is not among the classes"):
        small(solver="perceptron").partial_fit([["a"]], [["b"]], classes=["a"])
    with pytest.raises(DataError, match="classes must be distinct labels"):
        small(solver="perceptron").partial_fit([["a"]], [["b"]], classes=["b", "b"])


def test_other_labels_are_learnt_as_they_come():
    estimator = small(solver="perceptron").partial_fit([["a", "b"]], [[1, 2]])
    estimator.partial_fit([["a", "c"]], [[1, 3]]).partial_fit([["a"]], [[1]], classes=[1, 2, 3, 4])
    assert estimator.classes_.tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError, match="the label 5 is not among the classes"):
        estimator.partial_fit([["a"]], [[5]])
    with pytest.raises(DataError, match="all strings or all whole numbers"):
        small(solver="perceptron").partial_fit([["a", "b"]], [[1, 2]]).partial_fit([["a"]], [["x"]])


def test_pieces_may_be_columns_with_costs_and_weights():
    flat = [label for y in Y for label in y]
    costs = {"O": 2.0}
    one = small(solver="mira", costs=costs).partial_fit(as_columns(X), Column.of(flat), sample_weight=np.ones(len(X)))
    other = small(solver="mira", costs=costs).partial_fit(X, Y)
    for _ in range(2):
        assert np.array_equal(one.solution_.w, other.solution_.w)
        one.partial_fit(as_columns(X[:9]), Column.of([label for y in Y[:9] for label in y]))
        other.partial_fit(X[:9], Y[:9])


def test_fit_forgets_the_pieces():
    estimator = small(solver="arow").partial_fit(X[:5], Y[:5])
    estimator.fit(X, Y)
    assert np.array_equal(estimator.solution_.w, small(solver="arow").fit(X, Y).solution_.w)
    assert not clone(estimator).__sklearn_is_fitted__()


PLANETS = [["Mars", "31"], ["Venus", "7"]] * 4
MOONS = [["B-planet", "B-moon"]] * 8


@pytest.mark.parametrize("solver", ONLINE)
@pytest.mark.parametrize("how", ["fitted", "loaded"])
def test_pieces_go_on_from_what_fit_has_found(solver, how, tmp_path):
    estimator = small(solver=solver).fit(X, Y)
    before, features = estimator.score(X_TEST, Y_TEST), set(estimator.get_feature_names_out())
    if how == "loaded":
        estimator.save(tmp_path / "model.wm")
        estimator = load(tmp_path / "model.wm")
    epochs = estimator.n_iter_
    estimator.partial_fit(X[:3], Y[:3])
    assert estimator.n_iter_ == epochs + 1
    assert estimator.score(X_TEST, Y_TEST) > before - 0.05
    assert features >= set(estimator.get_feature_names_out())
    for _ in range(40):  # an average takes its time
        if estimator.partial_fit(PLANETS, MOONS).predict(PLANETS) == MOONS:
            break
    assert {*LABELS, "B-planet", "B-moon"} == set(estimator.classes_)
    assert features & set(estimator.get_feature_names_out()) < set(estimator.get_feature_names_out())
    assert estimator.predict(PLANETS) == MOONS
    assert estimator.score(X_TEST, Y_TEST) > before - 0.2


@pytest.mark.parametrize("solver", ["mira", "pa", "sgd", "pegasos"])
def test_pieces_go_on_from_what_another_solver_has_found(solver):
    estimator = small().fit(X, Y)
    before = estimator.score(X_TEST, Y_TEST)
    for _ in range(3):
        estimator.set_params(solver=solver).partial_fit(X[:3], Y[:3])
        assert estimator.score(X_TEST, Y_TEST) > before - 0.05


@pytest.mark.parametrize("solver", ["perceptron", "arow", "adagrad", "adadelta"])
def test_solvers_whose_steps_would_be_too_long_say_so(solver):
    estimator = small().fit(X[:9], Y[:9])
    weights = estimator.solution_.w
    with pytest.raises(UnsupportedError, match=r"cannot go on from weights that auto .* mira, pa, sgd, pegasos"):
        estimator.set_params(solver=solver).partial_fit(X[:3], Y[:3])
    assert estimator.solution_.w is weights


@pytest.mark.parametrize("solver", ONLINE)
def test_five_more_digits_do_not_make_a_classifier_forget(solver):
    digits, numbers = load_digits(return_X_y=True)
    train, test = slice(0, 1200), slice(1300, None)
    estimator = LinearClassifier(solver=solver, max_epochs=5).fit(digits[train], numbers[train])
    before = estimator.score(digits[test], numbers[test])
    estimator.partial_fit(digits[1200:1205], numbers[1200:1205])
    assert estimator.score(digits[test], numbers[test]) > before - 0.05


def some_classes():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    return rng.normal(size=(60, 5)) + 2.0 * np.eye(5)[y], y


def pieces_of(kind):
    """An estimator with `partial_fit`, and three pieces of data; the last has other labels or features."""
    x, y = some_classes()
    sets = [["abc"[k], "dog"] if row[4] > 0 else ["abc"[k]] for k, row in zip(y, x, strict=True)]
    y_new, sets_new = y.copy(), [*sets[:58], ["e"], ["e", "a"]]
    y_new[58:] = 7
    graphs, matched = matchings(12, 0)
    return {
        "tag": (partial(SequenceTagger, templates=SIMPLE), [(X[:20], Y[:20]), (X[20:40], Y[20:40]), (PLANETS, MOONS)]),
        "hashed": (partial(SequenceTagger, hash_bits=8), [(X[:9], Y[:9]), (X[20:29], Y[20:29]), (PLANETS, MOONS)]),
        "records": (SequenceTagger, [([[["f", "g"], {"h": 0.5}]], [[1, 2]]), ([[["i"]]], [[1]]), ([[["j"]]], [[3]])]),
        "classes": (LinearClassifier, [(x[:20], y[:20]), (x[20:40], y[20:40]), (x[40:], y_new[40:])]),
        "plain classes": (
            partial(LinearClassifier, fit_intercept=False),
            [(x[k : k + 20], y[k : k + 20]) for k in (0, 20, 40)],
        ),
        "multilabel": (
            partial(MultilabelClassifier, pairwise=True),
            [(x[:20], sets[:20]), (x[20:40], sets[20:40]), (x[40:], sets_new[40:])],
        ),
        "custom": (
            partial(StructuredPredictor, Matching()),
            [(graphs[k : k + 4], matched[k : k + 4]) for k in (0, 4, 8)],
        ),
    }[kind]


@pytest.mark.parametrize("solver", [*ONLINE, "adagrad(lazy=False)", "pegasos(project=True)"])
@pytest.mark.parametrize("kind", ["tag", "hashed", "records", "classes", "plain classes", "multilabel", "custom"])
@pytest.mark.parametrize("first", ["partial_fit", "fit"])
def test_saving_keeps_what_pickling_keeps(solver, kind, first, tmp_path):
    """A run that is saved, or pickled, after every piece is the run that is not, bit for bit."""
    make, (one, two, three) = pieces_of(kind)
    whole = make(solver=solver, C=0.5, n_jobs=1, max_epochs=2)
    getattr(whole, first)(*one)
    saved, pickled = whole, pickle.loads(pickle.dumps(whole))
    given = {"structure": Matching()} if kind == "custom" else {}
    for piece in (two, three, one):
        saved.save(tmp_path / "model.wm")
        saved = load(tmp_path / "model.wm", **given).partial_fit(*piece)
        pickled = pickle.loads(pickle.dumps(pickled)).partial_fit(*piece)
        assert saved.model_.labels == pickled.model_.labels
        assert saved.solution_.trace[-1].primal == pickled.solution_.trace[-1].primal
        if first == "partial_fit":  # files of other models have no features without weights
            assert np.array_equal(saved.solution_.w, pickled.solution_.w)
        assert np.array_equal(saved.predict(three[0]), pickled.predict(three[0]))


def test_a_piece_leaves_the_models_before_it_alone(tmp_path):
    estimator = small(solver="adagrad").partial_fit(X[:20], Y[:20])
    before = estimator.model_
    before.save(tmp_path / "one.wm")
    estimator.partial_fit(X[20:], Y[20:])
    before.save(tmp_path / "two.wm")
    assert (tmp_path / "one.wm").read_bytes() == (tmp_path / "two.wm").read_bytes()
    with pytest.raises(DataError):
        estimator.partial_fit(X[:2], Y[:1])
    assert np.array_equal(load(tmp_path / "one.wm").partial_fit(X[20:], Y[20:]).solution_.w, estimator.solution_.w)


def test_models_that_were_trained_at_once_hold_no_more_than_they_need(tmp_path):
    for solver in ("auto", "mira", "perceptron", "sgd"):
        small(solver=solver).fit(X[:9], Y[:9]).save(tmp_path / "model.wm")
        assert "online" not in read_model(tmp_path / "model.wm").header


def test_solvers_that_need_all_data_say_so():
    for estimator, data in ((small(), (X, Y)), (StructuredPredictor(Matching()), matchings(3, 0))):
        with pytest.raises(UnsupportedError, match=r"Auto needs all data at once.* perceptron, mira"):
            estimator.partial_fit(*data)
    estimator = small(solver="perceptron").partial_fit(X, Y).set_params(solver="mira")
    with pytest.raises(WidemarginError, match=r"were learnt by Perceptron\(.*\), not by MIRA"):
        estimator.partial_fit(X, Y)


def test_structured_predictors_piece_by_piece(tmp_path):
    X, y = matchings(40, 0)
    estimator = StructuredPredictor(Matching(), solver="mira", C=1.0)
    for begin in range(0, 40, 8):
        estimator.partial_fit(X[begin : begin + 8], y[begin : begin + 8])
    assert estimator.score(*matchings(10, 1)) > -0.5
    estimator.save(tmp_path / "model.wm")
    again = StructuredPredictor.load(tmp_path / "model.wm", Matching())
    assert np.array_equal(again.solution_.w, estimator.solution_.w)
    with pytest.raises(DataError, match="no gold outputs"):
        estimator.partial_fit([], [])
    whole = StructuredPredictor(Matching(), solver="mira", C=1.0, max_epochs=1).fit(X, y)
    first = StructuredPredictor(Matching(), solver="mira", C=1.0).partial_fit(X, y)
    assert np.array_equal(whole.solution_.w, first.solution_.w)


class Counting:
    """φ is as long as the largest y; later pieces may need more weights than the first."""

    def features(self, x, y):
        return {y: x}

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return max(range(len(w)), key=lambda k: w[k] * x + (y is not None and k != y))


def test_weights_are_fixed_by_the_first_call():
    estimator = StructuredPredictor(Counting(), solver="perceptron").partial_fit([1.0, 1.0], [0, 3])
    assert len(estimator.partial_fit([1.0], [1]).solution_.w) == 4
    with pytest.raises(DataError, match="uses the index 5, but there are 4 weights"):
        estimator.partial_fit([1.0], [5])
