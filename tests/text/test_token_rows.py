"""Features of new sequences: those that training would give them and knows, whatever was looked up before."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.text import vocabulary
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.hashing import combine, combine_pair, hash_strings
from widemargin.text.inputs import as_columns
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.vocabulary import Vocabulary

pytestmark = pytest.mark.interpreted

RESOURCES = Resources({"cities": ["Ba", "ba a"]}, {"brown": {"a": "0110", "Ba": "01"}})
TEMPLATES = (
    ("word",),
    ("bias",),
    ("bias", "bias[1]|word"),
    ("word", "lower[-2..2]", "word[-1]|shape|suffix2[1]"),
    ("lexicon(cities)", "lower[1]|lexicon(cities)[-1]"),
    ("cluster(brown,2)|word[1]", "cluster(brown)", "pos", "pos[-1]|lower"),
    ("prefix1", "transition:lower[-1]", "transition:word|pos[1]"),
)
TOKENS = st.fixed_dictionaries({"word": st.sampled_from(["a", "Ba", "", "ÅB-7", "<s>"]), "pos": st.sampled_from("NV")})
CORPORA = st.lists(st.lists(TOKENS, max_size=5), max_size=4).filter(any)


def listed(rows, names):
    """The names of the features in every row."""
    return [[names[number] for number in rows.indices[begin:end]] for begin, end in pairwise(rows.indptr.tolist())]


def described(extractor, features):
    """The names of all features of positions and of transitions."""
    names = extractor.names()
    of_transitions = features.transition_rows
    return (
        listed(features.rows, names),
        None if of_transitions is None else listed(of_transitions, names[extractor.n_features :]),
    )


def known_of(X, extractor):
    """What `described` should say: the features that training on X finds in it, without those not yet known."""
    anew = TemplateExtractor(extractor.texts, extractor.resources)
    known = set(extractor.names())
    return tuple(
        None if rows is None else [[name for name in row if name in known] for row in rows]
        for rows in described(anew, anew.fit(X))
    )


@given(st.sampled_from(TEMPLATES), CORPORA, st.lists(CORPORA, max_size=3))
def test_new_sequences_have_the_known_features_of_training(templates, training, corpora):
    extractor = TemplateExtractor(templates, RESOURCES)
    extractor.fit(as_columns(training))
    for X in map(as_columns, corpora):
        found = extractor.transform(X)
        assert found.indptr.tolist() == X.indptr.tolist()
        assert described(extractor, found) == known_of(X, extractor)


@given(st.sampled_from(TEMPLATES), CORPORA)
def test_hashed_features_are_those_of_training(templates, corpus):
    X, extractor = as_columns(corpus), TemplateExtractor(templates, RESOURCES, hash_bits=5)
    wanted = extractor.fit(X)
    found = extractor.transform(X)
    for one, other in ((wanted.rows, found.rows), (wanted.transition_rows, found.transition_rows)):
        assert (one is None) == (other is None)
        assert one is None or all(np.array_equal(*each) for each in zip(one, other, strict=True))


@given(CORPORA, st.integers(0, 4), st.integers(0, 4))
def test_shares_have_the_features_of_the_whole(corpus, first, last):
    X, extractor = as_columns(corpus), TemplateExtractor(TEMPLATES[-1])
    extractor.fit(X)
    last = min(last, X.n_sequences)
    first = min(first, last)
    share = extractor.read(X).features(first, last)
    alone = extractor.transform(as_columns(corpus[first:last]))
    assert share.indptr.tolist() == alone.indptr.tolist()
    assert described(extractor, share) == described(extractor, alone)


@pytest.fixture
def fitted():
    words = [f"w{k}" for k in range(50)]
    extractor = TemplateExtractor(["word", "suffix1[-1]", "word|word[1]"])
    extractor.fit(as_columns([words]))
    return extractor, words


def test_little_is_kept_and_nothing_changes_when_the_table_is_full(fitted, monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST_BYTES", 8 * 220)
    extractor, words = fitted
    for begin, end in ((0, 3), (2, 7), (1, 9), (0, 50), (4, 6), (10, 18), (17, 19)):
        X = as_columns([words[begin:end]])
        assert described(extractor, extractor.transform(X)) == known_of(X, extractor)
        assert len(extractor._reader._vocabulary._table.numbers) <= 8


def test_several_threads_find_what_one_does(fitted, monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST_BYTES", 20 * 220)
    extractor, words = fitted
    sentences = [as_columns([words[k % 43 : k % 43 + 7]]) for k in range(200)]
    wanted = [known_of(X, extractor) for X in sentences]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(extractor.transform, sentences))
    assert [described(extractor, each) for each in found] == wanted


def test_rows_stay_where_they_are_while_others_are_added():
    def work_out(tokens):
        assert tokens
        return (np.array([[len(token)] for token in tokens]),)

    words = Vocabulary(work_out, (np.zeros((2, 1), dtype=np.int64),))
    numbers, (before,) = words.look_up(["a", "bc"])
    words.look_up(["x" * k for k in range(100)])
    assert before[numbers, 0].tolist() == [1, 2]
    again, (after,) = words.look_up(["bc", "a"])
    assert again.tolist() == numbers.tolist()[::-1]
    assert after[again, 0].tolist() == [2, 1]
    assert words._add(words._table, ["a"])  # as when another thread has added it in the meantime


def test_a_table_that_another_thread_has_replaced_is_left_alone():
    words = Vocabulary(lambda tokens: (np.array([len(token) for token in tokens]),), (np.zeros(1, dtype=np.int64),))
    words.look_up(["a"])
    old = words._table
    words._start(["bc"])
    assert not words._add(old, ["def"])
    numbers, (lengths,) = words.look_up(["a", "bc", "def"])
    assert lengths[numbers].tolist() == [1, 2, 3]
    assert list(old.numbers) == ["a"]


def test_what_was_looked_up_is_not_pickled(fitted):
    extractor, words = fitted
    before = len(pickle.dumps(extractor))
    X = as_columns([words])
    wanted = described(extractor, extractor.transform(X))
    assert len(pickle.dumps(extractor)) == before
    again = pickle.loads(pickle.dumps(extractor))
    assert described(again, again.transform(X)) == wanted


def test_kept_features_are_looked_up_anew(fitted):
    extractor, words = fitted
    X = as_columns([words])
    extractor.transform(X)
    used = np.arange(extractor.n_features) % 2 == 0
    kept = extractor.keep(used)
    assert described(kept, kept.transform(X)) == known_of(X, kept)
    extractor.fit(as_columns([["w3", "other"]]))
    assert described(extractor, extractor.transform(X)) == known_of(X, extractor)


def test_columns_are_read_as_files_have_them():
    extractor = TemplateExtractor(["word", "pos[1]"])
    X = as_columns([[{"word": "a", "pos": "N"}, {"word": "b", "pos": "V"}]])
    extractor.fit(X)
    made = Columns({name: X[name] for name in X.names}, X.indptr)
    assert described(extractor, extractor.transform(made)) == (
        [["word=a", "pos[1]=V"], ["word=b", "pos[1]=</s>"]],
        None,
    )


@given(st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 2), min_size=1))
def test_kernels_combine_keys_as_arrays_do(pairs):
    keys, others = np.array(pairs, dtype=np.uint64).T
    assert combine(keys, others).tolist() == [int(combine_pair(*pair)) for pair in zip(keys, others, strict=True)]
    assert all(combine(hash_strings(["a", "b"]), hash_strings(["b", "a"])))
