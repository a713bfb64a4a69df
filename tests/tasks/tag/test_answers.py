"""Alternatives, margins and confidence against all outputs, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import widemargin
from helpers import random_chain
from helpers.chains import BIO, BIOES
from widemargin import Constraints, SequenceTagger
from widemargin.core.model_file import read_model, write_model
from widemargin.errors import DataError, ModelFileError, UnsupportedError, WidemarginError
from widemargin.metrics import accuracy
from widemargin.tasks.answers import Ranked
from widemargin.tasks.calibration import Margins
from widemargin.text.spans import SpanLabels, spans

WORDS = ["a", "b", "c", "d"]
MARKS = ["O", "B-X", "I-X"]


def corpus(seed, n=60):
    """Words and labels: `b` begins a span, `c` goes on with one; the more noise, the later the word."""
    rng = np.random.default_rng(seed)
    X = [[WORDS[k] for k in rng.integers(4, size=rng.integers(1, 6))] for _ in range(n)]
    right = {"a": (0.95, "O"), "b": (0.85, "B-X"), "c": (0.7, "I-X"), "d": (0.4, "O")}
    y = [[label if rng.random() < p else MARKS[rng.integers(3)] for p, label in map(right.get, words)] for words in X]
    return X, y


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(templates=["word", "word[-1]"], max_epochs=5).fit(*corpus(0))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([BIO, BIOES]))
def test_margins_are_the_lead_over_all_that_is_different(seed, n, labels):
    model = random_chain(seed, [n], n_labels=len(labels))
    examples, batch = model.compiled(), np.zeros(1, dtype=np.int32)
    w = np.random.default_rng(seed).normal(size=examples.n_weights)
    margins = Margins.of(examples.decode(w, batch), examples.max_marginals(w, batch))
    scored = [(model.score(w, 0, y), y) for y in model.outputs(0)]
    best, code = max(scored)[0], margins.codes.tolist()
    expected = [best - max(score for score, y in scored if y[t] != code[t]) for t in range(n)]
    assert margins.of_labels() == pytest.approx(expected, abs=1e-9)

    found = spans([labels[c] for c in code])
    without = [
        max(
            score
            for score, y in scored
            if y[span.start : span.end] != code[span.start : span.end] or span not in spans([labels[c] for c in y])
        )
        for span in found
    ]
    assert margins.of_spans(found, SpanLabels(labels)) == pytest.approx([best - each for each in without], abs=1e-9)


def test_alternatives_come_best_first_and_begin_with_the_prediction(tagger):
    X = [["a", "b", "c"], [], ["d"]]
    ranked = tagger.predict_best(X, 5)
    assert [len(each) for each in ranked] == [5, 1, 3]
    assert ranked[1] == [Ranked(0.0, [])]
    assert [each[0].output for each in ranked] == tagger.predict(X)
    for each in ranked:
        assert [score for score, _ in each] == sorted((score for score, _ in each), reverse=True)
    everything = tagger.predict_best(X, 100)
    assert sorted(labels for _, labels in everything[0]) == sorted(map(list, product(MARKS, repeat=3)))
    with pytest.raises(WidemarginError, match="at least"):
        tagger.predict_best(X, 0)


def test_max_marginals_are_in_the_order_of_the_classes(tagger):
    X = [["b", "c"], ["a"]]
    best = tagger.max_marginals(X)
    assert [each.shape for each in best] == [(2, 3), (1, 3)]
    ranked = tagger.predict_best(X, 100)
    for scores, outputs in zip(best, ranked, strict=True):
        for t, label in product(range(len(scores)), range(3)):
            expected = max(score for score, labels in outputs if labels[t] == tagger.classes_[label])
            assert scores[t, label] == pytest.approx(expected)


def test_constraints_on_predictions(tagger):
    X = [["c", "b", "c"], ["a", "b"]]
    allowed = [None, [{"B-X"}, None]]
    predicted = tagger.predict(X, Constraints(bio=True, allowed=allowed))
    assert predicted[0][0] != "I-X"
    assert predicted[1][0] == "B-X"
    assert [each[0].output for each in tagger.predict_best(X, 2, Constraints(bio=True, allowed=allowed))] == predicted
    assert tagger.predict(X, Constraints(spans=[[(0, 3, "X")], []]))[0] == ["B-X", "I-X", "I-X"]
    assert sum(label == "B-X" for label in tagger.predict([["b", "a"] * 5], Constraints(at_most_one=["X"]))[0]) == 1
    with pytest.raises(UnsupportedError, match="alternatives cannot be found under at_most_one"):
        tagger.predict_best(X, 2, Constraints(at_most_one=["X"]))
    for ask in (tagger.predict, lambda X, constraints: tagger.predict_best(X, 2, constraints)):
        with pytest.raises(DataError, match="for sequence 1 complies"):
            ask(X, Constraints(bio=True, allowed=[None, [{"I-X"}, None]]))


def test_confidence_needs_calibration():
    tagger = SequenceTagger(templates=["word"], max_epochs=2).fit(*corpus(0))
    with pytest.raises(WidemarginError, match="not calibrated"):
        tagger.confidence([["a"]])


def test_calibrated_confidence(tagger, tmp_path):
    X, y = corpus(1, 400)
    report = tagger.calibrate(X, y)
    assert report["labels"].n == sum(map(len, X))
    assert report["labels"].right == pytest.approx(accuracy(y, tagger.predict(X)))
    assert report["labels"].after <= report["labels"].before
    assert "expected calibration error" in str(report)

    confidence = tagger.confidence(X)
    assert [len(each) for each in confidence] == [len(each) for each in X]
    right = [[p == g for p, g in zip(*pair, strict=True)] for pair in zip(tagger.predict(X), y, strict=True)]
    assert np.concatenate(confidence).mean() == pytest.approx(np.concatenate(right).mean(), abs=0.01)
    found = tagger.predict_spans(X)
    assert [[span[:3] for span in each] for each in found] == [spans(each) for each in tagger.predict(X)]
    assert report["spans"].n == sum(map(len, found))

    tagger.save(tmp_path / "model.wm")
    again = widemargin.load(tmp_path / "model.wm")
    assert again.predict_spans(X) == found
    assert again.tagger_.judge_confidence(X, y) == report


def test_confidence_where_nothing_else_is_possible(tagger):
    tagger.calibrate(*corpus(1, 100))
    [sure, _] = tagger.confidence([["a", "b"]], Constraints(allowed=[[{"B-X"}, None]]))[0]
    assert sure == 1.0


def test_labels_that_mark_no_spans():
    X, y = corpus(0)
    numbers = [[MARKS.index(label) for label in labels] for labels in y]
    tagger = SequenceTagger(templates=["word"], max_epochs=2).fit(X, numbers)
    assert tagger.calibrate(X, numbers).keys() == {"labels"}
    with pytest.raises(DataError, match="do not mark spans"):
        tagger.predict_spans(X)


def test_where_no_span_is_predicted():
    X, y = [["a", "b"]] * 9, [["O", "O"]] * 8 + [["O", "B-X"]]
    tagger = SequenceTagger(templates=["word"], C=0.01, max_epochs=2).fit(X, y)
    assert tagger.calibrate(X, y).keys() == {"labels"}
    assert tagger.predict_spans(X) == [[]] * 9
    (forced,) = tagger.predict_spans(X[:1], Constraints(spans=[[(1, 2, "X")]]))
    assert forced == [(1, 2, "X", None)]  # nothing was learnt about the margins of spans


@pytest.mark.parametrize(
    "damaged",
    [
        *(None, [], 3, {}, {"labels": None}, {"labels": [1.0]}, {"labels": [1.0, "0"]}, {"labels": [-1.0, 0.0]}),
        *({"labels": [1.0, 0.0], "spans": [float("nan"), 0.0]}, {"labels": [1.0, 0.0, 0.0]}),
    ],
)
def test_damaged_calibration(tagger, tmp_path, damaged):
    tagger.save(tmp_path / "model.wm")
    header, tensors = read_model(tmp_path / "model.wm")
    write_model(tmp_path / "damaged.wm", header | {"calibration": damaged}, tensors)
    with pytest.raises(ModelFileError, match="damaged"):
        widemargin.load(tmp_path / "damaged.wm")
