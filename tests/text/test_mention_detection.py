"""Mentions where none are marked."""

import numpy as np
import pytest

from widemargin.text.mentions import Mentions, detect_mentions

pytestmark = pytest.mark.interpreted


def found(words, *, sentence=None, **columns):
    words = words.split()
    given = {name: value.split() for name, value in columns.items()}
    document = Mentions({"word": words, **given}, np.array(sentence or [0] * len(words)), [])
    return [" ".join(words[start:end]) for start, end in detect_mentions(document)]


def test_in_trees():
    """Of phrases that begin together the longest, but possessors and members of lists as well."""
    words = "John 's dog and the cat saw him in the house of the king"
    parse = "(TOP(S(NP(NP(NP* *) *) * (NP* *)) (VP* (NP*) (PP* (NP(NP* *) (PP* (NP* *))))))))"
    assert found(words, parse=parse) == [
        "John 's dog and the cat",
        "John 's dog",
        "John 's",
        "the cat",
        "him",
        "the house of the king",
        "the king",
    ]


def test_possessives_in_trees_are_mentions():
    assert found("his dog", parse="(NP* *)") == ["his dog", "his"]
    assert found("this dog", parse="(NP* *)") == ["this dog"]


def test_in_dependencies():
    words = "Ada and the old king of France , who smiled , saw his dog ."
    upos = "PROPN CCONJ DET ADJ NOUN ADP PROPN PUNCT PRON VERB PUNCT VERB PRON NOUN PUNCT"
    head = "12 5 5 5 1 7 5 10 10 5 10 0 14 12 12"
    deprel = "nsubj cc det amod conj case nmod punct nsubj acl punct root nmod:poss obj punct"
    feats = "_ _ _ _ _ _ _ _ PronType=Rel _ _ _ _ _ _"
    assert found(words, upos=upos, head=head, deprel=deprel, feats=feats) == [
        "Ada and the old king of France , who smiled ,",
        "Ada",
        "the old king of France , who smiled ,",
        "France",
        "his dog",
        "his",
    ]


def test_dependencies_that_go_round_in_circles_end():
    assert found("a b", upos="NOUN NOUN", head="2 1", deprel="x x") == ["a b"]


@pytest.mark.parametrize(
    "tags", [{"upos": "DET ADJ NOUN VERB PRON NOUN ADP PROPN"}, {"xpos": "DT JJ NN VBD PRP$ NN IN NNP"}]
)
def test_in_tags(tags):
    assert found("the old king loved his dog in Rome", **tags) == ["the old king", "his", "dog", "Rome"]


def test_in_words_alone():
    assert found("Ada told her dog of New York") == ["Ada", "her", "New York"]


def test_runs_end_with_their_sentence():
    assert found("king king", upos="NOUN NOUN", sentence=[0, 1]) == ["king", "king"]
    assert found("king king", upos="NOUN NOUN", sentence=[0, 0]) == ["king king"]
