"""Chains that learn BIOES labels: users give and see BIO labels all the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import widemargin
from widemargin import Constraints, SequenceTagger
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.tag.predict import labels_to_learn, labels_to_show
from widemargin.text.spans import Span, bio

X = [["Ann", "Lee", "met", "Bo"], ["Bo", "met", "Cy", "Dee", "Lee"], ["Cy", "left"], []] * 3
Y = [["B-P", "I-P", "O", "B-P"], ["B-P", "O", "B-P", "I-P", "I-P"], ["B-P", "O"], []] * 3


@st.composite
def marked(draw):
    """The BIO labels of some spans, neighbours included."""
    spans, start = [], 0
    for gap, size, kind in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("PQ")))):
        spans.append(Span(start + gap, start + gap + size, kind))
        start += gap + size
    return bio(spans, start + draw(st.integers(0, 2)))


@settings(max_examples=60)
@given(marked())
def test_learnt_labels_stand_for_the_given_ones(labels):
    (found,) = labels_to_learn("bioes", [labels], [labels])
    assert labels_to_show("bioes", found) == labels
    ends = [t for t, label in enumerate(labels) if label != "O" and not [*labels, "O"][t + 1].startswith("I-")]
    assert [t for t, label in enumerate(found) if label[0] in "ES"] == ends


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(templates="word word[-1..1]", scheme="bioes").fit(X, Y, dev=(X, Y))


def test_outputs_scores_and_evaluations_are_bio(tagger, tmp_path):
    assert set(tagger.classes_) == {"B-P", "I-P", "E-P", "S-P", "O"}
    assert tagger.predict(X) == Y
    assert tagger.score(X, Y) == 1.0
    wrong = [["O"] * len(labels) for labels in Y]
    found = tagger.model_.evaluate(X, wrong).results
    assert found["accuracy"] == pytest.approx(3 / 11)
    tagger.save(tmp_path / "t.wm")
    assert widemargin.load(tmp_path / "t.wm").predict(X) == Y


def test_outputs_are_the_spans_of_any_codes(tagger):
    labels = tagger.model_.labels
    codes = np.array([labels.index(label) for label in ("S-P", "I-P", "E-P", "B-P", "O")], dtype=np.int32)
    assert tagger.model_.outputs(codes, np.array([0, 5])) == [["B-P", "B-P", "I-P", "B-P", "O"]]


def test_alternatives_are_all_the_bio_outputs_there_are(tagger):
    best = tagger.predict_best([["Bo", "Lee"]], k=20)[0]
    found = [tuple(output) for _, output in best]
    assert sorted(found) == sorted([("O", "O"), ("B-P", "O"), ("O", "B-P"), ("B-P", "B-P"), ("B-P", "I-P")])
    assert list(best[0].output) == tagger.predict([["Bo", "Lee"]])[0]


def test_labels_of_long_spans_alone_still_have_outputs_of_any_length():
    tagger = SequenceTagger(templates="word", scheme="bioes").fit([["a", "b"]] * 3, [["B-P", "I-P"]] * 3)
    assert tagger.predict([["a"], ["a", "b"]]) == [["B-P"], ["B-P", "I-P"]]


def test_constraints_name_given_labels(tagger):
    (labels,) = tagger.predict([["Ann", "met"]], constraints=Constraints(allowed=[[None, {"I-P"}]], bio=True))
    assert labels == ["B-P", "I-P"]
    (labels,) = tagger.predict([["Ann", "met"]], constraints=Constraints(allowed=[[{"B-P"}, {"B-P"}]], bio=True))
    assert labels == ["B-P", "B-P"]
    (labels,) = tagger.predict([X[0]], constraints=Constraints(forbidden=[("B-P", "I-P")], bio=True))
    assert "I-P" not in labels
    with pytest.raises(WidemarginError, match="'X'"):
        tagger.predict([["Ann"]], constraints=Constraints(allowed=[[{"X"}]]))


def test_confidence_and_probabilities_are_calibrated_by_given_labels(tagger):
    tagger.calibrate(X, Y)
    assert np.allclose([row.sum() for each in tagger.predict_proba(X) for row in each], 1)
    assert tagger.predict_minimum_risk(X) == Y
    assert [span[:3] for span in tagger.predict_spans(X[:1])[0]] == [(0, 2, "P"), (3, 4, "P")]


def test_two_passes_may_learn_other_labels():
    assert SequenceTagger(templates="word", scheme="bioes", passes=2).fit(X, Y).predict(X) == Y


def test_what_cannot_be_combined_is_refused():
    bioes = {"templates": "word", "scheme": "bioes"}
    with pytest.raises(WidemarginError, match="scheme must be 'given' or 'bioes'"):
        SequenceTagger(templates="word", scheme="iob").fit(X, Y)
    with pytest.raises(DataError, match=r"for BIO labels.*'N'"):
        SequenceTagger(**bioes).fit([["a"]], [["N"]])
    with pytest.raises(UnsupportedError, match="all known"):
        SequenceTagger(**bioes).fit([["a", "b"]], [["B-P", None]])
    with pytest.raises(UnsupportedError, match="costs"):
        SequenceTagger(**bioes, costs={"O": 2.0}).fit(X, Y)
    with pytest.raises(UnsupportedError, match="all labels from the start"):
        SequenceTagger(**bioes, solver="perceptron").partial_fit(X, Y)
