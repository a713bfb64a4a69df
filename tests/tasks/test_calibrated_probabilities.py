"""Probabilities by calibration: they are a distribution, they fit data held out, and files keep them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

import widemargin
from widemargin import Constraints, LinearClassifier, MotifFinder, Segmenter, SequenceTagger
from widemargin.core.model_file import read_model, write_model
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.metrics import expected_calibration_error
from widemargin.tasks.answers import SureSpan
from widemargin.tasks.calibration import Tempered
from widemargin.text.spans import spans

pytestmark = pytest.mark.interpreted

LETTERS = "abcd"


def corpus(seed, n=60, noise=0.2):
    """Letters with labels that follow them, but for some noise."""
    rng = np.random.default_rng(seed)
    X = [[LETTERS[k] for k in rng.integers(4, size=5)] for _ in range(n)]
    noisy = ["O", "B-X", "B-Y"]
    y = [
        [noisy[rng.integers(3)] if rng.random() < noise else {"a": "B-X", "b": "B-Y"}.get(word, "O") for word in words]
        for words in X
    ]
    return X, y


TRAIN, HELD_OUT, TEST = corpus(0), corpus(1, 200), corpus(2, 200)


def tokens(seed, n):
    rng, W = np.random.default_rng(seed), np.random.default_rng(9).normal(size=(4, 3))
    X = rng.normal(size=(n, 4))
    return X, (2.0 * X @ W + rng.gumbel(size=(n, 3))).argmax(axis=1)


@pytest.fixture(scope="module", params=[SequenceTagger, Segmenter], ids=lambda kind: kind.__name__)
def fitted(request):
    estimator = request.param(templates=["word"], max_epochs=200, tol=1e-3, C=0.02).fit(*TRAIN)
    with pytest.raises(UnsupportedError, match="gives scores, not probabilities; calibrate the model"):
        estimator.predict_proba(TEST[0])
    estimator.calibrate(*HELD_OUT)
    return estimator


def error_at(model, beta):
    """The calibration error of the most probable labels of the test tokens, and −log p of the right ones."""
    probabilities, right = model.temper(*TEST)
    p = probabilities(beta)
    best = p.argmax(axis=1)
    error = expected_calibration_error(p.max(axis=1), right[np.arange(len(best)), best])
    return error, -np.log(p[right]).mean()


def test_probabilities_of_tokens_are_a_distribution_that_fits(fitted, tmp_path):
    found = fitted.predict_proba(TEST[0])
    np.testing.assert_allclose(np.concatenate(found).sum(axis=1), 1.0)
    model = fitted.model_
    (error, loss), (error_before, loss_before) = (error_at(model, beta) for beta in (model.beta, 1.0))
    assert error < 0.05 < error_before
    assert loss < loss_before
    fitted.save(tmp_path / "model.wm")
    again = widemargin.load(tmp_path / "model.wm")
    assert all(np.array_equal(*both) for both in zip(again.predict_proba(TEST[0]), found, strict=True))
    with pytest.raises(UnsupportedError, match="gives scores"):
        type(fitted)(templates=["word"], max_epochs=1).fit(*TRAIN).predict_marginals(TEST[0])


def test_they_are_those_of_the_scaled_model(fitted):
    """β⟨w, φ⟩ are the scores of a model with the weights βw, trained by likelihood as far as anyone can tell."""
    model, other = fitted.model_, fitted.model_
    scaled = type(other)(**{**other.__dict__, "summary": {"objective": "likelihood"}, "calibration": None})
    scaled.__dict__.pop("predictor", None)
    scaled.weights = type(model.weights)(
        *(
            part._replace(values=model.beta * part.values) if isinstance(part, tuple) else model.beta * part
            for part in model.weights
        )
    )
    for mine, theirs in zip(model.predict_proba(TEST[0]), scaled.predict_proba(TEST[0]), strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_marginals_are_dicts_of_the_same_probabilities(fitted):
    X = TEST[0][:3]
    rows = fitted.predict_proba(X)
    found = fitted.predict_marginals(X)
    assert [[list(token) for token in each] for each in found] == [[fitted.classes_.tolist()] * 5] * 3
    assert [[list(token.values()) for token in each] for each in found] == [each.tolist() for each in rows]
    assert fitted.predict_marginals_single(X[1]) == found[1]
    assert type(next(iter(found[0][0]))) is str


def test_constraints_hold_for_calibrated_probabilities():
    tagger = SequenceTagger(templates=["word"], max_epochs=3).fit(*TRAIN)
    tagger.calibrate(*HELD_OUT)
    (rows,) = tagger.predict_proba([["a", "b"]], Constraints(allowed=[[{"O"}, None]]))
    assert rows[0].tolist() == (tagger.classes_ == "O").tolist()
    assert rows[1].sum() == pytest.approx(1.0)
    assert tagger.predict_minimum_risk([["a"]])[0][0] == tagger.classes_[tagger.predict_proba([["a"]])[0][0].argmax()]


def test_labels_known_in_part_and_unseen_ones_calibrate_too():
    tagger = SequenceTagger(templates=["word"], max_epochs=3).fit(*TRAIN)
    X, y = HELD_OUT
    tagger.calibrate(X, y)
    beta = tagger.model_.beta
    tagger.calibrate([*X, ["a", "b", "c"]], [*y, [None, "B-NEW", {"O", "B-X", "B-Y"}]])
    assert tagger.model_.beta == pytest.approx(beta, rel=0.05)


@pytest.mark.parametrize("beta", ["1", None, -1.0, float("nan"), float("inf"), [1.0]])
def test_a_damaged_scale_is_refused(fitted, beta, tmp_path):
    fitted.save(tmp_path / "model.wm")
    header, tensors = read_model(tmp_path / "model.wm")
    write_model(tmp_path / "bad.wm", {**header, "beta": beta}, tensors)
    with pytest.raises(ModelFileError, match=r"bad.wm is damaged: .*beta"):
        widemargin.load(tmp_path / "bad.wm")


def test_models_calibrated_before_there_was_a_scale_still_load(fitted, tmp_path):
    fitted.save(tmp_path / "model.wm")
    header, tensors = read_model(tmp_path / "model.wm")
    write_model(tmp_path / "old.wm", {name: value for name, value in header.items() if name != "beta"}, tensors)
    old = widemargin.load(tmp_path / "old.wm")
    assert old.predict_spans(TEST[0]) == fitted.predict_spans(TEST[0])
    with pytest.raises(UnsupportedError, match="calibrate the model"):
        old.predict_proba(TEST[0])


def test_classes():
    classifier = LinearClassifier().fit(*tokens(0, 100))
    assert not hasattr(classifier, "predict_proba")
    classifier.calibrate(*tokens(1, 500))
    assert hasattr(classifier, "predict_proba")
    X, y = tokens(2, 1000)
    p = classifier.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p, softmax(classifier.model_.beta * classifier.model_.scores(X), axis=1))

    def error(p):
        return expected_calibration_error(p.max(axis=1), p.argmax(axis=1) == y)

    assert error(p) < 0.05 < error(softmax(classifier.model_.scores(X), axis=1))


def test_motifs():
    rng = np.random.default_rng(0)
    X = ["".join("ACGT"[k] for k in rng.integers(4, size=12)) for _ in range(24)]
    X[:12] = [each[:4] + "TATA" + each[8:] for each in X[:12]]
    finder = MotifFinder(length=4, order=0, max_epochs=5).fit(X, [1] * 12 + [0] * 12)
    finder.calibrate(X, [1] * 12 + [0] * 12)
    p = finder.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    best = (finder.predict(X) == finder.classes_[1]).astype(int)
    np.testing.assert_allclose(p[np.arange(len(X)), best], finder.confidence(X))


@given(st.floats(0.01, 100.0), st.integers(0, 10))
def test_the_scale_that_the_data_come_from(beta, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3000, 4)) / beta
    drawn = (beta * scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    right = drawn[:, None] == np.arange(4)
    found = Tempered(lambda b: softmax(b * scores, axis=1), right).best(1.0 / beta)
    assert found == pytest.approx(beta, rel=0.15)


def test_the_scale_is_finite_even_if_everything_is_right():
    scores = np.eye(3)[np.arange(30) % 3]
    found = Tempered(lambda b: softmax(b * scores, axis=1), scores > 0).best(1.0)
    top = softmax(found * np.array([1.0, 0.0, 0.0]))[0]
    assert top == pytest.approx(1 - 1 / 32, abs=1e-3)  # Platt's target for 30 right ones
    assert Tempered(lambda b: scores, np.zeros((30, 3), dtype=bool)).best(1.0) is None


def test_spans_without_calibration():
    X, y = TRAIN
    tagger = SequenceTagger(templates=["word"], max_epochs=2).fit(X, y)
    found = tagger.predict_spans(X)
    assert found == [[SureSpan(*span, None) for span in spans(labels)] for labels in tagger.predict(X)]
    once = tagger.predict_spans([["a", "a"]], Constraints(at_most_one=["X"]))
    assert len(once[0]) <= 1
    segmenter = Segmenter(templates=["word"], max_epochs=2).fit(X, y)
    assert [[each[:3] for each in found] for found in segmenter.predict_spans(X)] == segmenter.predict(X)
    assert {each.confidence for found in segmenter.predict_spans(X) for each in found} == {None}
