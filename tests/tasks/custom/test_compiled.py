"""A compiled structure of the user's own: estimator, model file, checkpoints and comparison as for any other."""

import numpy as np
import pytest

import widemargin
from widemargin import Problem, Stop, StructuredPredictor, fit
from widemargin._jit import kernel
from widemargin.core.examples import Differences
from widemargin.core.sparse import Rows
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.solvers import SOLVERS
from widemargin.testing import check_structure


@kernel
def _best(X, w, gold, scales):
    out = np.empty(len(X), dtype=np.int32)
    for i in range(len(X)):
        best = -np.inf
        for c in range(X.shape[1]):
            score = X[i, c] @ w
            if len(gold) > 0 and c != gold[i]:
                score += scales[i]
            if score > best:
                best, out[i] = score, c
    return out


class Choices:
    """One of the rows of a matrix is right: φ(x, c) = x[c], Δ zero-one, decoded by a kernel."""

    exact = True

    def __init__(self, X, y=None):
        self.X = np.array(X, dtype=np.float64)
        self.gold = np.empty(0, dtype=np.int32) if y is None else np.array(y, dtype=np.int32)
        self.n_examples, self.n_weights = len(self.X), self.X.shape[2]
        self.work = np.full(self.n_examples, 1.0)

    def decode(self, w, batch, *, error_scale=0.0):
        scales = np.empty(len(batch))
        scales[:] = error_scale
        gold = self.gold[batch] if np.any(scales) else self.gold[:0]
        return _best(self.X[batch], w, gold, scales)

    def difference(self, batch, outputs):
        psi = self.X[batch, self.gold[batch]] - self.X[batch, outputs]
        rows = [np.flatnonzero(row).astype(np.int32) for row in psi]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        values = np.concatenate([row[at] for row, at in zip(psi, rows, strict=True)])
        return Differences((outputs != self.gold[batch]).astype(np.float64), Rows(indptr, np.concatenate(rows), values))

    def support(self, batch):
        return np.array([[0, self.n_weights]], dtype=np.int64)

    def listed(self, outputs):
        return outputs.tolist()


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4, 3))
    return X, np.argmax(X @ [1.0, -2.0, 0.5] + rng.normal(scale=0.3, size=(n, 4)), axis=1)


X, Y = drawn(60, 0)
X_TEST, Y_TEST = drawn(40, 1)


def test_it_is_sound():
    check_structure(
        Choices(X[:10], Y[:10]),
        enumerate_outputs=lambda i: (np.array([c], dtype=np.int32) for c in range(4)),
        gold=Y[:10].astype(np.int32),
    )


@pytest.mark.parametrize("solver", ["auto", "dcd", "perceptron", "bundle"])
def test_it_trains_as_its_examples_do(solver):
    predictor = StructuredPredictor(Choices, solver=solver, max_epochs=20, C=1.0).fit(X, Y)
    problem = Problem(Choices(X, Y), C=1.0, loss=SOLVERS[solver].losses[0])
    alone = fit(problem, SOLVERS[solver], stop=Stop(epochs=20, gap=0.01))
    assert np.array_equal(predictor.solution_.w, alone.w)
    predicted = predictor.predict(X_TEST)
    assert all(type(each) is int for each in predicted)
    assert predictor.score(X_TEST, Y_TEST) == -np.mean(np.array(predicted) != Y_TEST)
    assert predictor.score(X_TEST, Y_TEST) > -0.3


def test_model_files(tmp_path):
    predictor = StructuredPredictor(Choices, C=1.0).fit(X, Y, dev=(X_TEST, Y_TEST))
    predictor.save(tmp_path / "a.wm")
    for again in (
        StructuredPredictor.load(tmp_path / "a.wm", Choices),
        widemargin.load(tmp_path / "a.wm", structure=Choices),
    ):
        assert again.predict(X_TEST) == predictor.predict(X_TEST)
        assert again.get_params() == predictor.get_params()
    with pytest.raises(ModelFileError, match="a structure of your own"):
        widemargin.load(tmp_path / "a.wm")
    with pytest.raises(DataError, match="have 2 weights, but there were 3"):
        predictor.predict(X_TEST[:, :, :2])


def test_a_structure_is_named_for_no_other_model(tmp_path):
    widemargin.SequenceTagger(max_epochs=1, templates="word").fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "t.wm")
    with pytest.raises(WidemarginError, match="a SequenceTagger, which has no 'structure'"):
        widemargin.load(tmp_path / "t.wm", structure=Choices)
    with pytest.raises(ModelFileError, match=r"use widemargin\.load"):
        StructuredPredictor.load(tmp_path / "t.wm", Choices)


def test_checkpoints(tmp_path):
    options = {"C": 1.0, "tol": None}
    whole = StructuredPredictor(Choices, max_epochs=6, **options).fit(X, Y).solution_
    file = tmp_path / "run"
    StructuredPredictor(Choices, max_epochs=3, **options).fit(X, Y, checkpoint=file)
    resumed = StructuredPredictor(Choices, max_epochs=6, **options).fit(X, Y, checkpoint=file, resume=True).solution_
    assert np.array_equal(resumed.w, whole.w)
    assert len(resumed.trace) == 6


def test_comparison(tmp_path):
    comparison = StructuredPredictor(Choices, C=1.0, max_epochs=10).compare(
        X, Y, ["dcd", "perceptron"], dev=(X_TEST, Y_TEST)
    )
    assert [run.name for run in comparison.runs] == ["dcd", "perceptron"]
    assert all(run.trace for run in comparison.runs)
    comparison.save(tmp_path / "report")
    assert (tmp_path / "report" / "report.html").exists()


def test_pieces():
    predictor = StructuredPredictor(Choices, solver="perceptron")
    predictor.partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    assert predictor.score(X_TEST, Y_TEST) > -0.4


def test_outputs_that_cannot_be_listed_are_explained():
    class Odd(Choices):
        def listed(self, outputs):
            return outputs.tolist()[:-1]

    with pytest.raises(WidemarginError, match=r"gives 39 outputs for 40 examples; .* listed\(outputs\)"):
        StructuredPredictor(Odd, n_jobs=1).fit(X, Y).predict(X_TEST)
