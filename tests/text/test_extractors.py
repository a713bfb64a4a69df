"""Ready-made features, matrices, and the numbering of features."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers import as_dicts
from widemargin.core.sparse import Rows
from widemargin.errors import DataError, WidemarginError
from widemargin.text.alphabet import Alphabet, HashedIndex
from widemargin.text.attributes import Resources
from widemargin.text.hashing import combine, hash_strings
from widemargin.text.inputs import as_columns, choose_extractor
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.records import RecordExtractor
from widemargin.text.template_extractor import TemplateExtractor

pytestmark = pytest.mark.interpreted


def with_values(rows):
    """The rows with their values written out."""
    return rows._replace(values=np.ones(len(rows.indices))) if len(rows.values) == 0 else rows


def named(extractor, features):
    """Every position as a dict from the feature's name to its value."""
    names = extractor.names()
    return [{names[i]: value for i, value in row.items()} for row in as_dicts(with_values(features.rows))]


def fitted_records(X, **options):
    extractor = RecordExtractor(**options)
    return extractor, named(extractor, extractor.fit(X))


# Records

RECORD = {
    "a": 1,
    "b": True,
    "c": False,
    "d": "x",
    "e": {"f": 2, "g": "y", "h": {"i": True}},
    "s": {"u"},
    "l": ["p", "q"],
    "n": 0.0,
}
MEANING = {
    "a": 1,
    "b": 1,
    "c": 0,
    "d:x": 1,
    "e:f": 2,
    "e:g:y": 1,
    "e:h:i": 1,
    "s:u": 1,
    "l:p": 1,
    "l:q": 1,
    "n": 0,
}


def test_records_follow_the_conventions_of_python_crfsuite():
    assert fitted_records([[RECORD]])[1] == [MEANING]


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_names_alone_weigh_one(kind):
    assert fitted_records([[kind(["p", "q"]), kind([])]])[1] == [{"p": 1.0, "q": 1.0}, {}]


names = st.text("abcé", min_size=1, max_size=3)
leaves = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(-2, 2), names)
records = st.recursive(
    st.dictionaries(names, leaves, max_size=4),
    lambda inner: st.dictionaries(
        names, st.one_of(leaves, inner, st.sets(names).map(sorted), st.sets(names)), max_size=4
    ),
    max_leaves=8,
)


@given(st.lists(records | st.sets(names), min_size=1, max_size=4))
def test_records_are_read_as_python_crfsuite_reads_them(sequence):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed: nothing to compare with")
    assert fitted_records([sequence])[1] == pycrfsuite.ItemSequence(sequence).items()


@given(st.lists(st.lists(records, max_size=3), max_size=4), st.lists(st.lists(records, max_size=3), max_size=4))
def test_transform_of_records_ignores_unknown_names(train, test):
    extractor, train_rows = fitted_records(train)
    known = set().union(*train_rows)
    _, everything = fitted_records(test)
    features = extractor.transform(test)
    assert named(extractor, features) == [{k: v for k, v in row.items() if k in known} for row in everything]
    assert features.indptr.tolist() == np.cumsum([0, *map(len, test)]).tolist()


def test_a_name_given_twice_counts_twice():
    features = RecordExtractor().fit([[["p", "p"]]])
    assert len(features.rows.indices) == 2


def test_min_count_of_records():
    extractor, rows = fitted_records([[["q", "p"], ["p"]], [{"q": 2.0}, ["r"], ["p"]]], min_count=2)
    assert extractor.names() == ["p", "q"]
    assert rows == [{"p": 1, "q": 1}, {"p": 1}, {"q": 2}, {}, {"p": 1}]


def test_hashed_records():
    extractor = RecordExtractor(hash_bits=3)
    rows = extractor.fit([[["p", "q"], {"r": 2.0}]]).rows
    assert extractor.n_features == 8
    assert all(0 <= index < 8 for index in rows.indices)
    assert rows.values.tolist() == [1.0, 1.0, 2.0]


def test_fitting_again_forgets_what_was_seen_before():
    extractor = RecordExtractor()
    extractor.fit([[["x", "y"]]])
    extractor.fit([[["z"]]])
    assert extractor.names() == ["z"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"a": float("nan")}, "the feature 'a' is nan; values must be finite"),
        ({"a": float("inf")}, "the feature 'a' is inf"),
        ({"a": {"b": -math.inf}}, "the feature 'b' is -inf"),
        ({"a": None}, "the feature 'a' has the value None"),
        ({"a": 1j}, "the feature 'a' has the value 1j"),
        ({"a": b"x"}, "the feature 'a' has the value b'x'; a number, bool or string is wanted"),
        ({"a": b"1"}, "the feature 'a' has the value b'1'; a number, bool or string is wanted"),
        ({"a": 10**400}, "the feature 'a' has the value 1000"),
        ({"a": np.ones(2)}, "the feature 'a' has the value array"),
        ({1: 1.0}, "a feature's name must be a string, not 1"),
        ({"a": {None: 1.0}}, "a feature's name must be a string, not None"),
        ({b"a": 1.0}, "a feature's name must be a string, not b'a'"),
        (["p", 3], "a feature's name must be a string, not 3"),
        (["p", b"q"], "a feature's name must be a string, not b'q'"),
        ({"a": ["p", 1.0]}, "a feature's name must be a string, not 1.0"),
        ("word", "features must be a list of names or a dict, not 'word'"),
        (None, "features must be a list of names or a dict, not None"),
        (3.0, "features must be a list of names or a dict, not 3.0"),
    ],
)
def test_bad_records_are_located(record, message):
    expected = "^sequence 1, position 2: " + re.escape(message)
    for attempt in (RecordExtractor().fit, RecordExtractor().transform):
        with pytest.raises(DataError, match=expected) as caught:
            attempt([[["p"]], [["p"], {"a": 1.0}, record]])
        assert len(str(caught.value)) < 200


# Matrices


def dense(features, width):
    rows = with_values(features.rows)
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(rows.indptr) - 1, width)).toarray()


MATRICES = [np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 0.0]]), np.zeros((0, 3)), np.array([[0.0, 0.0, 0.5]])]


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        lambda matrix: matrix.astype(np.float32),
        np.asfortranarray,
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.coo_array,
        sparse.coo_matrix,
        sparse.lil_matrix,
        list,  # a list of rows
        lambda matrix: matrix.tolist() or np.zeros((0, 3)),
    ],
)
def test_matrices_of_every_form(form):
    extractor = MatrixExtractor()
    features = extractor.fit([form(matrix) for matrix in MATRICES])
    assert features.indptr.tolist() == [0, 2, 2, 3]
    assert features.rows.values.tolist() == [2.0, -1.0, 1.0, 0.5]
    np.testing.assert_array_equal(dense(features, 3), np.vstack(MATRICES))
    assert (extractor.n_features, extractor.names()) == (3, ["column 0", "column 1", "column 2"])


def test_entries_that_are_stored_twice_are_added():
    twice = sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    cancelled = sparse.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(1, 3))
    features = MatrixExtractor().fit([twice, cancelled])
    np.testing.assert_array_equal(dense(features, 3), [[0, 3, 0], [5, 0, 0], [0, 0, 0]])
    assert len(features.rows.indices) == 2


def test_matrices_of_ones_need_no_values():
    assert len(MatrixExtractor().fit([np.eye(3)]).rows.values) == 0
    assert len(MatrixExtractor().fit([2 * np.eye(3)]).rows.values) == 3


@pytest.mark.parametrize("X", [[], [np.zeros((0, 3))], [[]], [sparse.csr_array((0, 3)), []]])
def test_no_rows_at_all(X):
    extractor = MatrixExtractor()
    extractor.fit(MATRICES)
    features = extractor.transform(X)
    assert features.indptr.tolist() == [0] * (len(X) + 1)
    assert features.rows.indptr.tolist() == [0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_matrix_has_the_same_width(form):
    with pytest.raises(DataError, match=re.escape("sequence 1 has the shape (1, 2); a row of 3 features per position")):
        MatrixExtractor().fit([form(np.ones((2, 3))), form(np.ones((1, 2)))])


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 2, 2)), np.float64(1.0)])
def test_a_sequence_is_a_matrix(bad):
    with pytest.raises(DataError, match=re.escape(f"sequence 1 has the shape {bad.shape}; a row of 3")):
        MatrixExtractor().fit([np.ones((2, 3)), bad])
    with pytest.raises(DataError, match=re.escape(f"sequence 0 has the shape {bad.shape}; a row per position")):
        MatrixExtractor().fit([bad])


@pytest.mark.parametrize("bad", [np.array([["a", "b"]]), [[1.0, 2.0], [3.0]], [[None, {}]]])
def test_a_matrix_is_of_numbers(bad):
    with pytest.raises(DataError, match="sequence 1 is not a matrix of numbers with a row per position"):
        MatrixExtractor().fit([np.ones((1, 2)), bad])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_located(form, value):
    bad = np.ones((3, 4))
    bad[2, 1] = value
    X = [form(np.ones((2, 4))), np.zeros((0, 4)), form(bad), form(np.full((1, 4), np.nan))]
    with pytest.raises(DataError, match=f"^sequence 2, position 2: feature 1 is {value}$"):
        MatrixExtractor().fit(X)


def test_values_that_are_not_finite_are_refused_whether_or_not_they_are_used():
    """A saved model, which keeps some columns only, finds the same fault at the same place."""
    extractor = MatrixExtractor()
    extractor.fit([np.ones((1, 4))])
    kept = extractor.keep(np.array([False, True, False, True]))
    for column in range(4):
        bad = np.ones((1, 4))
        bad[0, column] = np.nan
        with pytest.raises(DataError, match=f"^sequence 0, position 0: feature {column} is nan$"):
            kept.transform([bad])
    assert kept.names() == ["column 1", "column 3"]
    np.testing.assert_array_equal(dense(kept.transform([np.array([[1.0, 2.0, 3.0, 4.0]])]), 2), [[2.0, 4.0]])


# Keeping the features that are used


@given(st.data())
def test_kept_features_keep_their_names_and_rows(data):
    words = st.lists(st.lists(st.sampled_from(["a", "b", "c", "Dd"]), min_size=1, max_size=4), min_size=1, max_size=4)
    X = data.draw(words)
    kind = data.draw(st.sampled_from(["templates", "records"]))
    if kind == "templates":
        extractor = TemplateExtractor("word word[-1]|word")
        X = as_columns(X)
    else:
        extractor, X = RecordExtractor(), [[{"w": word, "n": len(word)} for word in sentence] for sentence in X]
    before = named(extractor, extractor.fit(X))
    used = np.array(data.draw(st.lists(st.booleans(), min_size=extractor.n_features, max_size=extractor.n_features)))
    kept = extractor.keep(used.astype(bool))
    wanted = {name for name, use in zip(extractor.names(), used, strict=True) if use}
    assert kept.names() == [name for name in extractor.names() if name in wanted]
    assert named(kept, kept.transform(X)) == [{k: v for k, v in row.items() if k in wanted} for row in before]


def test_hashed_extractors_keep_everything():
    for extractor in (TemplateExtractor("word", hash_bits=2), RecordExtractor(hash_bits=2)):
        assert extractor.keep(np.array([True, False, True, False])) is None


# Telling inputs apart


@pytest.mark.parametrize(
    ("X", "templates", "kind"),
    [
        ([["a", "b"]], None, TemplateExtractor),
        ([[], ["a"]], None, TemplateExtractor),
        ([np.array(["a", "b"])], None, TemplateExtractor),
        (np.array([["a", "b"], ["c", "d"]]), None, TemplateExtractor),
        ([[{"word": "a"}]], "word", TemplateExtractor),
        ([[{"word": "a"}]], None, RecordExtractor),
        ([[["p", "q"]]], None, RecordExtractor),
        ([[], [{"p"}]], None, RecordExtractor),
        ([np.ones((2, 3))], None, MatrixExtractor),
        (np.ones((4, 2, 3)), None, MatrixExtractor),
        ([np.zeros((0, 3)), np.ones((1, 3))], None, MatrixExtractor),
        ([sparse.csr_array((2, 3))], None, MatrixExtractor),
        ([list(np.ones((2, 3)))], None, MatrixExtractor),
    ],
)
def test_the_extractor_suits_the_input(X, templates, kind):
    assert type(choose_extractor(X, templates, Resources())) is kind


# Numbers of features


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), max_size=60), max_size=6))
def test_alphabet_is_a_dictionary(batches):
    alphabet, number = Alphabet(), {}
    for batch in batches:
        keys = np.array(batch, dtype=np.uint64)
        assert alphabet.lookup(keys).tolist() == [number.get(key, -1) for key in batch]
        expected = [-1 if key == 0 else number.setdefault(key, len(number)) for key in batch]
        assert alphabet.intern(keys).tolist() == expected
        assert alphabet.size == len(number)
        assert alphabet.keys().tolist() == list(number)
    again = Alphabet(alphabet.keys())
    assert again.keys().tolist() == list(number)


def test_alphabet_with_keys_that_fall_on_one_place():
    """Keys that differ above the bits that choose a slot only."""
    keys = np.arange(1, 500, dtype=np.uint64) << np.uint64(52)
    alphabet = Alphabet()
    assert alphabet.intern(keys).tolist() == list(range(499))
    assert alphabet.lookup(keys[::-1].copy()).tolist() == list(range(498, -1, -1))
    assert alphabet.lookup(keys + np.uint64(1)).tolist() == [-1] * 499


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(1, 30))
def test_hashed_index_takes_the_low_bits(keys, bits):
    index = HashedIndex(bits)
    rows = index.lookup(np.array(keys, dtype=np.uint64)).tolist()
    assert rows == [key % 2**bits if key else -1 for key in keys]
    assert index.intern(np.array(keys, dtype=np.uint64)).tolist() == rows
    assert index.size == 2**bits


def test_bits_may_be_numpys():
    assert HashedIndex(np.int64(4)).size == 16
    with pytest.raises(WidemarginError, match="hash_bits"):
        HashedIndex(31)


def naive_hash(text):
    data = text.encode("utf-8", "surrogatepass")
    return naive_mix(sum((byte + 1) * (naive_mix(at + 1) | 1) for at, byte in enumerate(data)) % 2**64)


def naive_mix(key):
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        key = (key ^ key >> 33) * multiplier % 2**64
    return (key ^ key >> 33) or 1


@given(st.lists(st.text(st.characters(codec=None), max_size=12), max_size=8))
def test_hashes_are_those_of_the_definition(strings):
    keys = hash_strings(strings)
    assert keys.tolist() == [naive_hash(text) for text in strings]
    pairs = combine(keys, keys[::-1].copy()).tolist()
    expected = zip(keys.tolist(), keys[::-1].tolist(), strict=True)
    assert pairs == [naive_mix(key * 0x100000001B3 % 2**64 ^ other) for key, other in expected]


def test_rows_of_a_position_are_in_the_order_of_the_input():
    extractor = RecordExtractor()
    rows = extractor.fit([[["q", "p"], ["p"]]]).rows
    assert isinstance(rows, Rows)
    assert (extractor.names(), rows.indices.tolist()) == (["p", "q"], [1, 0, 0])


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "Dd", "e"]), max_size=5), min_size=1, max_size=5), st.data())
def test_features_are_numbered_by_falling_count_then_by_key(X, data):
    """Whatever the order of the data, and the same from merged counts of their parts as from all at once."""
    least, cut = data.draw(st.integers(1, 3)), data.draw(st.integers(0, len(X)))
    shuffled = data.draw(st.permutations(X))
    for kind in ("templates", "records"):
        make = {"templates": lambda: TemplateExtractor("word word[-1]|word transition:word", min_count=least)}.get(
            kind, lambda: RecordExtractor(min_count=least)
        )
        form = as_columns if kind == "templates" else lambda each: [[[w, f"2{w}", "bias"] for w in x] for x in each]
        whole, other, adopted = make(), make(), make()
        rows = whole.fit(form(X)).groups
        other.fit(form(shuffled))
        parts = [make().survey(form(part)) for part in (X[:cut], X[cut:])]
        adopted.adopt([one.merged(two) for one, two in zip(*parts, strict=True)])
        for alphabet, found in zip(whole.alphabets, rows, strict=True):
            counts, keys = np.bincount(found.indices, minlength=alphabet.size), alphabet.keys().tolist()
            assert list(zip(-counts, keys, strict=True)) == sorted(zip(-counts, keys, strict=True))
            assert (counts >= least).all()
        assert whole.names() == other.names() == adopted.names()
        for each in (other, adopted):
            again = each.transform(form(X)).groups
            assert [[part.tolist() for part in group] for group in again] == [
                [part.tolist() for part in group] for group in rows
            ]
