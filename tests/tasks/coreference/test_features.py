"""Features of links: attributes of mentions, measures of pairs, and where templates find their weights."""

import numpy as np
import pytest

from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.report.explain import Question
from widemargin.tasks.coreference.examples import link_features
from widemargin.tasks.coreference.features import (
    DEFAULT_TEMPLATES,
    MEASURES,
    LinkExtractor,
    measures_of,
    mention_columns,
    parse_link_templates,
)
from widemargin.tasks.coreference.model import CoreferenceModel
from widemargin.tasks.coreference.pictures import LinkVotes
from widemargin.text.mentions import Mentions, describe_mentions

pytestmark = pytest.mark.interpreted

TOKENS = (
    "Ada/PROPN met/VERB the/DET old/ADJ king/NOUN of/ADP France/PROPN ./PUNCT She/PRON told/VERB him/PRON a/DET "
    "lie/NOUN ./PUNCT The/DET king/NOUN laughed/VERB"
)
WORDS, TAGS = (list(each) for each in zip(*(token.split("/") for token in TOKENS.split()), strict=True))
SENTENCE = np.array([0] * 8 + [1] * 6 + [2] * 3)
SPANS = [(0, 1), (2, 7), (6, 7), (8, 9), (10, 11), (11, 13), (14, 16)]
ADA, KING, FRANCE, SHE, HIM, LIE, AGAIN = range(7)


def text(**columns):
    return Mentions({"word": WORDS, "upos": TAGS, **columns}, SENTENCE, SPANS)


def heads():
    """The heads of tokens, as in CoNLL-U."""
    return ["2", "0", "5", "5", "2", "7", "5", "2", "2", "0", "2", "5", "2", "2", "2", "3", "0"]


def attribute(name, document):
    columns = mention_columns([document], [describe_mentions(document)])
    return columns[name].strings()


def test_attributes_of_mentions():
    document = text(head=heads())
    assert attribute("head", document) == ["ada", "king", "france", "she", "him", "lie", "king"]
    assert attribute("string", document)[KING] == "the old king of france"
    assert attribute("bare", document)[AGAIN] == "king"
    assert attribute("first", document)[LIE] == "a"
    assert attribute("last", document)[KING] == "france"
    assert attribute("before", document) == ["<s>", "met", "of", "<s>", "told", "him", "<s>"]
    assert attribute("after", document) == ["met", ".", ".", "told", "a", ".", "laughed"]
    assert attribute("length", document) == ["1", "5", "1", "1", "1", "2", "2"]
    assert attribute("kind", document) == ["name", "noun", "name", "pronoun", "pronoun", "noun", "noun"]
    assert attribute("type", document) == ["name", "noun", "name", "she", "him", "noun", "noun"]
    assert attribute("gender", document) == ["", "", "", "she", "he", "", ""]
    assert attribute("animacy", document) == ["", "", "", "Anim", "Anim", "", ""]
    feats = ["_"] * len(WORDS)
    feats[0] = "Animacy=Anim|Gender=Fem"
    assert attribute("animacy", text(feats=feats))[0] == "Anim"
    # Without heads, the last word is the head.
    assert attribute("head", text())[KING] == "france"


def value(name, a, m, document):
    (code,) = measures_of(describe_mentions(document), np.array([a]), np.array([m]))[name]
    return MEASURES[name][code]


def test_measures_of_pairs():
    document = text(head=heads())
    assert value("sentences", ADA, SHE, document) == "1"
    assert value("mentions", ADA, SHE, document) == "3"
    assert value("mentions", SHE, HIM, document) == "1"
    assert value("head", KING, AGAIN, document) == "same"
    assert value("string", KING, AGAIN, document) == "other"
    assert value("words", KING, AGAIN, document) == "all"
    assert value("words", ADA, AGAIN, document) == "none"
    assert value("gender", SHE, HIM, document) == "other"
    assert value("gender", ADA, SHE, document) == "unknown"
    assert value("agreement", SHE, HIM, document) == "no"
    assert value("agreement", ADA, SHE, document) == "yes"
    assert value("relation", KING, FRANCE, document) == "inside"
    assert value("relation", ADA, KING, document) == "none"


def test_closest_looks_at_all_mentions_before():
    document = text(head=heads())
    i, j = np.triu_indices(len(document), 1)
    codes = measures_of(describe_mentions(document), i, j)["closest"]
    found = {(int(a), int(m)): MEASURES["closest"][code] for a, m, code in zip(i, j, codes, strict=True)}
    assert found[KING, AGAIN] == "head"
    assert found[FRANCE, SHE] == "agreement"
    assert found[ADA, SHE] == "no"


def test_values_of_measures_are_known():
    """Every code has a name, for any two mentions."""
    document = text(head=heads())
    i, j = np.triu_indices(len(document), 1)
    for name, codes in measures_of(describe_mentions(document), i, j).items():
        assert 0 <= codes.min() <= codes.max() < len(MEASURES[name])
    far = Mentions({"word": ["a"] * 400}, np.arange(400), [(k, k + 1) for k in range(400)])
    assert value("sentences", 0, 399, far) == "17+"
    assert value("mentions", 0, 399, far) == "129+"


TEMPLATES = ("mention:type", "mention:head|antecedent:head", "head", "head|sentences|mention:type", "antecedent:length")


def test_equal_values_share_a_place_and_others_do_not():
    document = text(head=heads())
    extractor = LinkExtractor(TEMPLATES, hash_bits=29)
    keys = extractor.links([document, document]).keys
    names = [template.text for template in extractor.in_order]
    assert names[0] == "mention:type"

    def places(m, a):
        return dict(zip(names, link_features(keys, m, int(keys.pairs[m + 1]) - (m - a)).tolist(), strict=True))

    first, again = places(AGAIN, KING), places(len(SPANS) + AGAIN, len(SPANS) + KING)
    assert first == again
    other = places(AGAIN, ADA)
    same = {name for name in names if first[name] == other[name]}
    assert same == {"mention:type"}
    assert len(set(first.values())) == len(names)


def test_votes_are_the_features_of_the_link_and_have_their_names():
    document = text(head=heads())
    extractor = LinkExtractor(TEMPLATES, hash_bits=20)
    w = np.random.default_rng(0).normal(size=1 << 20)
    votes = LinkVotes(extractor, document, w)
    option = votes.option(AGAIN, KING)
    assert [name for name, _ in option.votes] == [
        "mention:type=noun",
        "mention:head|antecedent:head=king|king",
        "antecedent:length=5",
        "head=same",
        "mention:type|head|sentences=noun|same|2",
    ]
    scores = extractor.links([document]).scores_of_all(w)
    at = int(votes.keys.pairs[AGAIN + 1]) - (AGAIN - KING)
    assert option.score == pytest.approx(scores[at])


def test_fewer_antecedents_are_the_closest():
    document = text(head=heads())
    few, all_ = (LinkExtractor(TEMPLATES, 12, most).links([document]) for most in (2, None))
    w = np.random.default_rng(0).normal(size=1 << 12)
    scores, every = few.scores_of_all(w), all_.scores_of_all(w)
    known = {(int(a), int(b)): score for a, b, score in zip(all_.layout.first, all_.layout.second, every, strict=True)}
    for a, b, score in zip(few.layout.first, few.layout.second, scores, strict=True):
        assert b - a <= 2
        if "closest" not in TEMPLATES:
            assert score == pytest.approx(known[int(a), int(b)])
    model = CoreferenceModel([], LinkExtractor(TEMPLATES, 12, 2), w)
    with pytest.raises(WidemarginError, match="does not look as far back as from mention 7 to 1"):
        model.explain([document], Question(span=(1, 7)))


def test_templates_that_are_not_understood():
    assert len(parse_link_templates(DEFAULT_TEMPLATES)) == len(DEFAULT_TEMPLATES)
    with pytest.raises(WidemarginError, match="not understood at 'head:word'"):
        parse_link_templates(["head:word"])
    with pytest.raises(DataError, match="no column 'colour'"):
        LinkExtractor(("mention:colour",), 10).links([text()])


def test_too_many_combinations_of_measures_are_refused():
    extractor = LinkExtractor(("|".join(MEASURES),))
    with pytest.raises(UnsupportedError, match="combine fewer measures"):
        extractor.links([])


def test_empty_documents_have_no_links():
    nothing = Mentions({"word": ["a"]}, np.zeros(1, dtype=np.int64), [])
    links = LinkExtractor(hash_bits=8).links([nothing, text(), nothing])
    assert links.keys.documents[-1] == len(SPANS)
    assert np.diff(links.layout.pairs).tolist() == [0, 21, 0]
    assert LinkExtractor(hash_bits=8).links([]).keys.documents[-1] == 0
    with pytest.raises(DataError, match="document 0 must be Mentions"):
        LinkExtractor(hash_bits=8).links([["a"]])
    for wrong, message in (
        (
            Mentions({"word": ["a"]}, np.zeros(1, dtype=np.int64), [(0, 2)]),
            r"document 0: \(0, 2\) is not a span of its 1",
        ),
        (
            Mentions({"word": ["a"]}, np.zeros(1, dtype=np.int64), [(0, 0)]),
            r"document 0: \(0, 0\) is not a span of its 1",
        ),
        (
            Mentions({"word": ["a"], "upos": []}, np.zeros(1, dtype=np.int64), []),
            "1 tokens, but 0 values in its column",
        ),
        (Mentions({}, np.zeros(1, dtype=np.int64), []), "1 tokens, but 0 values in its column 'word'"),
    ):
        with pytest.raises(DataError, match=message):
            LinkExtractor(hash_bits=8).links([wrong])
    with pytest.raises(DataError, match="X must be a list of documents, not str"):
        LinkExtractor(hash_bits=8).links("text")


def test_documents_that_would_take_too_much_memory_are_refused(monkeypatch):
    monkeypatch.setattr("widemargin.core.checks.MOST_BYTES", 2000)
    with pytest.raises(UnsupportedError, match=r"document 1 would need .* GB for comparing mentions"):
        LinkExtractor(TEMPLATES, 8).links([text()])
    assert LinkExtractor(TEMPLATES, 8, 1).links([text()]).keys.documents[-1] == len(SPANS)
