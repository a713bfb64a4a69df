"""ROUGE is that of the package rouge-score, and its parts are what their names say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.errors import DataError
from widemargin.metrics import Score
from widemargin.summaries import MEASURES, mean_rouge, rouge, rouge_l, rouge_l_sum, rouge_n, words

pytestmark = pytest.mark.interpreted

TEXTS = st.lists(st.sampled_from(["the", "cat", "The", "sat.", "on_a", "mat", "2nd", "\n", "!", "a"]), max_size=14)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_scores_are_those_of_rouge_score(one, other):
    """With repetitions, empty sentences and punctuation."""
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(list(MEASURES), use_stemmer=False)
    reference, summary = " ".join(one), " ".join(other)
    expected = scorer.score(reference, summary)
    for name, measure in MEASURES.items():
        found = measure(reference, summary)
        assert found[:3] == pytest.approx(
            (expected[name].precision, expected[name].recall, expected[name].fmeasure), abs=1e-12
        ), name


def test_the_best_of_several_references_is_that_of_rouge_score():
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(list(MEASURES), use_stemmer=False)
    references = ["The battery lasts long.\nIt charges fast.", "Long battery life.", "A battery that lasts"]
    summary = "The battery lasts very long .\nFast to charge"
    expected = scorer.score_multi(references, summary)
    found = rouge(references, summary, several="best")
    assert {name: score.f1 for name, score in found.items()} == pytest.approx(
        {name: score.fmeasure for name, score in expected.items()}
    )


def test_scores_by_hand():
    assert rouge_n("a b c d", "b c x", 1) == Score(2 / 3, 0.5, pytest.approx(4 / 7), 4)
    assert rouge_n("a b c d", "b c x", 2)[:2] == (0.5, 1 / 3)
    assert rouge_n("a a b", "a b b", 1).recall == pytest.approx(2 / 3)
    assert rouge_l("a b c d", "b x d a")[:2] == (0.5, 0.5)
    # Lin's example of the union: w1 w2 w3 w4 w5 against w1 w2 w6 w7 w8 and w1 w3 w8 w9 w5.
    assert rouge_l_sum("w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5").recall == pytest.approx(4 / 5)


def test_nothing_scores_nothing():
    for measure in MEASURES.values():
        assert measure("", "") == Score(0.0, 0.0, 0.0, 0)
        assert measure("a", "")[:3] == measure("", "a")[:3] == (0.0, 0.0, 0.0)
    with pytest.raises(DataError, match="without references"):
        rouge([], "a")


def test_means_are_over_references_first():
    scores = mean_rouge([["a b", "c"], ["a"]], ["a b", "a"])
    assert scores["rouge1"].recall == pytest.approx(((1.0 + 0.0) / 2 + 1.0) / 2)
    assert scores["rouge1"].support == 2


def test_words_of_other_languages_stay_whole():
    assert words("Ünïcode_und Größe: 3,5 km") == ["ünïcode", "und", "größe", "3", "5", "km"]
    assert words("Aber NICHT", lower=False) == ["Aber", "NICHT"]
