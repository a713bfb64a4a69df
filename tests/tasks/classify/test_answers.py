"""Alternatives, constraints and confidence of classifiers, which are all lines on the matrix of scores."""

import json

import numpy as np
import pytest

import widemargin
from helpers.command_line import fail, succeed
from widemargin import Constraints, LinearClassifier
from widemargin.errors import DataError, UnsupportedError, WidemarginError

pytestmark = pytest.mark.interpreted
NAMES = np.array(["ant", "bee", "cat"])


def examples(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, NAMES[(X + rng.normal(scale=0.7, size=X.shape)).argmax(axis=1)]


@pytest.fixture(scope="module")
def classifier():
    return LinearClassifier(max_epochs=10).fit(*examples(0, 100))


def test_alternatives(classifier):
    X, _ = examples(1, 20)
    scores = classifier.decision_function(X)
    for row, ranked in zip(scores, classifier.predict_best(X, 2), strict=True):
        order = np.argsort(-row)[:2]
        assert [label for _, label in ranked] == NAMES[order].tolist()
        assert [score for score, _ in ranked] == row[order].tolist()
    assert np.array_equal(np.array(classifier.max_marginals(X)), scores)
    with pytest.raises(WidemarginError, match="at least"):
        classifier.predict_best(X, 0)


def test_constraints(classifier):
    X, _ = examples(1, 20)
    allowed = [None, {"ant"}, {"ant", "cat"}] + [{"bee", "cat"}] * 17
    predicted = classifier.predict(X, Constraints(allowed=allowed))
    for row, label, names in zip(classifier.decision_function(X), predicted, allowed, strict=True):
        assert label == max(names or NAMES, key=lambda name, row=row: row[NAMES.tolist().index(name)])
    assert [len(each) for each in classifier.predict_best(X[:3], 3, Constraints(allowed=allowed[:3]))] == [3, 1, 2]
    with pytest.raises(DataError, match="for sequence 1 complies"):
        classifier.predict(X[:2], Constraints(allowed=[None, set()]))
    with pytest.raises(DataError, match="'dog', which the model does not know"):
        classifier.predict(X[:1], Constraints(allowed=[{"dog"}]))
    with pytest.raises(UnsupportedError, match="only the `allowed` constraint"):
        classifier.predict(X, Constraints(bio=True))


def test_confidence(classifier, tmp_path):
    X, y = examples(2, 300)
    with pytest.raises(WidemarginError, match="not calibrated for labels"):
        LinearClassifier(max_epochs=2).fit(X, y).confidence(X)
    report = classifier.calibrate(X, y)
    assert report["labels"].right == pytest.approx(classifier.score(X, y))
    assert classifier.confidence(X).mean() == pytest.approx(classifier.score(X, y), abs=0.01)
    assert (classifier.confidence(X[:1], Constraints(allowed=[{"bee"}])) == 1.0).all()
    classifier.save(tmp_path / "model.wm")
    assert np.array_equal(widemargin.load(tmp_path / "model.wm").confidence(X), classifier.confidence(X))
    with pytest.raises(DataError, match="300 examples, but 1 classes"):
        classifier.calibrate(X, y[:1])


def test_on_the_command_line(tmp_path):
    for name, seed in (("train", 0), ("dev", 1)):
        X, y = examples(seed, 80)
        lines = [f"{label} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f}" for (a, b, c), label in zip(X, y, strict=True)]
        (tmp_path / f"{name}.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model, dev = tmp_path / "model.wm", tmp_path / "dev.svm"
    succeed("train", "classify", "--train", tmp_path / "train.svm", "--out", model, "--quiet")
    assert "not calibrated" in fail("predict", model, dev, "--confidence")
    assert "do not apply" in fail("predict", model, dev, "--bio")
    assert set(json.loads(succeed("calibrate", model, dev, "--json"))) == {"model", "data", "labels"}
    answers = [json.loads(line) for line in succeed("predict", model, dev, "--confidence", "--best", 2).splitlines()]
    assert [answer["label"] for answer in answers] == succeed("predict", model, dev).splitlines()
    assert all(answer["alternatives"][0]["label"] == answer["label"] for answer in answers)
    assert "labels" in json.loads(succeed("evaluate", model, dev, "--json"))["calibration"]
    assert "expected calibration error" in succeed("evaluate", model, dev)


def test_rows_of_another_width_are_no_sequences():
    model = LinearClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).model_
    with pytest.raises(DataError, match="X has rows of 3 features, but the model knows 2"):
        model.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(DataError, match=r"X has the shape \(2,\); a matrix with a row per example is wanted"):
        model.predict([1.0, 2.0])
    with pytest.raises(DataError, match="example 1: feature 0 is nan"):
        model.predict([[1.0, 2.0], [np.nan, 1.0]])
    assert model.predict([]) == []
