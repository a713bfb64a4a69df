"""New sequences get the labels that decoding their examples gives, however they are asked for."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.problem import predict
from widemargin.tasks.tag import predict as predicting
from widemargin.tasks.tag.features import ChainShape
from widemargin.tasks.tag.model import Tagger
from widemargin.text.inputs import as_columns
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.records import RecordExtractor
from widemargin.text.template_extractor import TemplateExtractor

pytestmark = pytest.mark.interpreted

TEMPLATES = (
    ("bias", "word", "suffix1", "lower[-1]", "word|word[1]", "shape"),
    ("lower[1]", "word"),
    ("word", "prefix1"),
    ("word", "shape", "word[-1]|word", "transition:word", "transition:lower[-1]|shape"),
)
SENTENCES = st.lists(st.lists(st.sampled_from(["a", "b", "Cc", "é"]), max_size=6), min_size=1, max_size=5)


def random_tagger(extractor, X, seed, n_labels=3):
    """A tagger with weights whose sums depend on the order of summation."""
    extractor.fit(X)
    chain = ChainShape(n_labels, extractor.n_features, extractor.n_transition_features)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=chain.n_weights) * rng.integers(0, 2, chain.n_weights)
    return Tagger([f"L{k}" for k in range(n_labels)], extractor, chain.parts(w).thin())


def decoded(tagger, X):
    """The labels that the examples have."""
    examples = tagger.examples(X)
    return tagger.outputs(np.concatenate(predict(examples, tagger.weights)), examples.indptr)


@settings(max_examples=60)
@given(st.sampled_from(TEMPLATES), SENTENCES.filter(any), st.lists(SENTENCES, max_size=3), st.integers(0, 1000))
def test_tokens_get_the_labels_of_their_examples(templates, training, texts, seed):
    tagger = random_tagger(TemplateExtractor(templates), as_columns(training), seed)
    for X in texts:
        assert tagger.predict(X) == decoded(tagger, X)


@settings(max_examples=30)
@given(st.sampled_from(TEMPLATES), SENTENCES.filter(any), st.integers(0, 1000))
def test_scores_kept_with_tokens_are_those_of_their_features(templates, X, seed):
    tagger = random_tagger(TemplateExtractor(templates), as_columns(X), seed)
    found = tagger.predictor.looked_up(X)
    tokens, own = found.own(0, len(X))
    rest, whole = found.features(0, len(X)).rows, tagger.extractor.transform(as_columns(X)).rows
    weights = tagger.weights.flat()[: tagger.extractor.n_features * 3].reshape(-1, 3)
    for t, token in enumerate(tokens):
        mine = whole.indices[whole.indptr[t] : whole.indptr[t + 1]]
        n_rest = rest.indptr[t + 1] - rest.indptr[t]
        assert rest.indices[rest.indptr[t] : rest.indptr[t + 1]].tolist() == mine[len(mine) - n_rest :].tolist()
        total = np.zeros(3)
        for feature in mine[: len(mine) - n_rest]:
            total += weights[feature]
        assert own[token].tolist() == total.tolist()


def test_many_labels_keep_no_scores(monkeypatch):
    X = [["a", "b", "Cc"], [], ["b"]]
    tagger = random_tagger(TemplateExtractor(TEMPLATES[0]), as_columns(X), 1)
    wanted = tagger.predict(X)
    monkeypatch.setattr(predicting, "MOST_LABELS", 2)
    anew = Tagger(tagger.labels, tagger.extractor, tagger.weights)
    assert anew.predict(X) == wanted
    assert not len(anew.predictor.looked_up(X).own(0, 3)[0])


RECORDS = st.one_of(
    st.lists(st.sampled_from("abc")),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 1.0, True, 0.5, -2, "x", "y", 0])),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([("x", "y"), frozenset("x"), ["a"], {"x": 2.0}, "x"])),
    st.frozensets(st.sampled_from("abc")),
)


@settings(max_examples=100)
@given(st.lists(st.lists(st.lists(RECORDS, max_size=3), max_size=3), min_size=1, max_size=4), st.booleans())
def test_records_have_the_same_features_plain_or_not(texts, hashed):
    extractor = RecordExtractor(hash_bits=3 if hashed else None)
    extractor.fit(texts[0])
    plain = [extractor.transform(X) for X in texts]
    extractor._of_plain_records = lambda X: None
    for one, other in zip(plain, map(extractor.transform, texts), strict=True):
        assert one.indptr.tolist() == other.indptr.tolist()
        assert [each.tolist() for each in one.rows] == [each.tolist() for each in other.rows]


@pytest.mark.parametrize("bad", [{"a": b"1"}, {"a": float("nan")}, {1: 1.0}, {"a": None}, ["a", 1], {"a": 10**400}])
def test_mistakes_in_records_are_found_where_they_are(bad):
    extractor = RecordExtractor()
    extractor.fit([[{"a": 1.0}]])
    good = type(bad)(["a"]) if isinstance(bad, list) else {"a": 1.0}
    extractor.transform([[good]])
    with pytest.raises(Exception, match="sequence 1, position 1"):
        extractor.transform([[good], [good, bad]])


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["tokens", "names", "values", "matrix"])
def test_shares_get_the_labels_of_the_whole(kind, n_threads, monkeypatch):
    rng = np.random.default_rng(3)
    words = [rng.choice(["a", "b", "Cc"], size=n).tolist() for n in rng.integers(0, 9, 40)]
    makers = {
        "tokens": (TemplateExtractor(TEMPLATES[-1]), lambda word: word),
        "names": (RecordExtractor(), lambda word: ["x", word]),
        "values": (RecordExtractor(), lambda word: {word: 0.5, "x": 1.0}),
        "matrix": (MatrixExtractor(), lambda word: [float(len(word)), float(word == "a"), 0.0]),
    }
    extractor, make = makers[kind]
    X = [list(map(make, sentence)) for sentence in words]
    X = [np.array(x).reshape(-1, 3) for x in X] if kind == "matrix" else X
    tagger = random_tagger(extractor, as_columns(X) if kind == "tokens" else X, 5)
    monkeypatch.setattr(type(tagger.predictor), "token_work", 1000.0)
    assert tagger.predict(X, n_threads=n_threads) == decoded(tagger, X)


def test_copies_predict_the_same_and_several_threads_do():
    rng = np.random.default_rng(3)
    X = [rng.choice(["a", "b", "Cc", *map(str, range(99))], size=7).tolist() for _ in range(60)]
    tagger = random_tagger(TemplateExtractor(TEMPLATES[0]), as_columns(X[:20]), 5)
    before = len(pickle.dumps(tagger))
    wanted = decoded(tagger, X)
    with ThreadPoolExecutor(4) as pool:
        assert [labels for (labels,) in pool.map(tagger.predict, [[x] for x in X])] == wanted
    again = pickle.dumps(tagger)
    assert len(again) < before + 500
    assert pickle.loads(again).predict(X) == wanted
