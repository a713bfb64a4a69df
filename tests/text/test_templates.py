"""Feature templates against the same features built as strings, token by token."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, WidemarginError
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns
from widemargin.text.inputs import as_columns
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.templates import DEFAULT_TEMPLATES, parse_templates

pytestmark = pytest.mark.interpreted

# Lower-casing changes the length of İ; combining marks, emoji and a lone surrogate are characters like others.
PIECES = ["a", "b", "Z", "É", "ß", "İ", "ǅ", "e\u0301", "🙂", "\ud800", "7", "²", "٣", "-", "|", "=", "<s>", " ", "字"]
words = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.sampled_from(["the", "The", "cats", "running", "<s>", "</s>"]),
)
sentences = st.lists(st.lists(words, max_size=5), max_size=5)


def naive_shape(word):
    kinds = ["A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word]
    keep = [k for t, k in enumerate(kinds) if t == 0 or k != kinds[t - 1] or k not in ("A", "a", "0")]
    return "".join(keep)


def naive_longshape(word):
    return "".join("A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word)


def naive_value(attribute, word):
    lower = word.lower()
    if affix := re.fullmatch(r"(prefix|suffix)(\d+)", attribute):
        n = int(affix[2])
        return lower[:n] if affix[1] == "prefix" else lower[max(len(lower) - n, 0) :]
    values = {"bias": "", "word": word, "lower": lower, "shape": naive_shape(word), "longshape": naive_longshape(word)}
    return values[attribute]


def naive_atom(atom, sentence, t):
    attribute, _, offset = atom.rstrip("]").partition("[")
    position = t + int(offset or 0)
    if position < 0:
        return "<s>"
    return naive_value(attribute, sentence[position]) if position < len(sentence) else "</s>"


def naive_names(templates, sentence, t):
    """The names of one token's features, one per template, in the order of the templates."""
    names = []
    for template in templates:
        value = "|".join(naive_atom(atom, sentence, t) for atom in template.split("|"))
        names.append(f"{template}={value}" if value else template)
    return names


TWENTY = [
    *("bias", "word", "lower", "shape"),
    *(f"{side}fix{n}" for side in ("pre", "suf") for n in (1, 2, 3, 4)),
    *("lower[-2]", "lower[-1]", "lower[1]", "lower[2]"),
    *("word[-1]|word", "word|word[1]", "suffix3[-1]", "suffix3[1]"),
]


def named_rows(rows, names):
    """The names of every row's features; binary rows only."""
    assert len(rows.values) == 0
    return [
        [names[i] for i in rows.indices[begin:end]] for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False)
    ]


def flat_names(templates, X):
    return [naive_names(templates, sentence, t) for sentence in X for t in range(len(sentence))]


def fitted(X, templates, resources=None, **options):
    """An extractor, and the names of the features it finds in its own training data."""
    extractor = TemplateExtractor(templates, resources, **options)
    features = extractor.fit(as_columns(X))
    return extractor, named_rows(features.rows, extractor.names())


def test_the_default_templates_are_twenty():
    assert [template.text for template in parse_templates(DEFAULT_TEMPLATES)] == TWENTY


@given(sentences)
def test_default_features_are_those_of_a_naive_implementation(X):
    extractor = TemplateExtractor(DEFAULT_TEMPLATES)
    features = extractor.fit(as_columns(X))
    assert features.indptr.tolist() == np.cumsum([0, *map(len, X)]).tolist()
    assert named_rows(features.rows, extractor.names()) == flat_names(TWENTY, X)


@settings(max_examples=40)
@given(sentences)
def test_every_feature_has_a_name_and_numbers_are_dense(X):
    extractor = TemplateExtractor(DEFAULT_TEMPLATES)
    rows = extractor.fit(as_columns(X)).rows
    assert sorted(set(rows.indices.tolist())) == list(range(extractor.n_features))
    assert len(extractor.names()) == extractor.n_features
    assert all(extractor.names())


@settings(max_examples=40)
@given(sentences, sentences)
def test_transform_finds_known_features_and_ignores_others(train, test):
    extractor, train_names = fitted(train, DEFAULT_TEMPLATES)
    known = {name for row in train_names for name in row}
    rows = extractor.transform(as_columns(test)).rows
    expected = [[name for name in row if name in known] for row in flat_names(TWENTY, test)]
    if not any("|" in word for sentence in train + test for word in sentence):
        # With a bar inside of words, two different pairs of words can have one name.
        assert named_rows(rows, extractor.names()) == expected
    known_rows = extractor.transform(as_columns(train)).rows
    assert named_rows(known_rows, extractor.names()) == train_names


atoms = st.builds(
    lambda attribute, offset: attribute + (f"[{offset}]" if offset else ""),
    st.sampled_from(["bias", "word", "lower", "shape", "longshape", "prefix2", "suffix1", "suffix9"]),
    st.integers(-4, 4),
)
conjunctions = st.lists(atoms, min_size=1, max_size=3).map("|".join)


@given(sentences, st.lists(conjunctions, min_size=1, max_size=4, unique=True))
def test_any_conjunction_at_any_offset(X, templates):
    assert fitted(X, templates)[1] == flat_names(templates, X)


def test_conjunctions_tell_the_order_and_the_place_of_words():
    _, names = fitted([["a", "b"], ["b", "a"]], ["word|word[1]", "word[-1]|word"])
    assert names[0] == ["word|word[1]=a|b", "word[-1]|word=<s>|a"]
    assert len({name for row in names for name in row}) == 8


def naive_grams(word, n):
    word = f"^{word.lower()}$"
    return list(dict.fromkeys(word[t : t + n] for t in range(len(word) - n + 1)))


@settings(max_examples=40)
@given(sentences)
def test_runs_of_characters_are_several_features_of_one_template(X):
    extractor, names = fitted(X, "gram2..3 word")
    expected = [
        [*(f"gram{n}={run}" for n in (2, 3) for run in naive_grams(word, n)), f"word={word}" if word else "word"]
        for sentence in X
        for word in sentence
    ]
    assert names == expected
    assert named_rows(extractor.transform(as_columns(X)).rows, extractor.names()) == expected
    assert extractor.texts == ["gram2", "gram3", "word"]


def test_only_the_first_runs_of_a_long_word_count():
    word = "".join(map(chr, range(ord("a"), ord("a") + 50)))
    assert fitted([[word]], "gram2")[1] == [[f"gram2={run}" for run in naive_grams(word, 2)[:30]]]


def test_neighbours_stay_in_their_sequence():
    _, names = fitted([["a"], [], ["b"], ["c", "d"]], ["word[-1]", "word[1]"])
    assert names == [
        ["word[-1]=<s>", "word[1]=</s>"],
        ["word[-1]=<s>", "word[1]=</s>"],
        ["word[-1]=<s>", "word[1]=d"],
        ["word[-1]=c", "word[1]=</s>"],
    ]


def test_extra_columns_by_name_and_with_attributes():
    X = [[{"word": "Cats", "pos": "NNS"}, {"word": "sleep", "pos": "VBP"}]]
    _, names = fitted(X, "word pos[1] pos[-1]|lower pos.prefix2 pos.lower[1]")
    assert names == [
        ["word=Cats", "pos[1]=VBP", "pos[-1]|lower=<s>|cats", "pos.prefix2=nn", "pos.lower[1]=vbp"],
        ["word=sleep", "pos[1]=</s>", "pos[-1]|lower=NNS|sleep", "pos.prefix2=vb", "pos.lower[1]=</s>"],
    ]


@settings(max_examples=40)
@given(sentences.filter(any))
def test_lists_and_columns_give_the_same_features(X):
    flat = [word for sentence in X for word in sentence]
    # Columns may come with values that no token has, in any order.
    values = ["never seen", *sorted(set(flat)), "nor this"]
    codes = np.array([values.index(word) for word in flat], dtype=np.int32)
    extractor = TemplateExtractor(DEFAULT_TEMPLATES)
    rows = extractor.fit(Columns({"word": Column(codes, values)}, boundaries(map(len, X)))).rows
    assert named_rows(rows, extractor.names()) == fitted(X, DEFAULT_TEMPLATES)[1]
    assert extractor.n_features == fitted(X, DEFAULT_TEMPLATES)[0].n_features


def test_no_tokens_at_all():
    extractor, _ = fitted([["a", "b"]], DEFAULT_TEMPLATES)
    for X in ([], [[]], [[], []]):
        features = extractor.transform(as_columns(X))
        assert features.indptr.tolist() == [0] * (len(X) + 1)
        assert features.rows.indptr.tolist() == [0]


def test_sequences_without_tokens_need_no_columns():
    extractor, _ = fitted([[{"word": "a", "pos": "N"}]], "word pos transition:pos")
    features = extractor.transform(as_columns([[], []]))
    assert features.indptr.tolist() == [0, 0, 0]
    assert features.transition_rows is not None


def test_fitting_again_forgets_what_was_seen_before():
    extractor = TemplateExtractor("word transition:word")
    extractor.fit(as_columns([["x", "y", "z"]]))
    extractor.fit(as_columns([["a"]]))
    assert extractor.names() == ["word=a", "transition:word=a"]


# Lexicons and clusters


def lexicon_marks(X, entries):
    _, names = fitted(X, "bias lexicon(l)", Resources(lexicons={"l": entries}))
    return "".join(row[1][-1] if len(row) > 1 else "." for row in names)


@pytest.mark.parametrize(
    ("tokens", "marks"),
    [
        ("in New York City today", ".BII."),  # the longest entry, not the first
        ("in new YORK today", ".BI."),  # whatever the case
        ("New York New York City", "BIBII"),
        ("York New", "B."),  # the beginning of an entry is no match
        ("New York York", "BIB"),
        ("a b a b c", "BIBII"),
        ("a b a b", "BIBI"),  # no overlaps: leftmost first
    ],
)
def test_lexicon_marks_the_longest_match_from_the_left(tokens, marks):
    entries = ["New York", "York", "New York City", "  ", "A  B", "a b c", "b a"]
    assert lexicon_marks([tokens.split()], entries) == marks


def test_lexicon_matches_do_not_cross_sequences():
    assert lexicon_marks([["New"], ["York"], [], ["New", "York"]], ["New York"]) == "..BI"
    assert lexicon_marks([["New", "York"]], []) == ".."


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=4).filter(any), st.data())
def test_lexicon_against_a_naive_matcher(X, data):
    entries = data.draw(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=4))
    expected = ""
    for sentence in X:
        t = 0
        while t < len(sentence):
            found = max((len(entry) for entry in entries if sentence[t : t + len(entry)] == entry), default=0)
            expected += "B" + "I" * (found - 1) if found else "."
            t += max(found, 1)
    assert lexicon_marks(X, [" ".join(entry) for entry in entries]) == expected


def test_lexicon_at_an_offset_and_in_a_conjunction():
    resources = Resources(lexicons={"l": ["x"]})
    _, names = fitted([["x", "y"]], ["lexicon(l)[-1]", "lexicon(l)|word", "lexicon(l)[1]"], resources)
    assert names == [["lexicon(l)[-1]=<s>", "lexicon(l)|word=B|x"], ["lexicon(l)[-1]=B", "lexicon(l)[1]=</s>"]]


def test_clusters_their_prefixes_and_other_cases():
    resources = Resources(clusters={"brown": {"cat": "0110", "dog": "0111", "Dog": "10"}})
    _, names = fitted([["cat", "CAT", "Dog", "eel"]], ["bias", "cluster(brown)", "cluster(brown,3)"], resources)
    assert [row[1:] for row in names] == [
        ["cluster(brown)=0110", "cluster(brown,3)=011"],
        ["cluster(brown)=0110", "cluster(brown,3)=011"],
        ["cluster(brown)=10", "cluster(brown,3)=10"],
        [],
    ]


def test_missing_resources_are_named():
    for template, message in {
        "lexicon(cities)": "the template 'lexicon(cities)' needs a lexicon named 'cities'; none was given",
        "word|cluster(brown,4)": "the template 'cluster(brown,4)' needs a cluster named 'brown'; none was given",
    }.items():
        with pytest.raises(WidemarginError, match=re.escape(message)):
            fitted([["a"]], [template])


# Transition templates


def test_transition_templates_are_rows_of_their_own():
    extractor = TemplateExtractor(["word", "transition:lower", "transition:word[-1]|word"])
    features = extractor.fit(as_columns([["A", "b"], ["b"]]))
    names = extractor.names()
    assert extractor.n_features == 2
    assert extractor.n_transition_features == len(names) - 2
    assert named_rows(features.rows, names[:2]) == [["word=A"], ["word=b"], ["word=b"]]
    assert named_rows(features.transition_rows, names[2:]) == [
        ["transition:lower=a", "transition:word[-1]|word=<s>|A"],
        ["transition:lower=b", "transition:word[-1]|word=A|b"],
        ["transition:lower=b", "transition:word[-1]|word=<s>|b"],
    ]
    unseen = extractor.transform(as_columns([["A", "c"]]))
    assert named_rows(unseen.transition_rows, names[2:]) == [
        ["transition:lower=a", "transition:word[-1]|word=<s>|A"],
        [],
    ]


# The language of templates


def texts(templates):
    return [template.text for template in parse_templates(templates)]


def test_ranges_abbreviate():
    assert texts("prefix2..4") == ["prefix2", "prefix3", "prefix4"]
    assert texts("lower[-1..1]") == ["lower[-1]", "lower", "lower[1]"]
    assert texts("suffix1..2[0..1]|word[-1..0]") == [
        f"suffix{n}{at}|word{before}" for n in (1, 2) for at in ("", "[1]") for before in ("[-1]", "")
    ]


def test_one_string_holds_lines_words_and_comments():
    assert texts("word  lower # the rest is a comment: shape\n\nword[+1]\n") == ["word", "lower", "word[1]"]


def test_the_same_template_counts_once():
    assert texts(["word", "word[0]", "word[1]", "word[+1]"]) == ["word", "word[1]"]


@pytest.mark.parametrize(
    ("template", "part"),
    [
        ("word[", "word["),
        ("word]", "word]"),
        ("word[a]", "word[a]"),
        ("word[1.5]", "word[1.5]"),
        ("|word", "''"),
        ("word|", "''"),
        ("pos.huh", "'huh'"),
        ("word lower", "word lower"),
        ("-3", "-3"),
        ("transition:", "''"),
        ("prefix101", "100 characters"),
        ("gram101", "100 characters"),
        ("gram3[1]", "token at hand"),
        ("gram3|word", "alone"),
        ("transition:gram3", "alone"),
        ("prefix4..1", "'4..1'"),
        ("word[-1..1000000000]", "'-1..1000000000'"),
        ("cluster(brown,x)", "cluster(brown,x)"),
        ("cluster(brown,-2)", "cluster(brown,-2)"),
        ("cluster(brown,2,3)", "cluster(brown,2,3)"),
        ("lexicon(a,2)", "lexicon(a,2)"),
        ("lexicon()", "lexicon()"),
        ("huh(a)", "huh(a)"),
    ],
)
def test_bad_templates_are_quoted_in_one_sentence(template, part):
    with pytest.raises(WidemarginError) as caught:
        parse_templates([template])
    assert template in str(caught.value)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("nothing", ["", "# only a comment", []])
def test_there_must_be_a_template(nothing):
    with pytest.raises(WidemarginError, match="there are no templates"):
        parse_templates(nothing)


@given(st.text(max_size=12))
def test_any_text_is_understood_or_refused(text):
    try:
        templates = parse_templates([text])
    except WidemarginError:
        return
    assert texts([template.text for template in templates]) == [template.text for template in templates]


def test_unknown_columns_are_answered_with_the_known_ones():
    with pytest.raises(DataError, match=re.escape("no column 'pos'; it has 'word', 'tag'")):
        fitted([[{"word": "a", "tag": "x"}]], "word pos")


@pytest.mark.parametrize(
    ("X", "where"),
    [
        ([["a", 3]], "sequence 0, position 1"),
        ([["a"], ["b", None]], "sequence 1, position 1"),
        ([[{"word": "a"}, "b"]], "sequence 0, position 1"),
        ([["a"], [{"word": "b"}]], "sequence 1, position 0"),
        ([[{"word": "a", "pos": "N"}, {"word": "b"}]], "sequence 0, position 1: .*'pos'"),
        ([[b"a"]], "sequence 0, position 0"),
        (["abc"], r"X\[0\]"),
        ([["a"], 7], r"X\[1\]"),
        ("abc", "X must be a list of sequences"),
        ({"a": 1}, "X must be a list of sequences"),
        (7, "X must be a list of sequences"),
        ((token for token in "abc"), "X must be a list of sequences"),
    ],
)
def test_tokens_that_are_none_are_located(X, where):
    with pytest.raises(DataError, match=where):
        as_columns(X)


# Counting and hashing


@settings(max_examples=40)
@given(sentences, st.integers(0, 4))
def test_min_count_drops_rare_features_and_no_others(X, min_count):
    extractor, names = fitted(X, TWENTY, min_count=min_count)
    _, everything = fitted(X, TWENTY)
    if any("|" in word for sentence in X for word in sentence):
        return
    counts = {}
    for name in (name for row in everything for name in row):
        counts[name] = counts.get(name, 0) + 1
    assert names == [[name for name in row if counts[name] >= min_count] for row in everything]
    assert sorted(extractor.names()) == sorted(name for name, count in counts.items() if count >= min_count)
    assert named_rows(extractor.transform(as_columns(X)).rows, extractor.names()) == names


@pytest.mark.parametrize("options", [{"min_count": -1}, {"min_count": None}, {"min_count": 1.5}])
def test_bad_min_count(options):
    with pytest.raises(WidemarginError, match="min_count must be a whole number"):
        TemplateExtractor("word", **options)


@settings(max_examples=40)
@given(sentences, st.integers(1, 20))
def test_hashed_features_stay_within_the_table(X, bits):
    extractor = TemplateExtractor(DEFAULT_TEMPLATES, hash_bits=bits)
    rows = extractor.fit(as_columns(X)).rows
    assert extractor.n_features == 2**bits
    assert np.diff(rows.indptr).tolist() == [20] * sum(map(len, X))
    assert all(0 <= index < 2**bits for index in rows.indices.tolist())
    np.testing.assert_array_equal(extractor.transform(as_columns(X)).rows.indices, rows.indices)


def test_hashed_features_have_no_names():
    extractor = TemplateExtractor("word", hash_bits=2)
    extractor.fit(as_columns([["a"]]))
    assert extractor.names() == ["hashed 0", "hashed 1", "hashed 2", "hashed 3"]


@pytest.mark.parametrize("bits", [0, 31, -1, 2.0, "8"])
def test_bad_hash_bits(bits):
    with pytest.raises(WidemarginError, match="hash_bits must be a whole number from 1 to 30"):
        TemplateExtractor("word", hash_bits=bits)


HASHED_ROWS = """
from widemargin.text.templates import DEFAULT_TEMPLATES
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.records import RecordExtractor
from widemargin.text.inputs import as_columns
X = [["The", "\\u0130stanbul", "cats"], ["\\ud800", "sleep"]]
print(TemplateExtractor(DEFAULT_TEMPLATES, hash_bits=16).transform(as_columns(X)).rows.indices.tolist())
print(RecordExtractor(hash_bits=16).transform([[{"a": 1.0, "b": "x"}]]).rows.indices.tolist())
"""


def test_hashing_is_the_same_in_every_process():
    answers = {
        subprocess.run(
            [sys.executable, "-c", HASHED_ROWS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
    assert answers.pop().count(",") == 5 * 20


def test_hashing_gives_rows_at_random():
    """Hashed rows collide about as often as balls thrown into 2^bits bins."""
    words = [[f"w{n}" for n in range(2000)]]
    extractor = TemplateExtractor("word", hash_bits=12)
    taken = len(set(extractor.fit(as_columns(words)).rows.indices.tolist()))
    expected = 4096 * (1 - (1 - 1 / 4096) ** 2000)
    assert abs(taken - expected) < 100
