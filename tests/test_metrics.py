"""Metrics against a transcription of conlleval, against counting by hand, and on nothing at all."""

import math
import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import (
    Score,
    accuracy,
    confusion,
    label_scores,
    scores_of_spans,
    scores_with_alternatives,
    sequence_accuracy,
    sequence_scorer,
    span_scores,
)
from widemargin.text.spans import Span, is_bio, spans

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O"], ["B-LOC", "I-LOC"]]
FOUND = [["B-PER", "I-PER", "O", "B-PER"], ["O"], ["B-LOC", "O"]]

bioes = st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "xy")])


@st.composite
def labellings(draw, label=bioes):
    """Gold and predicted labels of the same shape."""
    lengths = draw(st.lists(st.integers(0, 8), max_size=6))
    gold, predicted = ([draw(st.lists(label, min_size=n, max_size=n)) for n in lengths] for _ in range(2))
    return gold, predicted


def conlleval_spans(labels):
    """The conditions of conlleval's startOfChunk and endOfChunk, one by one as the script lists them."""
    found, start = [], None
    previous_tag, previous_type = "O", ""
    for position, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        pair = previous_tag + tag
        ends = pair in {"BB", "BO", "IB", "IO", "EE", "EI", "EO", "ES", "SE", "SI", "SO", "SS", "BS", "IS", "EB", "SB"}
        starts = tag in "BS" or pair in {"EE", "EI", "SE", "SI", "OE", "OI"}
        if previous_tag != "O" and (ends or previous_type != kind):
            found.append((start, position, previous_type))
        if tag != "O" and (starts or previous_type != kind):
            start = position
        previous_tag, previous_type = tag, kind
    return found


def f1_by_sets(gold, predicted):
    """Micro-averaged precision, recall and F1 from two sets of located spans."""
    wanted = {(i, *span) for i, labels in enumerate(gold) for span in conlleval_spans(labels)}
    found = {(i, *span) for i, labels in enumerate(predicted) for span in conlleval_spans(labels)}
    precision = len(wanted & found) / len(found) if found else 0.0
    recall = len(wanted & found) / len(wanted) if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1, len(wanted)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-x I-x O B-x", [(0, 2, "x"), (3, 4, "x")]),
        ("B-x B-x", [(0, 1, "x"), (1, 2, "x")]),
        ("I-x I-x O I-y", [(0, 2, "x"), (3, 4, "y")]),
        ("I-x B-x I-x", [(0, 1, "x"), (1, 3, "x")]),
        ("B-x I-y", [(0, 1, "x"), (1, 2, "y")]),
        ("B-x I-x E-x S-y", [(0, 3, "x"), (3, 4, "y")]),
        ("B-x L-x U-y I-y", [(0, 2, "x"), (2, 3, "y"), (3, 4, "y")]),
        ("E-x E-x", [(0, 1, "x"), (1, 2, "x")]),
        ("B I O", [(0, 2, "")]),
        ("B-a-b I-a-b", [(0, 2, "a-b")]),
        ("NN BAD IN", []),
    ],
)
def test_spans(labels, expected):
    assert spans(labels.split()) == expected


@given(st.lists(bioes, max_size=12))
def test_spans_are_those_of_conlleval(labels):
    assert spans(labels) == conlleval_spans(labels)


@given(labellings())
def test_span_scores_are_those_of_sets(pair):
    assert span_scores(*pair).micro == pytest.approx(f1_by_sets(*pair))


def test_span_scores_by_hand():
    scores = span_scores(GOLD, FOUND)
    assert scores.by_label == {"LOC": Score(0.0, 0.0, 0.0, 2), "PER": Score(0.5, 1.0, pytest.approx(2 / 3), 1)}
    assert scores.micro == Score(pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3), 3)


def test_a_type_called_micro_is_a_type_like_any_other():
    scores = span_scores([["B-micro", "B-x"]], [["B-micro", "O"]])
    assert scores.by_label["micro"].recall == 1.0
    assert scores.micro.recall == 0.5


def test_accuracies_by_hand():
    assert accuracy(GOLD, FOUND) == pytest.approx(5 / 7)
    assert accuracy(GOLD, FOUND, sample_weight=[1, 0, 3]) == pytest.approx((3 + 3 * 1) / (4 + 3 * 2))
    assert sequence_accuracy(GOLD, FOUND) == pytest.approx(1 / 3)


@given(labellings())
def test_accuracy_with_equal_weights_is_accuracy(pair):
    assert accuracy(*pair, sample_weight=[2.0] * len(pair[0])) == pytest.approx(accuracy(*pair))


@given(labellings(st.sampled_from("NVD")))
def test_label_scores_and_confusion_are_those_of_counting(pair):
    tokens = [(g, p) for gold, predicted in zip(*pair, strict=True) for g, p in zip(gold, predicted, strict=True)]
    labels, matrix = confusion(*pair)
    assert labels == sorted({label for token in tokens for label in token})
    assert matrix.tolist() == [[tokens.count((g, p)) for p in labels] for g in labels]

    scores = label_scores(*pair)
    assert list(scores.by_label) == labels
    for label, (precision, recall, f1, support) in scores.by_label.items():
        right = tokens.count((label, label))
        found = sum(p == label for _, p in tokens)
        assert support == sum(g == label for g, _ in tokens)
        assert precision == (right / found if found else 0.0)
        assert recall == (right / support if support else 0.0)
        assert f1 == 2 * right / (found + support)
    assert scores.micro[:3] == (accuracy(*pair),) * 3


@given(labellings())
def test_perfect_predictions_score_one(pair):
    gold, _ = pair
    assert accuracy(gold, gold) == float(any(gold))
    assert sequence_accuracy(gold, gold) == float(bool(gold))
    assert span_scores(gold, gold).micro.f1 == float(any(spans(labels) for labels in gold))


@pytest.mark.parametrize("nothing", [[], [[]], [["O"]]])
def test_nothing_is_never_nan(nothing):
    numbers = [
        *span_scores(nothing, nothing).micro,
        *label_scores(nothing, nothing).micro,
        accuracy(nothing, nothing, [0.0] * len(nothing)),
        accuracy(nothing, nothing),
        sequence_accuracy(nothing, nothing),
    ]
    assert all(math.isfinite(number) for number in numbers)
    assert confusion([], []).matrix.shape == (0, 0)


@pytest.mark.parametrize("metric", [accuracy, sequence_accuracy, span_scores, label_scores, confusion])
def test_length_mismatch_names_the_sequence(metric):
    with pytest.raises(DataError, match=r"^there are 1 gold sequences, but 2 predicted ones$"):
        metric([["O"]], [["O"], ["O"]])
    with pytest.raises(DataError, match=r"^sequence 1 has 2 gold labels, but 1 predicted ones$"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])


def test_weights_of_the_wrong_length():
    with pytest.raises(DataError, match=r"^there are 3 sequences, but 1 weights$"):
        accuracy(GOLD, FOUND, [1.0])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O B-x I-x", True),
        ("O I-x", True),
        ("B-x I-x E-x S-x O", True),
        ("B-x L-x U-x", True),
        ("B I O", True),
        ("O", False),
        ("", False),
        ("E I", False),
        ("B-x NN", False),
        ("NN IN BES", False),
    ],
)
def test_is_bio(labels, expected):
    assert is_bio(labels.split()) is expected


class Echo:
    """An estimator that predicts what it is given."""

    def predict(self, X):
        return X


@pytest.mark.parametrize(("name", "expected"), [("accuracy", 5 / 7), ("f1", 1 / 3), ("sequence_accuracy", 1 / 3)])
def test_scorers(name, expected):
    scorer = pickle.loads(pickle.dumps(sequence_scorer(name)))
    assert scorer == sequence_scorer(name)
    assert scorer(Echo(), FOUND, GOLD) == pytest.approx(expected)
    assert scorer(Echo(), [], []) == 0.0


def test_unknown_scorer():
    with pytest.raises(
        WidemarginError, match=r"^there is no scorer 'auc'; choose one of accuracy, f1, sequence_accuracy$"
    ):
        sequence_scorer("auc")


def test_scorers_serve_scikit_learn():
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import cross_validate

    class Outside(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return [["O"] * len(x) for x in X]

    names = ("accuracy", "f1", "sequence_accuracy")
    y = [["O", "O"], ["O", "B-x"], ["O"], ["B-x"]]
    result = cross_validate(Outside(), y, y, cv=2, scoring={name: sequence_scorer(name) for name in names})
    assert result["test_accuracy"] == pytest.approx([0.75, 0.5])
    assert result["test_sequence_accuracy"] == pytest.approx([0.5, 0.5])
    assert np.all(result["test_f1"] == 0.0)


located = st.builds(lambda start, size: Span(start, start + size, "x"), st.integers(0, 3), st.integers(1, 2))


@given(st.dictionaries(located, st.lists(located, max_size=3), max_size=4), st.lists(located, max_size=4, unique=True))
def test_alternatives_against_all_assignments(wanted, found):
    """As many gold spans as possible get a prediction of their own."""
    n = max(len(wanted), len(found))
    padded = [*found, *[None] * (n - len(found))]
    best = max(
        sum(one is not None and one in {span, *wanted[span]} for span, one in zip(wanted, order, strict=False))
        for order in permutations(padded)
    )
    score = scores_with_alternatives([wanted], [found]).micro
    assert score.recall == pytest.approx(best / len(wanted) if wanted else 0)
    assert score.precision == pytest.approx(best / len(found) if found else 0)


@given(labellings())
def test_without_alternatives_spans_are_scored_as_always(both):
    gold, predicted = ([spans(labels) for labels in each] for each in both)
    plain = [dict.fromkeys(each, ()) for each in gold]
    assert scores_with_alternatives(plain, predicted) == scores_of_spans(gold, predicted)
