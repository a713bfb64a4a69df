"""Topics in all their forms, their features, and programmes that stay the same when they shrink."""

from itertools import combinations

import numpy as np
import pytest

from helpers.extracts import all_sets
from widemargin.errors import DataError
from widemargin.summaries import ngrams, rouge, words
from widemargin.tasks.summarise.features import (
    CONCEPT_FEATURES,
    N_CONCEPT,
    NAMES,
    SENTENCE_FEATURES,
    SummarySettings,
    Topic,
    as_references,
    as_topics,
    candidates_of,
    concept_counts,
    recall_of,
    split_sentences,
)

pytestmark = pytest.mark.interpreted

SETTINGS = SummarySettings(9, 2, lower=True, split_sentences=False, stop_words=["the", "is", "a"])
DOCUMENTS = [
    ["The battery is good.", "The battery is good and the screen is good.", "It has 3 ports?"],
    ["the battery is GOOD", "A screen.", "a long sentence that says the battery is good and then goes on and on"],
]
REFERENCES = ["The battery is good.", "A good screen: the screen is good."]


def test_names_and_columns_agree():
    extract, _ = candidates_of(Topic(DOCUMENTS), SETTINGS)
    assert len(NAMES) == len(set(NAMES)) == N_CONCEPT + len(SENTENCE_FEATURES)
    assert len(CONCEPT_FEATURES) == N_CONCEPT
    assert extract.sentence_features.shape[1] == extract.concept_features.shape[1] == len(NAMES)
    assert not extract.concept_features[:, N_CONCEPT:].any()


def test_only_the_first_of_equal_sentences_can_be_chosen_and_none_that_is_too_long():
    extract, places = candidates_of(Topic(DOCUMENTS), SETTINGS)
    assert places == [(0, 0), (0, 1), (0, 2), (1, 1)]
    assert extract.coverage.costs.tolist() == [4, 9, 4, 2]
    assert extract.coverage.budget == 9


def test_features_of_sets_are_sums_over_the_concepts_they_cover():
    """Merging concepts changes nothing: the count of all concepts, and that of frequent ones, are as they should be."""
    topic = Topic(DOCUMENTS)
    extract, places = candidates_of(topic, SETTINGS, recall_of(REFERENCES, SETTINGS))
    texts = [topic.documents[d][s] for d, s in places]
    counts = concept_counts([line for document in DOCUMENTS for line in document], SETTINGS)
    recall = recall_of(REFERENCES, SETTINGS)
    n_sets = 0
    for n in range(len(texts) + 1):
        for numbers in combinations(range(len(texts)), n):
            chosen = np.isin(np.arange(len(texts)), numbers)
            covered = {pair for k in numbers for pair in ngrams(words(texts[k]), 2)}
            found = dict(zip(NAMES, extract.features(chosen).tolist(), strict=True))
            assert found["concept: in 1 or more sentences"] == len(covered)
            assert found["concept: in 3 or more sentences"] == sum(counts[pair] >= 3 for pair in covered)
            assert found["concept: no stop words"] == sum(not {*pair} & {"the", "is", "a"} for pair in covered)
            assert found["sentence: any"] == n
            assert extract.recall(chosen) == pytest.approx(sum(recall.get(pair, 0.0) for pair in covered))
            n_sets += 1
    assert n_sets == 16
    assert len(extract.concept_recall) < len({pair for text in texts for pair in ngrams(words(text), 2)})


def test_recall_is_that_of_rouge_where_nothing_is_repeated():
    topic = Topic(DOCUMENTS)
    references = ["The battery is good.", "A nice screen with 3 ports"]
    extract, places = candidates_of(topic, SETTINGS, recall_of(references, SETTINGS))
    for chosen in all_sets(extract.coverage):
        text = "\n".join(topic.documents[d][s] for k, (d, s) in enumerate(places) if chosen[k])
        by_line = {pair for line in text.split("\n") for pair in ngrams(words(line), 2)}
        across = {*ngrams(words(text), 2)} - by_line  # ROUGE-2 sees pairs across lines, too
        worth = sum(recall_of(references, SETTINGS).get(pair, 0.0) for pair in across)
        assert rouge(references, text, ["rouge2"])["rouge2"].recall == pytest.approx(extract.recall(chosen) + worth)


def test_topics_in_any_form():
    lists = [[["One two.", "Three."], ["Four five."]]]
    texts = [["One two.\n Three.\n\n", "Four five.\r"]]
    assert as_topics(lists, split=False) == as_topics(texts, split=False) == [Topic(lists[0])]
    assert as_topics(["One two.\nThree."], split=False) == [Topic([["One two.", "Three."]])]
    assert as_topics([[["One. Two!"]]], split=True) == [Topic([["One.", "Two!"]])]
    assert as_topics([Topic(lists[0], "a")], split=False)[0].name == "a"
    assert as_references(["a b", ["c", "d"]], 2) == [["a b"], ["c", "d"]]


def test_sentences_are_split():
    text = 'He came at 5 p.m. on foot. "Why?" she said. Version 2.0 is out! (Good.) 3 left.'
    assert split_sentences(text) == [
        "He came at 5 p.m. on foot.",
        '"Why?" she said.',
        "Version 2.0 is out!",
        "(Good.)",
        "3 left.",
    ]


@pytest.mark.parametrize(
    ("X", "complaint"),
    [
        ("text", "X must be a list of topics"),
        ([3], "topic 0 must be a list of documents, not 3"),
        ([["a"], [4]], "topic 1: a document must be a text or a list of sentences, not 4"),
        ([[["a", 4]]], "topic 0: a sentence must be a text, not 4"),
    ],
)
def test_bad_topics_are_refused(X, complaint):
    with pytest.raises(DataError, match=complaint):
        as_topics(X, split=False)


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        (None, "y must be a list with the reference summaries"),
        ([["a"]], "there are 2 topics, but the references of 1"),
        (["a", []], r"y\[1\] must be a reference summary or a list of them"),
        ([["a"], ["b", 3]], "topic 1: a reference must be a text, not 3"),
    ],
)
def test_bad_references_are_refused(y, complaint):
    with pytest.raises(DataError, match=complaint):
        as_references(y, 2)
