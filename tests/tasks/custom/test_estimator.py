"""A structure of the user's own: three methods in plain Python."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from widemargin import StructuredPredictor
from widemargin.core.model_file import read_model, write_model
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.solvers import SOLVERS, DualCoordinateDescent
from widemargin.structures.custom import CustomExamples
from widemargin.tasks.tag.features import ChainExamples, ChainShape
from widemargin.testing import check_structure
from widemargin.text.records import RecordExtractor

CLASSES = (0, 1, 2)
DIMENSIONS = 4


class Multiclass:
    """The class y of a vector x; φ(x, y) is x in the y-th of three places."""

    def features(self, x, y):
        phi = np.zeros(len(CLASSES) * DIMENSIONS)
        phi[y * DIMENSIONS : (y + 1) * DIMENSIONS] = x
        return phi

    def error(self, y, y_hat):
        return float(abs(y - y_hat))

    def decode(self, x, w, y=None):
        def value(other):
            return self.features(x, other) @ w + (0.0 if y is None else self.error(y, other))

        return max(CLASSES, key=value)


class ByPair(Multiclass):
    n_weights = len(CLASSES) * DIMENSIONS

    def features(self, x, y):
        return np.arange(y * DIMENSIONS, (y + 1) * DIMENSIONS), x

    def decode(self, x, w, y=None):
        return Multiclass().decode(x, w, y)


class ByDict(ByPair):
    def features(self, x, y):
        return {y * DIMENSIONS + j: value for j, value in enumerate(x)}


class Approximate(Multiclass):
    exact = False


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(len(CLASSES), DIMENSIONS))
    y = rng.integers(len(CLASSES), size=n)
    return list(2 * centres[y] + rng.normal(size=(n, DIMENSIONS))), y.tolist()


X, Y = data(60)
X_TEST, Y_TEST = data(60, seed=1)


def predictor(problem=None, **options):
    return StructuredPredictor(problem or Multiclass(), **{"max_epochs": 20, **options})


@pytest.fixture(scope="module")
def trained():
    return predictor(tol=1e-3, max_epochs=200).fit(X, Y)


def mean_error(gold, predicted):
    return float(np.mean(np.abs(np.subtract(gold, predicted))))


# Training


@pytest.mark.parametrize("solver", [name for name in SOLVERS if "maximum" in SOLVERS[name].kinds])
def test_every_solver_learns(solver):
    estimator = predictor(solver=solver, penalty=SOLVERS[solver].penalties[0]).fit(X, Y)
    assert mean_error(Y_TEST, estimator.predict(X_TEST)) < 0.4 < mean_error(Y_TEST, [0] * 60)
    assert 0 < estimator.solution_.dual <= estimator.solution_.primal


def test_the_certificate(trained):
    solution = trained.solution_
    assert solution.stopped == "gap"
    assert solution.certified
    assert solution.gap <= 1e-3
    slacks = [
        max(abs(y - other) - (problem_score(trained, x, y) - problem_score(trained, x, other)) for other in CLASSES)
        for x, y in zip(X, Y, strict=True)
    ]
    assert solution.primal == pytest.approx(0.5 * solution.w @ solution.w + 0.1 * np.square(slacks).sum())


def problem_score(estimator, x, y):
    return estimator.structure.features(x, y) @ estimator.solution_.w


@pytest.mark.parametrize("form", [ByPair, ByDict])
def test_features_of_every_form_give_the_same_weights(form, trained):
    other = predictor(form(), tol=1e-3, max_epochs=200).fit(X, Y)
    np.testing.assert_allclose(other.solution_.w, trained.solution_.w, atol=1e-9)
    assert other.predict(X_TEST) == trained.predict(X_TEST)


@pytest.mark.parametrize("problem", [Multiclass(), ByPair(), ByDict()])
def test_custom_examples_are_a_sound_structure(problem):
    check_structure(
        CustomExamples(problem, X[:6], Y[:6]),
        enumerate_outputs=lambda i: ([y] for y in CLASSES),
        gold=Y[:6],
        error_scales=(0.0, 1.0, 0.5),
    )


def test_indices_given_twice_are_added():
    class Doubled(Multiclass):
        def features(self, x, y):
            indices, values = ByPair().features(x, y)
            return (*indices, *indices), [*(values / 2), *(values / 2)]

    plain, doubled = (CustomExamples(problem, X, Y) for problem in (ByPair(), Doubled()))
    batch = np.arange(3, dtype=np.int32)
    expected, found = (examples.difference(batch, [2, 2, 2]).psi for examples in (plain, doubled))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other)


def test_the_length_of_w_comes_from_the_problem_or_from_the_gold_outputs():
    assert CustomExamples(ByDict(), X[:1], [0]).n_weights == 12
    assert CustomExamples(Multiclass(), X[:1], [0]).n_weights == 12  # a vector is as long as w, whatever is zero in it
    assert predictor().fit(X[:2], [0, 0]).predict(X[:1]) == [0]


def test_weights_that_no_gold_output_uses():
    """Without `n_weights` an output that uses more weights than any gold one is an error with advice."""

    class Unannounced(ByDict):
        n_weights = property()

    assert not hasattr(Unannounced(), "n_weights")
    expected = "uses the index 11, but there are 4 weights; set n_weights on the structure"
    examples = CustomExamples(Unannounced(), X[:2], [0, 0])
    with pytest.raises(DataError, match=expected):
        examples.difference(np.array([0], dtype=np.int32), [2])


def test_an_approximate_decoder_proves_nothing():
    solution = predictor(Approximate(), max_epochs=5).fit(X, Y).solution_
    assert not solution.certified
    assert not any(row.certified for row in solution.trace)
    assert solution.stopped == "gap"
    assert "perhaps" in str(solution)
    assert "proven" not in str(solution)


def test_the_same_chain_as_the_built_in_one():
    """A sequence labeller written with three methods reaches the optimum of the compiled one."""
    rng = np.random.default_rng(0)
    sequences = [[[f"f{f}"] for f in rng.integers(4, size=3)] for _ in range(12)]
    gold = [[int(record[0][1]) % 2 if rng.random() > 0.2 else 0 for record in sequence] for sequence in sequences]
    extractor = RecordExtractor()
    features = extractor.fit(sequences)
    chain = ChainShape(2, extractor.n_features)
    compiled = ChainExamples(chain, features.indptr, features.rows, np.array(gold, dtype=np.int32).ravel())

    class Labels:
        n_weights = chain.n_weights

        def features(self, x, y):
            phi = np.zeros(self.n_weights)
            parts = chain.parts(phi)
            parts.begin[y[0]] += 1
            parts.end[y[-1]] += 1
            for t, (record, label) in enumerate(zip(x, y, strict=True)):
                parts.emission[extractor.names().index(record[0]), label] += 1
                if t:
                    parts.transition[y[t - 1], label] += 1
            return phi

        def error(self, y, y_hat):
            return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))

        def decode(self, x, w, y=None):
            outputs = np.stack(np.meshgrid(*[[0, 1]] * len(x)), axis=-1).reshape(-1, len(x)).tolist()
            return max(outputs, key=lambda o: self.features(x, o) @ w + (0 if y is None else self.error(y, o)))

    from widemargin import Problem, Stop, fit

    stop = Stop(epochs=200, gap=1e-4)
    one = fit(Problem(compiled), SOLVERS["dcd"], stop=stop)
    other = fit(Problem(CustomExamples(Labels(), sequences, gold)), SOLVERS["dcd"], stop=stop)
    assert one.certified
    assert other.certified
    assert one.primal == pytest.approx(other.primal, rel=2e-4)


# Mistakes in the problem


def changed(**methods):
    return type("Changed", (Multiclass,), {name: staticmethod(method) for name, method in methods.items()})()


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        ({"a": 1.0}, "has indices that are not whole numbers from 0 on"),
        ({0.5: 1.0}, "has indices that are not whole numbers from 0 on"),
        ({-1: 1.0}, "has indices that are not whole numbers from 0 on"),
        ({True: 1.0}, "has indices that are not whole numbers from 0 on"),
        (([0, -2], [1.0, 1.0]), "has indices that are not whole numbers from 0 on"),
        ({2**31: 1.0}, "uses the index 2147483648; indices must be below 2³¹"),
        ({2**70: 1.0}, "has indices that are not whole numbers from 0 on"),
        ({0: float("nan")}, "has a value that is not finite"),
        ({0: None}, "has a value that is not finite"),
        (([0], [np.inf]), "has a value that is not finite"),
        ([0.0, np.nan], "has a value that is not finite"),
        ({0: "x"}, "has values that are not numbers"),
        ({0: {}}, "has values that are not numbers"),
        ("text", "has values that are not numbers"),
        ([[1.0], [1.0, 2.0]], "has values that are not numbers"),
        (([0, 1], [1.0]), "must be a dict, a pair of two equally long lists, or a vector"),
        (np.ones((2, 2)), "must be a dict, a pair of two equally long lists, or a vector"),
        (3.0, "must be a dict, a pair of two equally long lists, or a vector"),
        ((1.0, 2.0), "must be a dict, a pair of two equally long lists, or a vector"),
    ],
)
def test_bad_features_are_located(phi, message):
    problem = changed(features=lambda x, y: phi if x is X[2] else {0: 1.0})
    with pytest.raises(DataError, match=re.escape(f"features() of example 2 {message}")):
        predictor(problem).fit(X, Y)


@pytest.mark.parametrize("phi", [{}, ([], []), [], np.zeros(3)])
def test_there_may_be_no_features(phi):
    problem = changed(features=lambda x, y: phi, decode=lambda x, w, y=None: 0)
    problem.n_weights = 3
    assert predictor(problem).fit(X[:3], Y[:3]).solution_.w.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf"), None])
def test_bad_errors_are_located(error):
    problem = changed(error=lambda y, y_hat: error, decode=lambda x, w, y=None: 0)
    with pytest.raises(DataError, match=r"error\(\) of example 0 is .*; an error is finite and not negative"):
        predictor(problem).fit(X[:1], Y[:1])


def test_the_decoders_own_errors_come_through():
    def decode(x, w, y=None):
        raise ZeroDivisionError("of the user's own")

    with pytest.raises(ZeroDivisionError, match="of the user's own"):
        predictor(changed(decode=decode)).fit(X, Y)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (X, Y[1:], "there are 60 inputs, but 59 outputs"),
        ([], [], "there are no gold outputs to learn from"),
        (X, None, "there are no gold outputs to learn from"),
        (X, [], "there are no gold outputs to learn from"),
    ],
)
def test_inputs_and_outputs_go_together(inputs, outputs, message):
    with pytest.raises(DataError, match=message):
        predictor().fit(inputs, outputs)


def test_unknown_solvers():
    with pytest.raises(WidemarginError, match="there is no solver 'dcd2'"):
        predictor(solver="dcd2").fit(X, Y)


# As an estimator


def test_the_score_is_minus_the_mean_error(trained):
    assert trained.score(X_TEST, Y_TEST) == -mean_error(Y_TEST, trained.predict(X_TEST))
    assert trained.score([], []) == 0.0
    assert trained.predict([]) == []
    with pytest.raises(DataError, match="there are 60 inputs, but 1 outputs"):
        trained.score(X, Y[:1])


@pytest.mark.parametrize("method", ["predict", "score", "save"])
def test_nothing_works_before_fit(method, tmp_path):
    arguments = {"predict": (X,), "score": (X, Y), "save": (tmp_path / "a.model",)}[method]
    with pytest.raises(NotFittedError, match="this StructuredPredictor is not fitted yet"):
        getattr(predictor(), method)(*arguments)


def test_grid_search_and_cross_validation():
    search = GridSearchCV(predictor(max_epochs=3), {"C": [0.01, 1.0], "solver": ["dcd", "perceptron"]}, cv=3)
    search.fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ == max(scores)
    assert search.score(X_TEST, Y_TEST) > -0.5
    assert (cross_val_score(predictor(max_epochs=3), X, Y, cv=2, error_score="raise") > -0.5).all()


def test_clones_pickles_and_descriptions(trained):
    assert clone(trained).C == trained.C
    with pytest.raises(NotFittedError):
        clone(trained).predict(X)
    assert pickle.loads(pickle.dumps(trained)).predict(X_TEST) == trained.predict(X_TEST)
    assert "StructuredPredictor" in repr(trained)
    assert "StructuredPredictor" in trained._repr_html_()


def test_development_data_choose_the_epoch():
    estimator = predictor(solver="perceptron", max_epochs=10).fit(X, Y, dev=(X_TEST, Y_TEST))
    scores = [row.score for row in estimator.solution_.trace]
    assert len(scores) == 10
    assert estimator.score(X_TEST, Y_TEST) == max(scores)
    assert estimator.solution_.epoch == 10 - int(np.argmax(scores[::-1]))
    with pytest.raises(DataError, match="there are 60 inputs, but 59 outputs"):
        predictor().fit(X, Y, dev=(X, Y[1:]))


def test_examples_of_weight_zero_are_left_out():
    wrong = [(y + 1) % 3 for y in Y]
    weight = [1.0] * 60 + [0.0] * 60
    both = predictor(tol=1e-3, max_epochs=200).fit(X + X, Y + wrong, sample_weight=weight).solution_
    alone = predictor(tol=1e-3, max_epochs=200).fit(X, Y).solution_
    assert both.primal == pytest.approx(alone.primal, rel=1e-3)


# Files


def test_saved_and_loaded(trained, tmp_path):
    path = tmp_path / "a.model"
    trained.save(path)
    loaded = StructuredPredictor.load(path, ByDict())
    assert loaded.predict(X_TEST) == trained.predict(X_TEST)
    assert loaded.solution_.w.tolist() == trained.solution_.w.tolist()
    assert loaded.solution_.summary() == trained.solution_.summary()
    parameters = trained.get_params(deep=False)
    assert {**loaded.get_params(deep=False), "structure": None} == {**parameters, "structure": None}


def test_saved_with_a_solver_object(tmp_path):
    predictor(solver=DualCoordinateDescent(sweeps=1)).fit(X, Y).save(tmp_path / "a.model")
    loaded = StructuredPredictor.load(tmp_path / "a.model", Multiclass())
    assert loaded.solver == "auto"
    assert "sweeps=1" in read_model(tmp_path / "a.model").header["summary"]["solver"]


def test_files_that_are_damaged(trained, tmp_path):
    path = tmp_path / "a.model"
    trained.save(path)
    header, tensors = read_model(path)
    for bad_header, bad_tensors in [
        (header, {}),
        (header, {"weights": np.ones(3, dtype=np.int64)}),
        (header, {"weights": np.ones((3, 4))}),
        ({**header, "summary": None}, tensors),
        ({**header, "summary": {}}, tensors),
        ({**header, "summary": {**header["summary"], "solution": {}}}, tensors),
        ({**header, "summary": {**header["summary"], "parameters": None}}, tensors),
    ]:
        write_model(path, bad_header, bad_tensors)
        with pytest.raises(ModelFileError, match="damaged"):
            StructuredPredictor.load(path, Multiclass())
