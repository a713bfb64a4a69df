"""Features of pairs: records, mentions, given pairs, functions."""

import numpy as np
import pytest

from helpers import as_dicts
from widemargin.errors import DataError, ModelFileError
from widemargin.tasks.cluster.features import (
    EVERY_PAIR,
    PairExtractor,
    Pairs,
    compare_mentions,
    compare_records,
    fields_of,
)
from widemargin.text.coded import Coded, ColumnExtractor, cross
from widemargin.text.mentions import Mentions

pytestmark = pytest.mark.interpreted


def compared(one, other, field="name"):
    """The features of one field of two records, without those that are 0."""
    i, j = np.array([0]), np.array([1])
    columns = compare_records([{field: one}, {field: other}], [field], i, j, 0)
    return {name.removeprefix(f"{field}: "): float(column[0]) for name, column in columns.items() if column[0]}


def test_records_are_compared_field_by_field():
    assert "equal" in compared("Ada  Lovelace", "ada lovelace")
    assert compared(None, "") == {"both missing": 1.0}
    assert compared(float("nan"), "x") == {"one missing": 1.0}
    assert compared("ada", "zoe") == {"different": 1.0}
    apart = compared("Ada Lovelace", "Ada King")
    assert apart["words in common"] == pytest.approx(1 / 3)
    assert "same beginning" in apart
    assert 0 < apart["trigrams in common"] < 0.5
    assert "one contained in the other" in compared("Lovelace", "Ada Lovelace")
    for short in ("UN", "U.N.", "u n"):
        assert "abbreviation" in compared("United Nations", short)
        assert "abbreviation" in compared(short, "United Nations")
    assert "abbreviation" not in compared("United Nations", "UK")
    assert compared(100, "90")["relative difference"] == pytest.approx(0.1)
    assert "the same number" in compared(100, "100.0")
    assert compared("-1e308", "1e308")["relative difference"] == 1.0
    assert compared(["a", "b"], "a b")["equal"] == 1.0


def test_trigrams_by_hand():
    # "  ab " has "  a", " ab", "ab "; "  ac " shares the first only.
    assert compared("ab", "ac")["trigrams in common"] == pytest.approx(1 / 5)


def test_fields_are_those_of_all_records_and_strings_have_one():
    assert fields_of([[{"a": 1}], [{"b": 2, "a": 1}, "x"]]) == ["a", "b", "text"]
    with pytest.raises(DataError, match=r"document 1, record 0: a dict or a string is wanted, not 3"):
        fields_of([[], [3]])
    with pytest.raises(DataError, match=r"document 0, record 1: the field 'a' is \{\}"):
        compare_records([{"a": 1}, {"a": {}}], ["a"], np.array([0]), np.array([1]), 0)


def test_answers_that_are_crossed():
    one, other = Coded.of(["a", None, "b"]), Coded.of(["x", "x", None])
    both = cross(one, other)
    assert [both.names[code] if code >= 0 else None for code in both.codes] == ["a/x", None, None]
    assert one.is_one_of("b").tolist() == [False, False, True]


def test_columns_become_rows_and_unknown_features_are_left_out():
    columns = {  # "same" occurs four times, "share" three times, "kind=a" twice and "kind=b" once
        "kind": Coded(np.array([1, 0, 0, -1], dtype=np.int32), ["a", "b"]),
        "share": np.array([0.5, 0.0, 0.5, 0.5]),
        "same": np.array([True, True, True, True]),
        "never": np.array([False, False, False, False]),
    }
    extractor = ColumnExtractor()
    features = extractor.fit([columns])
    assert extractor.names() == ["same", "share", "kind=a", "kind=b"]
    assert as_dicts(features.rows) == [
        {0: 1.0, 1: 0.5, 3: 1.0},
        {0: 1.0, 2: 1.0},
        {0: 1.0, 1: 0.5, 2: 1.0},
        {0: 1.0, 1: 0.5},
    ]
    other = {"kind": Coded(np.array([0], dtype=np.int32), ["c"]), "share": np.array([2.0])}
    assert as_dicts(extractor.transform([other]).rows) == [{1: 2.0}]
    kept = extractor.keep(np.array([False, True, False, True]))
    assert as_dicts(kept.transform([columns]).rows) == [{0: 0.5, 1: 1.0}, {}, {0: 0.5}, {0: 0.5}]


TEXT = """Ada PROPN Sing 2 nsubj
met VERB _ 0 root
the DET _ 4 det
queen NOUN Sing 2 obj
. PUNCT _ 2 punct

She PRON Sing 3 nsubj
was AUX _ 3 cop
happy ADJ _ 0 root
. PUNCT _ 3 punct

The DET _ 2 det
queen NOUN Sing 0 root
, PUNCT _ 2 punct
Victoria PROPN Sing 2 appos"""


def text_of(*spans):
    sentences = [[line.split() for line in part.splitlines()] for part in TEXT.split("\n\n")]
    rows = [row for sentence in sentences for row in sentence]
    names = ("word", "upos", "feats", "head", "deprel")
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    columns["feats"] = ["_" if each == "_" else f"Number={each}" for each in columns["feats"]]
    columns["lemma"] = [word.lower() for word in columns["word"]]
    numbers = np.repeat(np.arange(len(sentences)), list(map(len, sentences)))
    return Mentions(columns, numbers, list(spans))


def mention_features(mentions):
    """For each pair of mentions, the names of their features."""
    i, j = np.triu_indices(len(mentions), 1)
    extractor = ColumnExtractor()
    rows, names = extractor.fit([compare_mentions(mentions, i, j)]).rows, extractor.names()
    found = [{names[k] for k in rows.indices[a:b]} for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    return dict(zip(zip(i.tolist(), j.tolist(), strict=True), found, strict=True))


def test_mentions_are_compared():
    ada, queen, she, again, victoria = (0, 1), (2, 4), (5, 6), (9, 13), (12, 13)
    mentions = text_of(ada, queen, she, again, victoria)
    assert [mentions.text(k) for k in range(5)] == ["Ada", "the queen", "She", "The queen , Victoria", "Victoria"]
    found = mention_features(mentions)
    assert "kinds=name/noun" in found[0, 1]
    assert "sentences apart=pronoun/noun/1" in found[1, 2]
    assert "pronoun, the closest that agrees=she/noun" in found[1, 2]
    assert not any(name.startswith("pronoun, the closest that") for name in found[0, 2])
    assert "pronoun, the closest subject" in found[0, 2]
    assert any(name.startswith("the same head=noun/definite") for name in found[1, 3])
    assert "the same head, the closest one" in found[1, 3]
    assert "the same head, sentences apart=2" in found[1, 3]
    assert "determiners=definite/definite" in found[1, 3]
    assert "apposition" in found[3, 4]
    assert "nested=noun/name" in found[3, 4]
    assert "names without a word in common" in found[0, 4]
    assert "roles=obj/nsubj" in found[1, 2]


def test_strings_copula_and_initials():
    words = ["The", "United", "Nations", "is", "the", "UN", ".", "The", "United", "Nations"]
    columns = {"word": words, "head": ["3", "3", "6", "6", "6", "0", "6", "3", "3", "0"], "deprel": ["_"] * 10}
    columns["deprel"][2], columns["deprel"][3] = "nsubj", "cop"
    mentions = Mentions(columns, np.array([0] * 7 + [1] * 3), [(0, 3), (4, 6), (7, 10)])
    found = mention_features(mentions)
    assert "copula" in found[0, 1]
    assert "the same string" in found[0, 2]
    alone = mention_features(Mentions({"word": words}, np.zeros(10, dtype=np.int64), [(1, 3), (5, 6)]))[0, 1]
    assert "one is the initials of the other" in alone
    assert "copula" not in alone


def test_given_pairs():
    documents = [
        Pairs([(0, 1), (2, 0)], np.array([[1.0, 0.0], [0.5, 2.0]])),
        Pairs([], np.empty((0, 2)), 2),
    ]
    extractor = PairExtractor.choose(documents, None, None)
    found = extractor.fit(documents)
    assert found.items.tolist() == [0, 3, 5]
    assert (found.first.tolist(), found.second.tolist()) == ([0, 0], [1, 2])
    assert as_dicts(found.features) == [{0: 1.0, 2: 1.0}, {0: 0.5, 1: 2.0, 2: 1.0}]
    assert extractor.names()[-1] == EVERY_PAIR
    named = [Pairs([(0, 1)], [["near", "same"]]), Pairs([(0, 1)], [{"near": 0.5}])]
    assert as_dicts(PairExtractor.choose(named, None, None).fit(named).features._replace()) == [
        {0: 1.0, 1: 1.0, 2: 1.0},
        {0: 0.5, 2: 1.0},
    ]


def test_a_function_of_two_items():
    documents = [[1, 2, 5], [3]]
    extractor = PairExtractor.choose(documents, lambda a, b: {"apart": abs(a - b)}, None)
    found = extractor.fit(documents)
    assert [row[0] for row in as_dicts(found.features)] == [1.0, 4.0, 3.0]
    extractor.function = None
    with pytest.raises(ModelFileError, match="name it on loading"):
        extractor.transform(documents)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([Pairs([(0, 0)], np.ones((1, 1)))], r"document 0: \[0, 0\] is not a pair of two of its 1 items"),
        ([Pairs([(0, 3)], np.ones((1, 1)), 2)], r"\[0, 3\] is not a pair of two of its 2 items"),
        ([Pairs([(0.5, 1)], np.ones((1, 1)))], "must be a list of two numbers"),
        ([Pairs([(0, 1)], np.ones((2, 1)))], "document 0 has 1 pairs, but 2 rows of features"),
        ([Pairs([(0, 1)], np.ones((1, 1))), ["a"]], "document 1 must be Pairs"),
        ([[{}, {}]], "no fields"),
        ([["a"], "b"], "document 1 must be a list of records, not 'b'"),
        ([["a"], 3], "document 1 must be a list of records, not 3"),
    ],
)
def test_bad_documents_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        PairExtractor.choose(X, None, ["text"] if "records" in message else None).fit(X)
