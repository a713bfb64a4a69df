"""Structures of one's own that hide something: one more method."""

import numpy as np
import pytest

from helpers.custom import Parts, parts
from widemargin import StructuredPredictor, load
from widemargin.errors import DataError, UnsupportedError, WidemarginError


def data(seed=0, n=40):
    examples = parts(seed, n)
    return examples.X, examples.golds


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_restarts": 3},
        {"completion": "online", "solver": "adagrad"},
        {"self_paced": "slack"},
        {"solver": "bundle", "init": "random"},
        {"loss": "hinge", "solver": "sdm"},
    ],
    ids=str,
)
def test_learning_and_predicting(options, tmp_path):
    X, y = data()
    predictor = StructuredPredictor(Parts(), C=1.0, **options).fit(X, y)
    assert predictor.score(X, y) > -0.2
    assert set(predictor.predict(X)) == {0, 1}
    pairs = predictor.predict_latent(X)
    assert [each for each, _ in pairs] == predictor.predict(X)
    assert all(h in range(3) for each, h in pairs if each)
    predictor.save(tmp_path / "model")
    again = load(tmp_path / "model", structure=Parts())
    assert again.predict(X) == predictor.predict(X)
    assert again.solution_.rounds == predictor.solution_.rounds
    assert again.solution_.restarts == predictor.solution_.restarts
    assert (len(predictor.solution_.restarts) == 3) == ("n_restarts" in options)


def test_beginning_with_completions_or_with_a_model():
    X, y = data()
    first = StructuredPredictor(Parts(), C=1.0, init="random", max_rounds=1).fit(X, y)
    hidden = [Parts().complete(x, each, first.model_.w) for x, each in zip(X, y, strict=True)]
    by_model = StructuredPredictor(Parts(), C=1.0, init=first).fit(X, y)
    by_hand = StructuredPredictor(Parts(), C=1.0, init=hidden).fit(X, y)
    assert np.array_equal(by_model.model_.w, by_hand.model_.w)


def test_piece_by_piece():
    X, y = data()
    predictor = StructuredPredictor(Parts(), C=1.0, solver="adagrad", init="random")
    for _ in range(20):
        predictor.partial_fit(X, y)
    assert predictor.score(X, y) > -0.3


def test_comparing_solvers_and_paths():
    X, y = data(n=12)
    comparison = StructuredPredictor(Parts(), C=1.0, init="random").compare(X, y, ["auto", "dcd"])
    assert "auto" in str(comparison)
    path = StructuredPredictor(Parts(), init="random").fit_path(X, y, [0.1, 1.0])
    assert [each.C for each in path] == [0.1, 1.0]


def test_mistakes():
    X, y = data(n=4)

    class NoPair(Parts):
        def decode(self, x, w, y=None):
            return 1

    class NoSize(Parts):
        n_weights = None

    with pytest.raises(DataError, match=r"pair \(y, h\)"):
        StructuredPredictor(NoPair(), C=1.0).fit(X, y)
    with pytest.raises(DataError, match="set n_weights"):
        StructuredPredictor(NoSize(), C=1.0).fit(X, y)
    with pytest.raises(WidemarginError, match="needs rounds"):
        StructuredPredictor(Parts(), completion="online").fit(X, y)
    with pytest.raises(WidemarginError, match="n_restarts"):
        StructuredPredictor(Parts(), n_restarts=0).fit(X, y)
    with pytest.raises(WidemarginError, match="inputs, but"):
        StructuredPredictor(Parts()).fit(X, y[:-1])

    class Sign:
        def features(self, x, y):
            return {0: x * y}

        def error(self, y, y_hat):
            return float(y != y_hat)

        def decode(self, x, w, y=None):
            return max((-1, 1), key=lambda s: w[0] * s * x + (y is not None and s != y))

    with pytest.raises(UnsupportedError, match="nothing is hidden"):
        StructuredPredictor(Sign()).fit([1.0, -1.0], [1, -1]).predict_latent([1.0])
